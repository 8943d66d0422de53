"""The recorder's own loopback provider and bench, and SDKs as their users have them: with their own retries."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

_WIRE_TESTS = Path(__file__).parents[2] / "unit" / "recorder_wire" / "conftest.py"
_KEY = "a-key"
_ASK: Any = [{"role": "user", "content": "Hi"}]


def _load(path: Path) -> Any:
    """A module by its path: pytest's import mode makes the folders of tests no packages."""
    name = "stackproof_errors_wire"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


provider, bench = _load(_WIRE_TESTS).provider, _load(_WIRE_TESTS).bench


@dataclass(frozen=True, kw_only=True, slots=True)
class Raised:
    """What an SDK raised: its class and text, its cause (an HTTP library's), and of an answer status, body and headers.

    heard: what had come of a stream before. seconds: from the call until then.
    """

    kind: str
    text: str
    cause: str | None
    status: int | None
    body: Any
    headers: Mapping[str, str]
    heard: tuple[str, ...]
    seconds: float = field(compare=False)


def _raised(error: Exception, heard: list[str], began: float) -> Raised:
    seconds = time.monotonic() - began
    response, cause = getattr(error, "response", None), error.__cause__
    if type(cause).__module__.startswith("httpcore"):
        cause = None  # what an HTTP library keeps to itself: in replay nothing below it was asked
    headers = {} if response is None else dict(response.headers)
    # What is of the connection, and what the recorder tells SDKs whose waits it does not know.
    for name in ("transfer-encoding", "connection", "retry-after-ms"):
        headers.pop(name, None)
    body = getattr(error, "body", None) or getattr(error, "error", None)
    return Raised(
        kind=f"{type(error).__module__}.{type(error).__qualname__}",
        text=str(error),
        cause=None if cause is None else f"{type(cause).__module__}.{type(cause).__qualname__}: {cause}",
        status=getattr(error, "status_code", None),
        body=body if response is None else (body, response.text),
        headers=headers,
        heard=tuple(heard),
        seconds=seconds,
    )


# A speaker yields once when its client is made, then what it hears.


def _openai(client: Any, *, stream: bool) -> Iterator[str]:
    with client:
        yield "ready"
        answer = client.chat.completions.create(model="m", messages=_ASK, stream=stream)
        for chunk in answer if stream else ():
            yield chunk.choices[0].delta.content


async def _async_openai(client: Any, *, stream: bool) -> AsyncIterator[str]:
    async with client:
        yield "ready"
        answer = await client.chat.completions.create(model="m", messages=_ASK, stream=stream)
        if stream:
            async for chunk in answer:
                yield chunk.choices[0].delta.content


def _anthropic(client: Any, *, stream: bool) -> Iterator[str]:
    with client:
        yield "ready"
        answer = client.messages.create(model="m", max_tokens=9, messages=_ASK, stream=stream)
        for event in answer if stream else ():
            yield event.type


async def _async_anthropic(client: Any, *, stream: bool) -> AsyncIterator[str]:
    async with client:
        yield "ready"
        answer = await client.messages.create(model="m", max_tokens=9, messages=_ASK, stream=stream)
        if stream:
            async for event in answer:
                yield event.type


def _ollama(client: Any, *, stream: bool) -> Iterator[str]:
    with client:
        yield "ready"
        answer = client.chat(model="m", messages=_ASK, stream=stream)
        for part in answer if stream else ():
            yield part.message.content


async def _async_ollama(client: Any, *, stream: bool) -> AsyncIterator[str]:
    async with client:
        yield "ready"
        answer = await client.chat(model="m", messages=_ASK, stream=stream)
        if stream:
            async for part in answer:
                yield part.message.content


