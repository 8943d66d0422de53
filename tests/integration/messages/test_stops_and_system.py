"""Anthropic's Messages API, deeper: what the system says, where an answer ends, how many tokens a question has."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic, AsyncAnthropic

# This SDK names no temperature any more; servers still read it.
GREEDY = {"temperature": 0}
# Some servers name the reason, llama.cpp among them does not.
STOPPED = ("stop_sequence", "end_turn")
# Longer than what a model's template says in the place of a system that is absent.
PIRATE = (
    "You answer like a pirate who sails on a big ship, far away from all harbours, and who likes to count his gold."
)
COUNT: Any = [{"role": "user", "content": "Count from one to five in words."}]


def test_the_system_is_a_part_of_what_is_read(anthropic_client: Anthropic, text_model: str) -> None:
    question: Any = {"model": text_model, "messages": COUNT, "max_tokens": 6, "extra_body": GREEDY}
    without = anthropic_client.messages.create(**question)
    with_system = anthropic_client.messages.create(**question, system=PIRATE)
    assert with_system.usage.input_tokens > without.usage.input_tokens


def test_the_system_may_come_in_blocks(anthropic_client: Anthropic, text_model: str) -> None:
    message = anthropic_client.messages.create(
        model=text_model,
        system=[{"type": "text", "text": "You are brief."}, {"type": "text", "text": "You are kind."}],
        messages=[{"role": "user", "content": [{"type": "text", "text": "Who are you?"}]}],
        max_tokens=8,
        extra_body=GREEDY,
    )
    assert message.content[0].type == "text"


def test_a_stop_sequence_ends_the_answer(anthropic_client: Anthropic, tool_model: str) -> None:
    # What the scripted model says is known: "This sentence is scripted, token by token."
    message = anthropic_client.messages.create(
        model=tool_model, messages=COUNT, stop_sequences=["scripted"], max_tokens=64, extra_body=GREEDY
    )
    assert message.stop_reason in STOPPED
    (block,) = message.content
    assert block.type == "text"
    assert block.text == "This sentence is "


def test_a_stop_sequence_ends_a_stream(anthropic_client: Anthropic, tool_model: str) -> None:
    with anthropic_client.messages.stream(
        model=tool_model, messages=COUNT, stop_sequences=["token"], max_tokens=64, extra_body=GREEDY
    ) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == "This sentence is scripted, "
    assert final.stop_reason in STOPPED


def test_a_conversation_may_begin_the_answer(anthropic_client: Anthropic, text_model: str) -> None:
    message = anthropic_client.messages.create(
        model=text_model,
        messages=[
            {"role": "user", "content": "Name three fruits."},
            {"role": "assistant", "content": "Apples, pears and"},
        ],
        max_tokens=6,
        extra_body=GREEDY,
    )
    assert message.usage.output_tokens <= 6


def test_tokens_are_counted_without_an_answer(anthropic_client: Anthropic, text_model: str) -> None:
    few = anthropic_client.messages.count_tokens(model=text_model, messages=[{"role": "user", "content": "Hi"}])
    many = anthropic_client.messages.count_tokens(model=text_model, system=PIRATE, messages=COUNT)
    assert 0 < few.input_tokens < many.input_tokens


def test_the_count_is_what_the_answer_is_charged_with(anthropic_client: Anthropic, text_model: str) -> None:
    counted = anthropic_client.messages.count_tokens(model=text_model, messages=COUNT)
    message = anthropic_client.messages.create(model=text_model, messages=COUNT, max_tokens=1, extra_body=GREEDY)
    assert message.usage.input_tokens == counted.input_tokens


def test_two_questions_at_once_get_their_own_answers(
    async_anthropic_client: AsyncAnthropic, text_model: str, tool_model: str
) -> None:
    async def ask() -> list[str]:
        async with async_anthropic_client as client:
            answers = await asyncio.gather(
                *(
                    client.messages.create(model=model, messages=COUNT, max_tokens=64, extra_body=GREEDY)
                    for model in (tool_model, text_model)
                )
            )
        return ["".join(block.text for block in answer.content if block.type == "text") for answer in answers]

    scripted, other = asyncio.run(ask())
    assert scripted.startswith("This sentence is scripted")
    assert other != scripted


def test_a_model_that_is_not_there_is_the_sdks_not_found(anthropic_client: Anthropic, text_model: str) -> None:
    provider = text_model.partition("/")[0]
    with pytest.raises(anthropic.NotFoundError, match="not found"):
        anthropic_client.messages.create(model=f"{provider}/no-such-model", messages=COUNT, max_tokens=4)
