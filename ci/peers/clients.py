"""The clients that call through the recorders: for each, a plain call and a streamed one below a base URL.

An SDK is imported where it is used, so that a recorder meets the libraries of one client at a time. None of them tries
again: every recorder is asked once for each call.
"""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

KEY = "a-key"
ASK: Any = [{"role": "user", "content": "Hi"}]
BODY: Any = {"model": "m", "messages": ASK}
STREAMED: Any = {**BODY, "stream": True}


@dataclass(slots=True)
class Events:
    """What came out of a stream, and when the first of it did (`time.perf_counter`)."""

    items: list[Any] = field(default_factory=list)
    first: float | None = None

    def _add(self, item: Any) -> None:
        if self.first is None:
            self.first = time.perf_counter()
        self.items.append(item)

    def take(self, stream: Iterable[Any]) -> None:
        """Read a stream to its end."""
        for item in stream:
            self._add(item)

    async def atake(self, stream: AsyncIterable[Any]) -> None:
        """Read an async stream to its end."""
        async for item in stream:
            self._add(item)


Plain = Callable[[str], Any]
Stream = Callable[[str, Events], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Client:
    """One row of the table. `raw`: the pieces of the body come as the network brought them, with no parser between."""

    name: str
    through: str
    plain: Plain
    stream: Stream | None
    raw: bool = False


def _load(name: str) -> Any:
    return importlib.import_module(name)


def _run(work: Awaitable[Any]) -> Any:
    async def main() -> Any:
        return await work

    return asyncio.run(main())


# -- OpenAI, over four HTTP clients

_OPENAI: Any = {"api_key": KEY, "max_retries": 0}


def _legacy() -> Any:
    return {"http_client": _load("httpx").Client(trust_env=False)}


def _legacy_async() -> Any:
    return {"http_client": _load("httpx").AsyncClient(trust_env=False)}


def _aiohttp() -> Any:
    return {"http_client": _load("openai").DefaultAioHttpClient()}


def _openai(name: str, through: str, more: Callable[[], Any] = dict) -> Client:
    def plain(url: str) -> Any:
        with _load("openai").OpenAI(base_url=url, **_OPENAI, **more()) as client:
            return client.chat.completions.create(**BODY)

    def stream(url: str, events: Events) -> None:
        with _load("openai").OpenAI(base_url=url, **_OPENAI, **more()) as client:
            events.take(client.chat.completions.create(**STREAMED))

    return Client(name=name, through=through, plain=plain, stream=stream)


def _openai_async(name: str, through: str, more: Callable[[], Any] = dict) -> Client:
    async def plain(url: str) -> Any:
        async with _load("openai").AsyncOpenAI(base_url=url, **_OPENAI, **more()) as client:
            return await client.chat.completions.create(**BODY)

    async def stream(url: str, events: Events) -> None:
        async with _load("openai").AsyncOpenAI(base_url=url, **_OPENAI, **more()) as client:
            await events.atake(await client.chat.completions.create(**STREAMED))

    return awaited(name, through, plain, stream)


def awaited(
    name: str,
    through: str,
    plain: Callable[[str], Awaitable[Any]],
    stream: Callable[[str, Events], Awaitable[None]] | None,
    *,
    raw: bool = False,
) -> Client:
    def run_plain(url: str) -> Any:
        return _run(plain(url))

    def run_stream(url: str, events: Events) -> None:
        if stream is not None:
            _run(stream(url, events))

    return Client(name=name, through=through, plain=run_plain, stream=run_stream if stream else None, raw=raw)


# -- Anthropic

_MESSAGE: Any = {"model": "m", "max_tokens": 9, "messages": ASK}


def _anthropic_plain(url: str) -> Any:
    with _load("anthropic").Anthropic(base_url=url, **_OPENAI) as client:
        return client.messages.create(**_MESSAGE)


def _anthropic_stream(url: str, events: Events) -> None:
    with _load("anthropic").Anthropic(base_url=url, **_OPENAI) as client, client.messages.stream(**_MESSAGE) as stream:
        events.take(stream)


async def _anthropic_async_plain(url: str) -> Any:
    async with _load("anthropic").AsyncAnthropic(base_url=url, **_OPENAI) as client:
        return await client.messages.create(**_MESSAGE)


async def _anthropic_async_stream(url: str, events: Events) -> None:
    async with (
        _load("anthropic").AsyncAnthropic(base_url=url, **_OPENAI) as client,
        client.messages.stream(**_MESSAGE) as stream,
    ):
        await events.atake(stream)


# -- Google GenAI


def _gemini(url: str) -> Any:
    genai = _load("google.genai")
    return genai.Client(api_key=KEY, http_options=genai.types.HttpOptions(base_url=url))


_PROMPT: Any = {"model": "m", "contents": "Hi"}


def _gemini_plain(url: str) -> Any:
    with _gemini(url) as client:
        return client.models.generate_content(**_PROMPT)


def _gemini_stream(url: str, events: Events) -> None:
    with _gemini(url) as client:
        events.take(client.models.generate_content_stream(**_PROMPT))


async def _gemini_async_plain(url: str) -> Any:
    async with _gemini(url).aio as client:
        return await client.models.generate_content(**_PROMPT)


async def _gemini_async_stream(url: str, events: Events) -> None:
    async with _gemini(url).aio as client:
        await events.atake(await client.models.generate_content_stream(**_PROMPT))


# -- Ollama, Tavily, LiteLLM, Bedrock


def _ollama(url: str) -> Any:
    return _load("ollama").Client(host=url, trust_env=False)


def _ollama_stream(url: str, events: Events) -> None:
    events.take(_ollama(url).chat(**STREAMED))


async def _ollama_async_plain(url: str) -> Any:
    return await _load("ollama").AsyncClient(host=url, trust_env=False).chat(**BODY)


async def _ollama_async_stream(url: str, events: Events) -> None:
    await events.atake(await _load("ollama").AsyncClient(host=url, trust_env=False).chat(**STREAMED))


def _tavily_plain(url: str) -> Any:
    return _load("tavily").TavilyClient(api_key=KEY, api_base_url=url).search("Hi")


async def _tavily_async_plain(url: str) -> Any:
    return await _load("tavily").AsyncTavilyClient(api_key=KEY, api_base_url=url).search("Hi")


def _lite(url: str) -> Any:
    return {"model": "hosted_vllm/m", "messages": ASK, "api_base": url, "api_key": KEY, "num_retries": 0}


def _litellm_stream(url: str, events: Events) -> None:
    events.take(_load("litellm").completion(**_lite(url), stream=True))


async def _litellm_async_plain(url: str) -> Any:
    litellm = _load("litellm")
    try:
        return await litellm.acompletion(**_lite(url))
    finally:
        await litellm.close_litellm_async_clients()


async def _litellm_async_stream(url: str, events: Events) -> None:
    litellm = _load("litellm")
    try:
        await events.atake(await litellm.acompletion(**_lite(url), stream=True))
    finally:
        await litellm.close_litellm_async_clients()


_CONVERSE: Any = {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "Hi"}]}]}


