"""Clients that few requests need: imported and made for the first of them, so that nobody else waits for that."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import httpx2

from reference_stack.answers import RefusedError
from reference_stack.providers import Provider, Search

if TYPE_CHECKING:
    import aiohttp
    import ollama
    from anthropic import AsyncAnthropic
    from google import genai
    from tavily import AsyncTavilyClient

# Seconds; a model on a small machine is slow, a server that does not accept is not there.
_TOTAL, _CONNECT = 300.0, 10.0

HttpClientFactory = Callable[[], httpx2.AsyncClient]
Make = Callable[[Any, AsyncExitStack], Awaitable[Any]]


class LateClients:
    """Each client is made once, whoever asks first, and closed with the application."""

    def __init__(self, stack: AsyncExitStack, http_client: HttpClientFactory | None = None) -> None:
        self._stack = stack
        self._http_client = http_client
        self._made: dict[str, Any] = {}
        self._lock = asyncio.Lock()

    async def httpx2(self) -> httpx2.AsyncClient:
        """A client of httpx2, for what is passed on byte for byte."""

        async def make(_: Any, stack: AsyncExitStack) -> Any:
            client = self._http_client() if self._http_client else httpx2.AsyncClient()
            client.timeout = httpx2.Timeout(_TOTAL, connect=_CONNECT)
            return await stack.enter_async_context(client)

        client: httpx2.AsyncClient = await self._get("httpx2", "httpx2", make)
        return client

    async def aiohttp(self) -> aiohttp.ClientSession:
        """A session of aiohttp, for whatever has no SDK."""

        async def make(module: Any, stack: AsyncExitStack) -> Any:
            timeout = module.ClientTimeout(total=_TOTAL, sock_connect=_CONNECT)
            return await stack.enter_async_context(module.ClientSession(timeout=timeout))

        session: aiohttp.ClientSession = await self._get("aiohttp", "aiohttp", make)
        return session

    async def anthropic(self, provider: Provider) -> AsyncAnthropic:
        """Anthropic's client for this provider; RefusedError where that does not speak its API."""
        if provider.anthropic_url is None:
            raise RefusedError(404, f"The provider {provider.name!r} does not offer /v1/messages.")

        async def make(module: Any, stack: AsyncExitStack) -> Any:
            client = module.AsyncAnthropic(
                base_url=provider.anthropic_url,
                api_key=provider.key,
                max_retries=0,
                # A value of our own also stops it from refusing plain requests that it thinks may take longer than its
                # default.
                timeout=httpx2.Timeout(_TOTAL, connect=_CONNECT),
                http_client=self._http_client() if self._http_client else None,
            )
            stack.push_async_callback(client.close)
            return client

        client: AsyncAnthropic = await self._get(f"anthropic {provider.name}", "anthropic", make)
        return client

    async def gemini(self, provider: Provider) -> genai.Client:
        """Google's client for this provider's Gemini API."""

        # Its own session would be of a class that aiohttp warns about.
        session = await self.aiohttp()

        async def make(module: Any, stack: AsyncExitStack) -> Any:
            # The SDK does not retry unless it is told to.
            options = {
                "base_url": provider.origin,
                "api_version": "v1beta",
                "timeout": int(_TOTAL * 1000),
                "aiohttp_client": session,
            }
            client = module.Client(api_key=provider.key, http_options=options, vertexai=False)
            stack.push_async_callback(client.aio.aclose)
            return client

        client: genai.Client = await self._get(f"gemini {provider.name}", "google.genai", make)
        return client

    async def ollama(self, provider: Provider) -> ollama.AsyncClient:
        """Ollama's client for this provider's `/api`."""

        async def make(module: Any, stack: AsyncExitStack) -> Any:
            httpx = importlib.import_module("httpx")  # what it is made of: it is there
            timeout = httpx.Timeout(_TOTAL, connect=_CONNECT)
            client = module.AsyncClient(host=provider.origin, timeout=timeout)
            stack.push_async_callback(client.close)
            return client

        client: ollama.AsyncClient = await self._get(f"ollama {provider.name}", "ollama", make)
        return client

    async def tavily(self, search: Search) -> AsyncTavilyClient:
        """Tavily's client."""

        async def make(module: Any, stack: AsyncExitStack) -> Any:
            client = module.AsyncTavilyClient(api_key=search.key, api_base_url=search.url)
            stack.push_async_callback(client.close)
            return client

        client: AsyncTavilyClient = await self._get("tavily", "tavily", make)
        return client

    async def _get(self, key: str, module: str, make: Make) -> Any:
        async with self._lock:
            if key not in self._made:
                try:
                    # These take half a second and more: nobody else's answer waits for it.
                    found = await asyncio.to_thread(importlib.import_module, module)
                except ImportError as error:
                    raise RefusedError(501, f"This needs the package of {module!r}: {error}") from error
                self._made[key] = await make(found, self._stack)
            return self._made[key]
