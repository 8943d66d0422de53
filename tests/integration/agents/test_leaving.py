"""Callers who do not wait for the end, and turns that come after them."""

from __future__ import annotations

import asyncio

from openai import AsyncOpenAI, OpenAI
from openai.types.responses import FunctionToolParam


def test_a_turn_may_be_left_early(openai_client: OpenAI, text_model: str, weather: FunctionToolParam) -> None:
    stream = openai_client.responses.create(
        model=text_model,
        input="Tell a long story about a river.",
        tools=[weather],
        temperature=0,
        max_output_tokens=48,
        stream=True,
    )
    with stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                break
    after = openai_client.responses.create(
        model=text_model, input="Which fruit is yellow?", tools=[weather], temperature=0, max_output_tokens=16
    )
    assert after.output_text, "the stack goes on"


def test_an_async_turn_may_be_left_early(
    async_openai_client: AsyncOpenAI, text_model: str, weather: FunctionToolParam
) -> None:
    async def leave() -> list[str]:
        async with async_openai_client as client:
            stream = await client.responses.create(
                model=text_model,
                input="Tell a long story about a desert.",
                tools=[weather],
                temperature=0,
                max_output_tokens=48,
                stream=True,
            )
            async with stream:
                seen: list[str] = []
                async for event in stream:
                    seen.append(event.type)
                    if event.type == "response.output_text.delta":
                        break
                return seen

    seen = asyncio.run(leave())
    assert seen[0] == "response.created"
    assert "response.completed" not in seen


def test_turns_beside_one_another_do_not_mix(
    async_openai_client: AsyncOpenAI, tool_model: str, weather: FunctionToolParam
) -> None:
    async def ask() -> list[set[str]]:
        async with async_openai_client as client:
            responses = await asyncio.gather(
                *(
                    client.responses.create(
                        model=tool_model,
                        input=f"What is the weather in Paris, asks number {number}?",
                        tools=[weather],
                        temperature=0,
                        max_output_tokens=32,
                    )
                    for number in range(3)
                )
            )
        return [{item.call_id for item in response.output if item.type == "function_call"} for response in responses]

    ids = asyncio.run(ask())
    assert [len(each) for each in ids] == [1, 1, 1]
    assert len(set.union(*ids)) == 3
