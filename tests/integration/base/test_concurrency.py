"""Several callers at once: each gets its own answer."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletion


def test_two_threads_ask_different_things_at_once(openai_client: OpenAI, text_model: str) -> None:
    answers: dict[str, ChatCompletion] = {}

    def ask(word: str) -> None:
        answers[word] = openai_client.chat.completions.create(
            model=text_model,
            messages=[{"role": "user", "content": f"What is a {word}?"}],
            temperature=0,
            max_tokens=8,
        )

    threads = [Thread(target=ask, args=(word,)) for word in ("hammer", "violin")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert set(answers) == {"hammer", "violin"}
    assert all(answer.choices[0].message.content for answer in answers.values())


def test_two_threads_ask_the_same_at_once(openai_client: OpenAI, text_model: str) -> None:
    def ask(_: int) -> ChatCompletion:
        return openai_client.chat.completions.create(
            model=text_model,
            messages=[{"role": "user", "content": "What is an anchor?"}],
            temperature=0,
            max_tokens=8,
        )

    with ThreadPoolExecutor(max_workers=2) as pool:
        answers = list(pool.map(ask, range(2), timeout=120))
    assert all(answer.choices[0].message.content for answer in answers)


def test_tasks_of_one_loop_ask_at_once(async_openai_client: AsyncOpenAI, text_model: str) -> None:
    async def ask() -> list[str]:
        async with async_openai_client as client:

            async def one(word: str) -> str:
                stream = await client.chat.completions.create(
                    model=text_model,
                    messages=[{"role": "user", "content": f"Spell {word}."}],
                    temperature=0,
                    max_tokens=6,
                    stream=True,
                )
                return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])

            return await asyncio.gather(*(one(word) for word in ("boat", "lamp", "tree")))

    assert all(asyncio.run(ask()))


def test_sync_and_async_clients_take_turns(
    openai_client: OpenAI, async_openai_client: AsyncOpenAI, text_model: str
) -> None:
    async def ask() -> ChatCompletion:
        async with async_openai_client as client:
            return await client.chat.completions.create(
                model=text_model, messages=[{"role": "user", "content": "Ping."}], temperature=0, max_tokens=4
            )

    one = asyncio.run(ask())
    other = openai_client.chat.completions.create(
        model=text_model, messages=[{"role": "user", "content": "Pong."}], temperature=0, max_tokens=4
    )
    assert one.choices[0].message.role == other.choices[0].message.role == "assistant"
