"""Answers that are JSON because they had to be."""

from __future__ import annotations

import asyncio
import json

from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletion, ParsedChatCompletion
from pydantic import BaseModel


class Verdict(BaseModel):
    """What the answer must look like."""

    answer: bool


SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "boolean"}},
    "required": ["answer"],
    "additionalProperties": False,
}


def test_an_answer_follows_a_json_schema(openai_client: OpenAI, text_model: str) -> None:
    completion = openai_client.chat.completions.create(
        model=text_model,
        messages=[{"role": "user", "content": "Is water wet?"}],
        response_format={"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA}},
        temperature=0,
        max_tokens=32,
    )
    content = json.loads(completion.choices[0].message.content or "")
    assert set(content) == {"answer"}
    assert isinstance(content["answer"], bool)


def test_an_answer_is_a_json_object(openai_client: OpenAI, text_model: str) -> None:
    completion: ChatCompletion = openai_client.chat.completions.create(
        model=text_model,
        messages=[{"role": "user", "content": "Describe a cat as JSON."}],
        response_format={"type": "json_object"},
        temperature=0,
        max_tokens=24,
    )
    (choice,) = completion.choices
    text = (choice.message.content or "").lstrip()
    assert text.startswith("{")
    if choice.finish_reason == "stop":  # not cut by max_tokens
        assert isinstance(json.loads(text), dict)


def test_an_answer_is_parsed_into_a_model_by_the_sdk(async_openai_client: AsyncOpenAI, text_model: str) -> None:
    async def ask() -> ParsedChatCompletion[Verdict]:
        async with async_openai_client as client:
            return await client.chat.completions.parse(
                model=text_model,
                messages=[{"role": "user", "content": "Is fire cold?"}],
                response_format=Verdict,
                temperature=0,
                max_tokens=32,
            )

    assert isinstance(asyncio.run(ask()).choices[0].message.parsed, Verdict)


def test_a_streamed_answer_is_accumulated_and_parsed_by_the_sdk(openai_client: OpenAI, text_model: str) -> None:
    with openai_client.chat.completions.stream(
        model=text_model,
        messages=[{"role": "user", "content": "Is ice warm?"}],
        response_format=Verdict,
        temperature=0,
        max_tokens=32,
    ) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        final = stream.get_final_completion()
    assert final.choices[0].message.content == "".join(deltas)
    assert isinstance(final.choices[0].message.parsed, Verdict)
