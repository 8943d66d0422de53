"""The model list."""

from __future__ import annotations

import asyncio

import httpx2
from openai import AsyncOpenAI, OpenAI


def test_health_is_reported(http_client: httpx2.Client) -> None:
    response = http_client.get("/v1/health")
    assert response.status_code == 200
    assert response.json() == {"status": "OK"}


def test_the_list_has_the_shape_of_the_api(http_client: httpx2.Client) -> None:
    body = http_client.get("/v1/models").raise_for_status().json()
    assert body["object"] == "list"
    assert body["data"]
    for model in body["data"]:
        assert model["object"] == "model"
        assert isinstance(model["id"], str)


def test_the_setups_models_are_listed_once_with_their_provider(
    openai_client: OpenAI, text_model: str, tool_model: str, embedding_model: str
) -> None:
    names = [model.id for model in openai_client.models.list()]
    assert {text_model, tool_model, embedding_model} <= set(names)
    assert all("/" in name for name in names)
    assert len(names) == len(set(names))


def test_sync_and_async_clients_see_the_same_list(
    openai_client: OpenAI, async_openai_client: AsyncOpenAI, text_model: str
) -> None:
    async def names() -> list[str]:
        async with async_openai_client as client:
            return [model.id async for model in client.models.list()]

    assert asyncio.run(names()) == [model.id for model in openai_client.models.list()]
