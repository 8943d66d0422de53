"""`/v1/interactions`: Gemini's Interactions API, passed on byte for byte, plain and streamed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from reference_stack.answers import Dialect, NoAnswerError, RefusedError
from reference_stack.asked import answering, body_of, late_of, provider_of
from reference_stack.providers import Provider
from reference_stack.relay import relay


@dataclass(frozen=True, slots=True)
class _Opened:
    http_response: httpx2.Response


async def create(request: Request) -> Response:
    """Ask a model, or an agent."""
    body = await body_of(request)
    asked = "agent" if body.get("agent") is not None else "model"
    if not isinstance(body.get(asked), str):
        raise RefusedError(400, f"The parameter {asked!r} must be a string.", param=asked)
    name, clients, model = provider_of(request, body[asked])
    if not clients.provider.gemini:
        raise RefusedError(404, f"The provider {name!r} does not offer /v1/interactions.")
    client = await late_of(request).httpx2()
    upstream = _sent(client, clients.provider, {**body, asked: model})
    streamed = body.get("stream") is True
    return await relay(upstream, dialect=Dialect.OPENAI, provider=name, streamed=streamed, request=request)


@asynccontextmanager
async def _sent(client: httpx2.AsyncClient, provider: Provider, body: dict[str, Any]) -> AsyncIterator[_Opened]:
    """The provider's answer, whatever its status; NoAnswerError without one."""
    headers = {"x-goog-api-key": provider.key}
    begun = False
    try:
        url = f"{provider.origin}/v1beta/interactions"
        async with client.stream("POST", url, json=body, headers=headers) as response:
            begun = True
            yield _Opened(response)
    except httpx2.HTTPError as error:
        raise NoAnswerError(timed_out=isinstance(error, httpx2.TimeoutException) and not begun) from error


ROUTES = (Route("/v1/interactions", answering(create), methods=["POST"]),)
