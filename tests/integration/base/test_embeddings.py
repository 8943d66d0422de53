"""Embeddings: shape, order and encoding."""

from __future__ import annotations

import asyncio
import base64
from array import array
from typing import Any, cast

import httpx2
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types import CreateEmbeddingResponse

TEXTS = ["a cat on a mat", "the price of copper", "rain in spring"]


def test_a_text_becomes_a_vector(openai_client: OpenAI, embedding_model: str, embedding_dimension: int) -> None:
    answer = openai_client.embeddings.create(model=embedding_model, input="a cat on a mat")
    (embedding,) = answer.data
    assert answer.object == "list"
    assert len(embedding.embedding) == embedding_dimension
    assert all(isinstance(number, float) for number in embedding.embedding)
    assert answer.usage.total_tokens >= answer.usage.prompt_tokens >= 1


def test_a_batch_keeps_its_order(openai_client: OpenAI, embedding_model: str, embedding_dimension: int) -> None:
    answer = openai_client.embeddings.create(model=embedding_model, input=TEXTS)
    assert [embedding.index for embedding in answer.data] == [0, 1, 2]
    assert {len(embedding.embedding) for embedding in answer.data} == {embedding_dimension}
    turned = openai_client.embeddings.create(model=embedding_model, input=TEXTS[::-1])
    for one, other in zip(answer.data, turned.data[::-1], strict=True):
        assert one.embedding == pytest.approx(other.embedding, abs=1e-3)
    assert answer.data[0].embedding != pytest.approx(answer.data[1].embedding, abs=1e-3)


def test_floats_and_base64_carry_the_same_numbers(openai_client: OpenAI, embedding_model: str) -> None:
    floats = openai_client.embeddings.create(model=embedding_model, input=TEXTS[0], encoding_format="float")
    # With base64 asked for by name the SDK leaves the text as it is; left out, it asks for base64 and decodes.
    decoded = openai_client.embeddings.create(model=embedding_model, input=TEXTS[0])
    text = openai_client.embeddings.create(model=embedding_model, input=TEXTS[0], encoding_format="base64")
    assert floats.data[0].embedding == pytest.approx(decoded.data[0].embedding, abs=1e-5)
    raw = base64.b64decode(cast("Any", text.data[0].embedding), validate=True)  # float32, little-endian
    assert list(array("f", raw)) == pytest.approx(floats.data[0].embedding, abs=1e-5)


def test_numbers_come_when_no_encoding_is_asked_for(
    http_client: httpx2.Client, embedding_model: str, embedding_dimension: int
) -> None:
    response = http_client.post("/v1/embeddings", json={"model": embedding_model, "input": "copper"})
    assert response.status_code == 200
    (embedding,) = response.json()["data"]
    assert isinstance(embedding["embedding"], list)
    assert len(embedding["embedding"]) == embedding_dimension


def test_embeddings_reach_an_async_client(
    async_openai_client: AsyncOpenAI, embedding_model: str, embedding_dimension: int
) -> None:
    async def ask() -> list[CreateEmbeddingResponse]:
        async with async_openai_client as client:
            calls = (client.embeddings.create(model=embedding_model, input=text) for text in TEXTS)
            return await asyncio.gather(*calls)

    answers = asyncio.run(ask())
    assert [len(answer.data[0].embedding) for answer in answers] == [embedding_dimension] * 3
