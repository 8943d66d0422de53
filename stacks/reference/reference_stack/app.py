"""The gateway: `provider/model` in a request chooses the provider, which sees the bare model name."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from reference_stack import files, interactions, late_routes, responses, vector_stores
from reference_stack.agent.hosted import DEFAULT, hosted
from reference_stack.agent.processes import ProcessManager
from reference_stack.answers import Dialect, error_body
from reference_stack.asked import Handler, answering, body_of, late_of, provider_of
from reference_stack.clients import HttpClientFactory, opened
from reference_stack.late import LateClients
from reference_stack.late_routes import imported
from reference_stack.models import list_models
from reference_stack.providers import configured, search_of
from reference_stack.relay import relay
from reference_stack.rollouts import Rollouts
from reference_stack.store import location
from reference_stack.store import opened as opened_store


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """A POST that goes to one provider. `method` of the client of the dialect's SDK; `required` are the fields without
    which it cannot be called.
    """

    path: str
    method: Callable[[Any], Any]
    required: tuple[str, ...]
    streams: bool = True
    dialect: Dialect = Dialect.OPENAI


ENDPOINTS = (
    Endpoint(
        path="/v1/chat/completions",
        method=lambda openai: openai.chat.completions.with_streaming_response.create,
        required=("model", "messages"),
    ),
    Endpoint(
        path="/v1/completions",
        method=lambda openai: openai.completions.with_streaming_response.create,
        required=("model", "prompt"),
    ),
    Endpoint(
        path="/v1/embeddings",
        method=lambda openai: openai.embeddings.with_streaming_response.create,
        required=("model", "input"),
        streams=False,
    ),
    Endpoint(
        path="/v1/messages/count_tokens",
        method=lambda anthropic: anthropic.messages.with_streaming_response.count_tokens,
        required=("model", "messages"),
        streams=False,
        dialect=Dialect.ANTHROPIC,
    ),
    Endpoint(
        path="/v1/messages",
        method=lambda anthropic: anthropic.messages.with_streaming_response.create,
        required=("model", "max_tokens", "messages"),
        dialect=Dialect.ANTHROPIC,
    ),
)


def create_app(environ: Mapping[str, str] | None = None, http_client: HttpClientFactory | None = None) -> Starlette:
    """The ASGI application.

    `environ` (default: the process's) says which providers there are, who searches the web, where state is kept
    (POSTGRES_HOST and so on, or REFERENCE_DB), whose embeddings vector stores use when they are not told
    (REFERENCE_EMBEDDING_MODEL), which tools it hosts (REFERENCE_HOSTED_TOOLS, a file) and where turns are written down
    (REFERENCE_ROLLOUTS, a folder).
    """
    values = os.environ if environ is None else environ
    providers = configured(values)
    rollouts = values.get("REFERENCE_ROLLOUTS")

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[dict[str, Any]]:
        async with (
            opened(providers, http_client) as clients,
            opened_store(location(values)) as store,
            AsyncExitStack() as stack,
        ):
            # Programs of hosted tools get no variable that may hold a key.
            processes = ProcessManager({"PATH": values.get("PATH", os.defpath), "LANG": "C.UTF-8"})
            stack.push_async_callback(processes.aclose)
            yield {
                "clients": clients,
                "late": LateClients(stack, http_client),
                "search": search_of(values),
                "store": store,
                "embedding_model": values.get("REFERENCE_EMBEDDING_MODEL"),
                "hosted": hosted(Path(values.get("REFERENCE_HOSTED_TOOLS", DEFAULT)), processes),
                "rollouts": Rollouts(folder=Path(rollouts) if rollouts else None),
            }

    routes = [Route("/v1/health", _health), Route("/v1/models", list_models)]
    routes += [Route(endpoint.path, _handler(endpoint), methods=["POST"]) for endpoint in ENDPOINTS]
    routes += [*responses.ROUTES, *files.ROUTES, *vector_stores.ROUTES, *interactions.ROUTES, *late_routes.ROUTES]
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _http_error})


async def _health(_: Request) -> Response:
    return JSONResponse({"status": "OK"})


def _handler(endpoint: Endpoint) -> Handler:
    async def handle(request: Request) -> Response:
        body = await body_of(request, endpoint.required)
        provider, clients, model = provider_of(request, body["model"])
        if endpoint.path == "/v1/chat/completions" and clients.provider.gemini:
            answer: Response = await (await imported("gemini")).chat(request, body, clients.provider, model)
            return answer
        fields = _fields(endpoint, {**body, "model": model}, request)
        anthropic = endpoint.dialect is Dialect.ANTHROPIC
        client = await late_of(request).anthropic(clients.provider) if anthropic else clients.openai
        upstream = endpoint.method(client)(**fields)
        streamed = endpoint.streams and body.get("stream") is True
        return await relay(upstream, dialect=endpoint.dialect, provider=provider, streamed=streamed, request=request)

    return answering(handle, dialect=endpoint.dialect)


def _fields(endpoint: Endpoint, body: dict[str, Any], request: Request) -> dict[str, Any]:
    """Arguments for the SDK's method: what it demands by name, everything else unchanged in `extra_body`."""
    named = {name: body.pop(name) for name in endpoint.required}
    if endpoint.streams and isinstance(body.get("stream"), bool):
        named["stream"] = body.pop("stream")
    if endpoint.path == "/v1/embeddings":
        # Left out, the SDK would ask for base64 behind the caller's back; the API's own default is float.
        named["encoding_format"] = body.pop("encoding_format", "float")
    beta = request.headers.get("anthropic-beta")
    if endpoint.dialect is Dialect.ANTHROPIC and beta:
        named["extra_headers"] = {"anthropic-beta": beta}
    return {**named, "extra_body": body} if body else named


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - by registration
    text = f"{request.method} {request.url.path}: {error.detail}"
    return JSONResponse(error_body(Dialect.OPENAI, error.status_code, text), status_code=error.status_code)
