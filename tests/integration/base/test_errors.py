"""Errors come out as the SDK's own exceptions, with the status and the text that were given."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import anthropic
import httpx2
import openai
import pytest


def provider_of(model: str) -> str:
    return model.partition("/")[0]


def test_an_unknown_provider_is_not_found(openai_client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        openai_client.chat.completions.create(
            model="nobody/nothing", messages=[{"role": "user", "content": "Hello?"}], max_tokens=4
        )
    assert "nobody/nothing" in caught.value.message


def test_a_model_that_the_provider_does_not_know_is_refused_by_it(
    openai_client: openai.OpenAI, text_model: str
) -> None:
    name = f"{provider_of(text_model)}/no-such-model"
    with pytest.raises(openai.APIStatusError) as caught:
        openai_client.chat.completions.create(
            model=name, messages=[{"role": "user", "content": "Hello?"}], max_tokens=4
        )
    assert 400 <= caught.value.status_code < 500
    assert "no-such-model" in caught.value.message


def test_a_stream_from_an_unknown_model_is_refused_before_it_begins(
    async_openai_client: openai.AsyncOpenAI, text_model: str
) -> None:
    async def ask() -> None:
        async with async_openai_client as client:
            await client.chat.completions.create(
                model=f"{provider_of(text_model)}/no-such-model",
                messages=[{"role": "user", "content": "Hello?"}],
                max_tokens=4,
                stream=True,
            )

    with pytest.raises(openai.APIStatusError) as caught:
        asyncio.run(ask())
    assert 400 <= caught.value.status_code < 500


def test_messages_that_are_no_list_are_a_bad_request(openai_client: openai.OpenAI, text_model: str) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        openai_client.chat.completions.create(model=text_model, messages=cast("Any", "Hello?"), max_tokens=4)
    assert caught.value.message


def test_a_parameter_out_of_range_is_a_bad_request(openai_client: openai.OpenAI, text_model: str) -> None:
    with pytest.raises(openai.BadRequestError):
        openai_client.chat.completions.create(
            model=text_model,
            messages=[{"role": "user", "content": "Hello?"}],
            temperature=cast("Any", "warm"),
            max_tokens=4,
        )


def test_nothing_to_embed_is_a_bad_request(openai_client: openai.OpenAI, embedding_model: str) -> None:
    with pytest.raises(openai.BadRequestError):
        openai_client.embeddings.create(model=embedding_model, input=[])


def test_a_body_that_is_no_json_is_a_bad_request(http_client: httpx2.Client) -> None:
    response = http_client.post(
        "/v1/chat/completions", content=b'{"model": "x/y", "messages": [', headers={"content-type": "application/json"}
    )
    assert response.status_code == 400
    assert response.json()["error"]["message"]


def test_a_request_without_a_model_is_a_bad_request(http_client: httpx2.Client) -> None:
    response = http_client.post("/v1/chat/completions", json={"messages": [{"role": "user", "content": "Hello?"}]})
    assert response.status_code == 400
    assert "model" in response.json()["error"]["message"]


def test_an_unknown_address_is_not_found(http_client: httpx2.Client) -> None:
    assert http_client.post("/v1/no-such-address", json={}).status_code == 404


def test_messages_raises_anthropics_own_exception(anthropic_client: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.NotFoundError) as caught:
        anthropic_client.messages.create(
            model="nobody/nothing", messages=[{"role": "user", "content": "Hello?"}], max_tokens=4
        )
    assert "nobody/nothing" in caught.value.message


def test_a_client_goes_on_after_an_error(openai_client: openai.OpenAI, text_model: str) -> None:
    with pytest.raises(openai.BadRequestError):
        openai_client.chat.completions.create(model=text_model, messages=cast("Any", 7), max_tokens=4)
    completion = openai_client.chat.completions.create(
        model=text_model, messages=[{"role": "user", "content": "Still there?"}], temperature=0, max_tokens=4
    )
    assert completion.choices[0].message.content
