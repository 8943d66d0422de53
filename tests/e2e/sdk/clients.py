"""Every row of the table of SDKs, sync and async: each makes one plain and one streamed call and tells what it got.

A row imports its SDK when it is used, and skips where that is not installed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

KEY = "a-key"
ASK: Any = [{"role": "user", "content": "Hi"}]
Got = tuple[Any, list[Any]]


def installed(module: str, package: str | None = None) -> Any:
    """The module; the test skips where it is absent."""
    return pytest.importorskip(module, reason=f"{package or module} is not installed")


def _data(value: Any) -> Any:
    """An object of an SDK as plain data."""
    for name in ("model_dump", "dict", "to_dict"):
        if hasattr(value, name):
            return getattr(value, name)()
    return value


async def _all(stream: AsyncIterator[Any]) -> list[Any]:
    return [_data(item) async for item in stream]


def _run(main: Callable[[], Awaitable[Got]]) -> Got:
    async def awaited() -> Got:
        return await main()

    return asyncio.run(awaited())


def _chat(client: Any) -> Got:
    plain = client.chat.completions.create(model="m", messages=ASK)
    return _data(plain), [
        _data(chunk) for chunk in client.chat.completions.create(model="m", messages=ASK, stream=True)
    ]


async def _async_chat(client: Any) -> Got:
    plain = await client.chat.completions.create(model="m", messages=ASK)
    return _data(plain), await _all(await client.chat.completions.create(model="m", messages=ASK, stream=True))


def openai_sync(url: str, **more: Any) -> Got:
    with installed("openai").OpenAI(base_url=url, api_key=KEY, max_retries=0, **more) as client:
        return _chat(client)


def openai_async(url: str, make: Callable[[], Any] | None = None) -> Got:
    openai = installed("openai")

    async def main() -> Got:
        more = {"http_client": make()} if make is not None else {}
        async with openai.AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0, **more) as client:
            return await _async_chat(client)

    return _run(main)


def openai_aiohttp(url: str) -> Got:
    installed("aiohttp")
    return openai_async(url, installed("openai").DefaultAioHttpClient)


def openai_legacy_httpx(url: str) -> Got:
    return openai_sync(url, http_client=installed("httpx").Client(trust_env=False))


def openai_legacy_httpx_async(url: str) -> Got:
    httpx = installed("httpx")
    return openai_async(url, lambda: httpx.AsyncClient(trust_env=False))


def anthropic_sync(url: str) -> Got:
    with installed("anthropic").Anthropic(base_url=url, api_key=KEY, max_retries=0) as client:
        plain = client.messages.create(model="m", max_tokens=9, messages=ASK)
        with client.messages.stream(model="m", max_tokens=9, messages=ASK) as stream:
            return _data(plain), [_data(event) for event in stream]


def anthropic_async(url: str) -> Got:
    anthropic = installed("anthropic")

    async def main() -> Got:
        async with anthropic.AsyncAnthropic(base_url=url, api_key=KEY, max_retries=0) as client:
            plain = await client.messages.create(model="m", max_tokens=9, messages=ASK)
            async with client.messages.stream(model="m", max_tokens=9, messages=ASK) as stream:
                return _data(plain), await _all(stream)

    return _run(main)


def _gemini(url: str) -> Any:
    genai = installed("google.genai", "google-genai")
    return genai.Client(api_key=KEY, http_options=genai.types.HttpOptions(base_url=url))


def google_genai_sync(url: str) -> Got:
    with _gemini(url) as client:
        plain = client.models.generate_content(model="m", contents="Hi")
        return _said(plain), [_said(part) for part in client.models.generate_content_stream(model="m", contents="Hi")]


def google_genai_async(url: str) -> Got:
    """Over aiohttp where it is installed."""
    installed("aiohttp")

    async def main() -> Got:
        async with _gemini(url).aio as client:
            plain = await client.models.generate_content(model="m", contents="Hi")
            stream = await client.models.generate_content_stream(model="m", contents="Hi")
            return _said(plain), [_said(part) async for part in stream]

    return _run(main)


def _said(response: Any) -> Any:
    """Without `sdk_http_response`, which holds headers of the connection."""
    return response.model_dump(exclude={"sdk_http_response"})


def ollama_sync(url: str) -> Got:
    client = installed("ollama").Client(host=url, trust_env=False)
    plain = client.chat(model="m", messages=ASK)
    return _data(plain), [_data(part) for part in client.chat(model="m", messages=ASK, stream=True)]


def ollama_async(url: str) -> Got:
    ollama = installed("ollama")

    async def main() -> Got:
        async with ollama.AsyncClient(host=url, trust_env=False) as client:
            plain = await client.chat(model="m", messages=ASK)
            return _data(plain), await _all(await client.chat(model="m", messages=ASK, stream=True))

    return _run(main)


def tavily_sync(url: str) -> Got:
    client = installed("tavily", "tavily-python").TavilyClient(api_key=KEY, api_base_url=url)
    return _without_time(client.search("Hi")), [_without_time(client.search("Hi", max_results=2))]


def tavily_async(url: str) -> Got:
    tavily = installed("tavily", "tavily-python")

    async def main() -> Got:
        async with tavily.AsyncTavilyClient(api_key=KEY, api_base_url=url) as client:
            return _without_time(await client.search("Hi")), [_without_time(await client.search("Hi", max_results=2))]

    return _run(main)


def _without_time(found: Any) -> Any:
    return {key: value for key, value in found.items() if key != "response_time"}


def litellm_sync(url: str) -> Got:
    litellm = installed("litellm")
    told: Any = {"model": "hosted_vllm/m", "messages": ASK, "api_base": url, "api_key": KEY, "num_retries": 0}
    plain = litellm.completion(**told)
    return _stable(plain), [_stable(chunk) for chunk in litellm.completion(**told, stream=True)]


def litellm_async(url: str) -> Got:
    installed("aiohttp")
    litellm = installed("litellm")
    told: Any = {"model": "hosted_vllm/m", "messages": ASK, "api_base": url, "api_key": KEY, "num_retries": 0}

    async def main() -> Got:
        try:
            plain = await litellm.acompletion(**told)
            return _stable(plain), [_stable(chunk) async for chunk in await litellm.acompletion(**told, stream=True)]
        finally:
            await litellm.close_litellm_async_clients()

    return _run(main)


def _stable(response: Any) -> Any:
    """Without what litellm makes up itself for a chunk: the time of its arrival."""
    return {key: value for key, value in response.model_dump().items() if key != "created"}


def bedrock(url: str) -> Got:
    boto3 = installed("boto3")
    config = installed("botocore.config", "boto3").Config(retries={"total_max_attempts": 1})
    client = boto3.client(
        "bedrock-runtime",
        region_name="eu-central-1",
        endpoint_url=url,
        aws_access_key_id="id",
        aws_secret_access_key=KEY,
        config=config,
    )
    messages = [{"role": "user", "content": [{"text": "Hi"}]}]
    plain = client.converse(modelId="m", messages=messages)
    streamed = client.converse_stream(modelId="m", messages=messages)
    parts = list(streamed["stream"])
    client.close()
    return (plain["output"], plain["stopReason"], plain["usage"]), parts


def mistral_sync(url: str) -> Got:
    with installed("mistralai.client", "mistralai").Mistral(api_key=KEY, server_url=url) as client:
        plain = client.chat.complete(model="m", messages=ASK)
        with client.chat.stream(model="m", messages=ASK) as stream:
            return _data(plain), [_data(event) for event in stream]


def mistral_async(url: str) -> Got:
    mistralai = installed("mistralai.client", "mistralai")

    async def main() -> Got:
        async with mistralai.Mistral(api_key=KEY, server_url=url) as client:
            plain = await client.chat.complete_async(model="m", messages=ASK)
            async with await client.chat.stream_async(model="m", messages=ASK) as stream:
                return _data(plain), await _all(stream)

    return _run(main)


def cohere_sync(url: str) -> Got:
    client = installed("cohere").ClientV2(api_key=KEY, base_url=url)
    plain = client.chat(model="m", messages=ASK)
    return _data(plain), [_data(event) for event in client.chat_stream(model="m", messages=ASK)]


def cohere_async(url: str) -> Got:
    cohere = installed("cohere")

    async def main() -> Got:
        async with cohere.AsyncClientV2(api_key=KEY, base_url=url) as client:
            plain = await client.chat(model="m", messages=ASK)
            return _data(plain), await _all(client.chat_stream(model="m", messages=ASK))

    return _run(main)


def groq_sync(url: str) -> Got:
    with installed("groq").Groq(base_url=url, api_key=KEY, max_retries=0) as client:
        return _chat(client)


def groq_async(url: str) -> Got:
    groq = installed("groq")

    async def main() -> Got:
        async with groq.AsyncGroq(base_url=url, api_key=KEY, max_retries=0) as client:
            return await _async_chat(client)

    return _run(main)


def _langchain(url: str, **more: Any) -> Any:
    chat = installed("langchain_openai", "langchain-openai").ChatOpenAI
    return chat(model="m", base_url=url, api_key=KEY, max_retries=0, **more)


def langchain_sync(url: str) -> Got:
    client = _langchain(url)
    return _message(client.invoke("Hi")), [_message(part) for part in client.stream("Hi")]


def langchain_async(url: str) -> Got:
    async def main() -> Got:
        # One of our own: LangChain's is shared, and never closed.
        async with installed("openai").DefaultAsyncHttpxClient() as http_client:
            client = _langchain(url, http_async_client=http_client)
            return _message(await client.ainvoke("Hi")), [_message(part) async for part in client.astream("Hi")]

    return _run(main)


def _message(message: Any) -> Any:
    """Without the id that langchain makes up for a run."""
    return (message.content, message.response_metadata)
