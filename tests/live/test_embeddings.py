"""OpenAI's embeddings."""

from __future__ import annotations

from collections.abc import Callable

from openai import OpenAI

from stackproof.catalog.records import ModelRole, Wire

TEXTS = ["a cat on a mat", "the price of copper"]


def test_each_text_becomes_a_vector(
    openai_client: OpenAI, speaking: Callable[[Wire], str], in_role: Callable[[ModelRole], str]
) -> None:
    speaking(Wire.EMBEDDINGS)
    answer = openai_client.embeddings.create(model=in_role(ModelRole.EMBEDDING), input=TEXTS, encoding_format="float")
    assert answer.object == "list"
    assert [embedding.index for embedding in answer.data] == [0, 1]
    (length,) = {len(embedding.embedding) for embedding in answer.data}
    assert length > 0
    assert answer.usage.prompt_tokens > 0
