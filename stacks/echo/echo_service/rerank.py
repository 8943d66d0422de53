"""`POST /v1/rerank`: a score is the part of the query's words that the document has.

Request and answer as vLLM, Jina and Cohere shape them.
"""

from __future__ import annotations

import re
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from echo_service.asked import fields

_WORD = re.compile(r"\w+")


async def rerank(request: Request) -> Response:
    """Rank."""
    body = await fields(request)
    query, documents = body.get("query"), body.get("documents")
    if not isinstance(query, str) or not query.strip():
        return _refused("query must be a text that is not empty")
    if not isinstance(documents, list):
        return _refused("documents must be a list")
    texts = [one.get("text", "") if isinstance(one, dict) else str(one) for one in documents]
    ranked = sorted(enumerate(texts), key=lambda pair: (-score(query, pair[1]), pair[0]))[: body.get("top_n")]
    results: list[dict[str, Any]] = [
        {"index": index, "relevance_score": score(query, text), "document": {"text": text}} for index, text in ranked
    ]
    if body.get("return_documents") is False:
        for result in results:
            del result["document"]
    tokens = sum(len(_WORD.findall(text)) for text in [query, *texts])
    usage = {"total_tokens": tokens}
    return JSONResponse({"id": "rerank-hand-made", "model": body.get("model"), "usage": usage, "results": results})


def score(query: str, document: str) -> float:
    """From 0 to 1, in hundredths."""
    wanted = set(_WORD.findall(query.lower()))
    return round(len(wanted & set(_WORD.findall(document.lower()))) / len(wanted), 2) if wanted else 0.0


def _refused(message: str) -> Response:
    error = {"message": message, "type": "BadRequestError", "param": None, "code": 400}
    return JSONResponse({"error": error}, status_code=400)


ROUTES = (Route("/v1/rerank", rerank, methods=["POST"]),)
