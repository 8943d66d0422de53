"""From text to chunks, from chunks to embeddings, and back from a question to the chunks nearest to it."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from reference_stack.answers import RefusedError
from reference_stack.asked import provider_of, store_of
from reference_stack.filters import passes
from reference_stack.store import Chunk, Table

# In words, where the API counts tokens: a tokenizer would have to be the model's own.
WORDS, OVERLAP = 120, 20
_AT_ONCE = 32  # texts in one request for embeddings


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A chunk that a search found, how near it is (cosine, at most 1), and the file that it is from."""

    chunk: Chunk
    score: float
    filename: str
    attributes: Mapping[str, Any]

    def shown(self) -> dict[str, Any]:
        """As an item of search results."""
        return {
            "file_id": self.chunk.file_id,
            "filename": self.filename,
            "score": self.score,
            "attributes": dict(self.attributes),
        }


def split(text: str, *, words: int = WORDS, overlap: int = OVERLAP) -> list[str]:
    """Pieces of so many words, each of which begins with the last words of the one before."""
    found = text.split()
    step = words - overlap
    starts = range(0, max(len(found) - overlap, 1), step)
    return [" ".join(found[start : start + words]) for start in starts if found]


async def embed(request: Request, model: str, texts: Sequence[str]) -> list[list[float]]:
    """An embedding for each text. Raises what the SDK raises."""
    provider, clients, name = provider_of(request, model)
    vectors: list[list[float]] = []
    for start in range(0, len(texts), _AT_ONCE):
        part = list(texts[start : start + _AT_ONCE])
        answer = await clients.openai.embeddings.create(model=name, input=part, encoding_format="float")
        if len(answer.data) != len(part):
            raise RefusedError(502, f"The provider {provider!r} gave {len(answer.data)} embeddings for {len(part)}.")
        vectors += [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]
    return vectors


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Of vectors of one length; 0 where one of them is all zeros."""
    length = math.hypot(*one) * math.hypot(*other)
    return sum(map(operator.mul, one, other)) / length if length else 0.0


async def search(
    request: Request, vector_stores: Sequence[Mapping[str, Any]], queries: Sequence[str], options: Mapping[str, Any]
) -> list[Found]:
    """The chunks nearest to any of the questions, the nearest first.

    options: `max_num_results`, `filters` and `ranking_options` of a search.
    """
    most = options.get("max_num_results") or 10
    if not isinstance(most, int) or not 1 <= most <= 50:
        text = f"The parameter 'max_num_results' is a whole number from 1 to 50, not {most!r}."
        raise RefusedError(400, text, param="max_num_results")
    least = (options.get("ranking_options") or {}).get("score_threshold") or 0.0
    found: list[Found] = []
    asked: dict[str, list[list[float]]] = {}
    for each in vector_stores:
        model = each["embedding_model"]
        files = await store_of(request).every(Table.VECTOR_STORE_FILE, below=f"{each['id']}/")
        wanted = {file["id"]: file for file in files if passes(file["attributes"], options.get("filters"))}
        chunks = [chunk for chunk in await store_of(request).chunks(each["id"]) if chunk.file_id in wanted]
        if chunks and model not in asked:
            asked[model] = await embed(request, model, queries)
        for chunk in chunks:
            score = max(cosine(chunk.vector, vector) for vector in asked[model])
            file = wanted[chunk.file_id]
            found.append(Found(chunk=chunk, score=score, filename=file["filename"], attributes=file["attributes"]))
    near = [one for one in found if one.score >= least]
    return sorted(near, key=lambda one: -one.score)[:most]
