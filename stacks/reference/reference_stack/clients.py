"""The clients of OpenAI's SDK, made once per application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import httpx2
from openai import AsyncOpenAI

from reference_stack.providers import Provider

# Makes the HTTP client of one SDK client; None leaves that to the SDK.
HttpClientFactory = Callable[[], httpx2.AsyncClient]

# Models on small machines are slow.
_TIMEOUT = httpx2.Timeout(300.0, connect=10.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Clients:
    """A provider, and its client that nearly every request needs; the others are made when they are asked for."""

    provider: Provider
    openai: AsyncOpenAI


@asynccontextmanager
async def opened(
    providers: Iterable[Provider], http_client: HttpClientFactory | None
) -> AsyncIterator[dict[str, Clients]]:
    """Clients by provider name; closed on exit. The SDKs do not retry: that is for whoever called the gateway."""
    async with AsyncExitStack() as stack:
        clients = {}
        for provider in providers:
            openai = AsyncOpenAI(
                base_url=provider.openai_url,
                api_key=provider.key,
                max_retries=0,
                timeout=_TIMEOUT,
                http_client=http_client() if http_client else None,
            )
            stack.push_async_callback(openai.close)
            clients[provider.name] = Clients(provider=provider, openai=openai)
        yield clients
