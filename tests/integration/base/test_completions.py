"""Plain text completions."""

from __future__ import annotations

import asyncio

from openai import AsyncOpenAI, OpenAI
from openai.types import Completion


def test_a_text_is_continued(openai_client: OpenAI, text_model: str) -> None:
    completion = openai_client.completions.create(
        model=text_model, prompt="The sun rises in the", temperature=0, max_tokens=6
    )
    assert completion.object == "text_completion"
    (choice,) = completion.choices
    assert choice.text
    assert choice.finish_reason in {"stop", "length"}
    assert completion.usage is not None
    assert completion.usage.completion_tokens <= 6


def test_a_continuation_is_streamed(openai_client: OpenAI, text_model: str) -> None:
    stream = openai_client.completions.create(
        model=text_model, prompt="Once upon a time there was", temperature=0, max_tokens=6, stream=True
    )
    chunks = list(stream)
    assert len({chunk.id for chunk in chunks}) == 1
    assert "".join(chunk.choices[0].text for chunk in chunks if chunk.choices)
    reasons = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices]
    assert reasons[-1] in {"stop", "length"}


def test_a_continuation_is_streamed_to_an_async_client(async_openai_client: AsyncOpenAI, text_model: str) -> None:
    async def ask() -> list[Completion]:
        async with async_openai_client as client:
            stream = await client.completions.create(
                model=text_model, prompt="Far away in the", temperature=0, max_tokens=6, stream=True
            )
            return [chunk async for chunk in stream]

    assert len(asyncio.run(ask())) > 2