@dataclass(frozen=True, kw_only=True, slots=True)
class Sdk:
    """An SDK: how its client is made, how it is spoken to, and how often it asks when the provider fails."""

    name: str
    needs: tuple[str, ...]
    make: Callable[..., Any]
    speak: Callable[..., Any]
    attempts: int = 3

    def ask(self, url: str, *, stream: bool, timeout: float) -> Raised:
        """Call and listen until the SDK raises; Failed when it does not."""
        heard: list[str] = []
        talk = self.speak(self.make(url, timeout), stream=stream)
        if isinstance(talk, Iterator):
            next(talk)
            began = time.monotonic()
            try:
                heard.extend(talk)
            except Exception as error:  # noqa: BLE001 - which one is what the tests are about
                return _raised(error, heard, began)
        else:
            raised = asyncio.run(self._listen(talk, heard))
            if raised is not None:
                return raised
        pytest.fail(f"{self.name} raised nothing")

    @staticmethod
    async def _listen(talk: AsyncIterator[str], heard: list[str]) -> Raised | None:
        await anext(talk)
        began = time.monotonic()
        try:
            async for text in talk:
                heard.append(text)  # noqa: PERF401 - what came before the error is kept
        except Exception as error:  # noqa: BLE001 - as above
            return _raised(error, heard, began)
        return None


def _module(name: str) -> Any:
    return importlib.import_module(name)


def _made_alike(module: str, name: str) -> Sdk:
    """An SDK out of the same generator as OpenAI's."""
    return Sdk(
        name=module,
        needs=(module,),
        make=lambda url, timeout: getattr(_module(module), name)(base_url=url, api_key=_KEY, timeout=timeout),
        speak=_openai,
    )


# They differ in nothing but name and paths: one failure of each is enough.
ALIKE = (
    _made_alike("groq", "Groq"),
    _made_alike("together", "Together"),
    _made_alike("fireworks", "Fireworks"),
    _made_alike("llama_api_client", "LlamaAPIClient"),
    Sdk(
        name="cerebras.cloud.sdk",
        needs=("cerebras.cloud.sdk",),
        make=lambda url, timeout: _module("cerebras.cloud.sdk").Cerebras(
            base_url=url, api_key=_KEY, timeout=timeout, warm_tcp_connection=False
        ),
        speak=_openai,
    ),
)
SDKS = (
    Sdk(
        name="openai",
        needs=("openai",),
        make=lambda url, timeout: _module("openai").OpenAI(base_url=url, api_key=_KEY, timeout=timeout),
        speak=_openai,
    ),
    Sdk(
        name="openai-async",
        needs=("openai",),
        make=lambda url, timeout: _module("openai").AsyncOpenAI(base_url=url, api_key=_KEY, timeout=timeout),
        speak=_async_openai,
    ),
    Sdk(
        name="openai-over-httpx",
        needs=("openai", "httpx"),
        make=lambda url, timeout: _module("openai").OpenAI(
            base_url=url, api_key=_KEY, timeout=timeout, http_client=_module("httpx").Client(trust_env=False)
        ),
        speak=_openai,
    ),
    Sdk(
        name="anthropic",
        needs=("anthropic",),
        make=lambda url, timeout: _module("anthropic").Anthropic(base_url=url, api_key=_KEY, timeout=timeout),
        speak=_anthropic,
    ),
    Sdk(
        name="anthropic-async",
        needs=("anthropic",),
        make=lambda url, timeout: _module("anthropic").AsyncAnthropic(base_url=url, api_key=_KEY, timeout=timeout),
        speak=_async_anthropic,
    ),
    Sdk(
        name="ollama",
        needs=("ollama",),
        make=lambda url, timeout: _module("ollama").Client(host=url, timeout=timeout, trust_env=False),
        speak=_ollama,
        attempts=1,
    ),
    Sdk(
        name="ollama-async",
        needs=("ollama",),
        make=lambda url, timeout: _module("ollama").AsyncClient(host=url, timeout=timeout, trust_env=False),
        speak=_async_ollama,
        attempts=1,
    ),
)


def _installed(sdk: Sdk) -> Sdk:
    for name in sdk.needs:
        pytest.importorskip(name, reason=f"{name} is not installed")
    return sdk


@pytest.fixture(params=SDKS, ids=lambda sdk: sdk.name)
def sdk(request: pytest.FixtureRequest) -> Sdk:
    """Each SDK; the test skips where one is not installed."""
    return _installed(request.param)


@pytest.fixture(params=ALIKE, ids=lambda sdk: sdk.name)
def sdk_made_alike(request: pytest.FixtureRequest) -> Sdk:
    """Each SDK out of the generator that OpenAI's is from."""
    return _installed(request.param)