def _bedrock(url: str) -> Any:
    return _load("boto3").client(
        "bedrock-runtime",
        region_name="eu-central-1",
        endpoint_url=url,
        aws_access_key_id="id",
        aws_secret_access_key=KEY,
        config=_load("botocore.config").Config(retries={"total_max_attempts": 1}),
    )


def _bedrock_stream(url: str, events: Events) -> None:
    events.take(_bedrock(url).converse_stream(**_CONVERSE)["stream"])


def _sdks() -> tuple[Client, ...]:
    return (
        _openai("OpenAI", "httpx2"),
        _openai_async("OpenAI, async", "httpx2"),
        _openai("OpenAI, legacy client", "httpx", _legacy),
        _openai_async("OpenAI, legacy client, async", "httpx", _legacy_async),
        _openai_async("OpenAI, DefaultAioHttpClient", "aiohttp", _aiohttp),
        Client(name="Anthropic", through="httpx2", plain=_anthropic_plain, stream=_anthropic_stream),
        awaited("Anthropic, async", "httpx2", _anthropic_async_plain, _anthropic_async_stream),
        Client(name="Google GenAI", through="httpx2", plain=_gemini_plain, stream=_gemini_stream),
        awaited("Google GenAI, async", "aiohttp", _gemini_async_plain, _gemini_async_stream),
        Client(name="Ollama", through="httpx", plain=lambda url: _ollama(url).chat(**BODY), stream=_ollama_stream),
        awaited("Ollama, async", "httpx", _ollama_async_plain, _ollama_async_stream),
        Client(name="Tavily", through="requests", plain=_tavily_plain, stream=None),
        awaited("Tavily, async", "httpx", _tavily_async_plain, None),
        Client(
            name="LiteLLM",
            through="httpx",
            plain=lambda url: _load("litellm").completion(**_lite(url)),
            stream=_litellm_stream,
        ),
        awaited("LiteLLM, async", "aiohttp", _litellm_async_plain, _litellm_async_stream),
        Client(
            name="boto3 bedrock-runtime",
            through="urllib3",
            plain=lambda url: _bedrock(url).converse(**_CONVERSE),
            stream=_bedrock_stream,
        ),
    )


SDKS = _sdks()
