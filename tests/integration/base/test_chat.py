"""Chat completions that come in one piece."""

from __future__ import annotations

import asyncio

from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletion


def check(completion: ChatCompletion, *, most: int) -> str:
    """The protocol's part of any plain answer with at most `most` tokens; its text."""
    assert completion.object == "chat.completion"
    assert completion.id
    (choice,) = completion.choices
    assert choice.index == 0
    assert choice.message.role == "assistant"
    assert completion.usage is not None
    assert 1 <= completion.usage.completion_tokens <= most
    assert completion.usage.total_tokens == completion.usage.prompt_tokens + completion.usage.completion_tokens
    assert choice.message.content is not None
    return choice.message.content


def test_a_question_is_answered(openai_client: OpenAI, text_model: str) -> None:
    completion = openai_client.chat.completions.create(
        model=text_model,
        messages=[{"role": "user", "content": "Which planet do people live on?"}],
        temperature=0,
        max_tokens=16,
    )
    assert check(completion, most=16)
    assert completion.choices[0].finish_reason in {"stop", "length"}
    assert completion.model in text_model


def test_a_question_is_answered_to_an_async_client(async_openai_client: AsyncOpenAI, text_model: str) -> None:
    async def ask() -> ChatCompletion:
        async with async_openai_client as client:
            return await client.chat.completions.create(
                model=text_model,
                messages=[{"role": "user", "content": "What falls from clouds?"}],
                temperature=0,
                max_tokens=16,
            )

    assert check(asyncio.run(ask()), most=16)


def test_a_system_prompt_is_part_of_what_the_model_reads(openai_client: OpenAI, text_model: str) -> None:
    without = openai_client.chat.completions.create(
        model=text_model, messages=[{"role": "user", "content": "Good morning!"}], temperature=0, max_tokens=8
    )
    with_prompt = openai_client.chat.completions.create(
        model=text_model,
        messages=[
            {
                "role": "system",
                "content": "You are a gardener. Talk about roses, tulips, rain and the right time to sow peas.",
            },
            {"role": "user", "content": "Good morning!"},
        ],
        temperature=0,
        max_tokens=8,
    )
    assert check(with_prompt, most=8)
    assert without.usage is not None
    assert with_prompt.usage is not None
    assert with_prompt.usage.prompt_tokens != without.usage.prompt_tokens


def test_an_answer_is_cut_at_max_tokens(openai_client: OpenAI, text_model: str) -> None:
    completion = openai_client.chat.completions.create(
        model=text_model,
        messages=[{"role": "user", "content": "Tell a long story about a ship."}],
        temperature=0,
        max_tokens=5,
    )
    check(completion, most=5)
    assert completion.choices[0].finish_reason == "length"
    assert completion.usage is not None
    assert completion.usage.completion_tokens == 5


def test_an_answer_ends_before_a_stop_sequence(openai_client: OpenAI, text_model: str) -> None:
    completion = openai_client.chat.completions.create(
        model=text_model,
        messages=[{"role": "user", "content": "Say: one two three four five six seven"}],
        temperature=0,
        max_tokens=32,
        stop=["e", "o", "a"],
    )
    (choice,) = completion.choices
    assert choice.finish_reason == "stop"
    assert not set("eoa") & set(choice.message.content or "")


def test_a_seed_is_accepted(openai_client: OpenAI, text_model: str) -> None:
    completion = openai_client.chat.completions.create(
        model=text_model,
        messages=[{"role": "user", "content": "Pick a number."}],
        temperature=0.7,
        seed=7,
        max_tokens=6,
    )
    assert check(completion, most=6)


def test_log_probabilities_come_for_each_token(openai_client: OpenAI, text_model: str) -> None:
    completion = openai_client.chat.completions.create(
        model=text_model,
        messages=[{"role": "user", "content": "Is snow cold?"}],
        temperature=0,
        max_tokens=4,
        logprobs=True,
        top_logprobs=2,
    )
    (choice,) = completion.choices
    assert choice.logprobs is not None
    assert choice.logprobs.content
    for token in choice.logprobs.content:
        assert token.logprob <= 0
        assert len(token.top_logprobs) == 2


def test_fields_that_the_sdk_does_not_know_reach_the_provider(openai_client: OpenAI, text_model: str) -> None:
    completion = openai_client.chat.completions.create(
        model=text_model,
        messages=[{"role": "user", "content": "Name a fruit."}],
        temperature=0,
        max_tokens=6,
        extra_body={"min_p": 0.05, "repeat_penalty": 1.1},
    )
    assert check(completion, most=6)


def test_the_same_question_twice_gets_two_answers(openai_client: OpenAI, text_model: str) -> None:
    texts = []
    for _ in range(2):
        completion = openai_client.chat.completions.create(
            model=text_model,
            messages=[{"role": "user", "content": "Say hello once more."}],
            temperature=0,
            max_tokens=8,
        )
        texts.append(check(completion, most=8))
    assert all(texts)


def test_text_beyond_ascii_goes_both_ways(openai_client: OpenAI, text_model: str) -> None:
    completion = openai_client.chat.completions.create(
        model=text_model,
        messages=[{"role": "user", "content": "Répète: «déjà vu» – 東京 🌧"}],
        temperature=0,
        max_tokens=12,
    )
    assert check(completion, most=12)
