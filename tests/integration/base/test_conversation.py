"""Conversations: every request carries what was answered before."""

from __future__ import annotations

import asyncio

from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam


def test_the_second_turn_sends_the_first_answer_back(openai_client: OpenAI, text_model: str) -> None:
    messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": "My name is Ada."}]
    first = openai_client.chat.completions.create(model=text_model, messages=messages, temperature=0, max_tokens=12)
    messages.append({"role": "assistant", "content": first.choices[0].message.content})
    messages.append({"role": "user", "content": "What is my name?"})
    second = openai_client.chat.completions.create(model=text_model, messages=messages, temperature=0, max_tokens=12)
    assert second.choices[0].message.content
    assert first.usage is not None
    assert second.usage is not None
    assert second.usage.prompt_tokens > first.usage.prompt_tokens


def test_a_conversation_goes_on_after_a_streamed_answer(async_openai_client: AsyncOpenAI, text_model: str) -> None:
    async def talk() -> ChatCompletion:
        async with async_openai_client as client:
            messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Name a river."}]
            stream = await client.chat.completions.create(
                model=text_model, messages=messages, temperature=0, max_tokens=8, stream=True
            )
            text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])
            messages.append({"role": "assistant", "content": text})
            messages.append({"role": "user", "content": "And another one?"})
            return await client.chat.completions.create(
                model=text_model, messages=messages, temperature=0, max_tokens=8
            )

    assert asyncio.run(talk()).choices[0].message.content


def test_a_conversation_may_begin_in_a_fixture(openai_client: OpenAI, text_model: str, opening: ChatCompletion) -> None:
    completion = openai_client.chat.completions.create(
        model=text_model,
        messages=[
            {"role": "user", "content": "Name one colour."},
            {"role": "assistant", "content": opening.choices[0].message.content},
            {"role": "user", "content": "Why that one?"},
        ],
        temperature=0,
        max_tokens=8,
    )
    assert completion.choices[0].message.content
