"""The gateway: `provider/model` in a request chooses the provider, which sees the bare model name."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from reference_stack.answers import (
    CONNECTION_ERRORS,
    STATUS_ERRORS,
    Dialect,
    RefusedError,
    error_body,
    provider_error,
    refusal,
)
from reference_stack.clients import Clients, HttpClientFactory, opened
from reference_stack.models import list_models
from reference_stack.providers import NOT_SERVED, configured
from reference_stack.relay import ClientLeftError, relay

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """A POST that goes to one provider. `required` are the fields without which the SDK's method cannot be called."""

    path: str
    method: Callable[[Clients], Any]
    required: tuple[str, ...]
    streams: bool = True
    dialect: Dialect = Dialect.OPENAI


ENDPOINTS = (
    Endpoint(
        path="/v1/chat/completions",
        method=lambda clients: clients.openai.chat.completions.with_streaming_response.create,
        required=("model", "messages"),
    ),
    Endpoint(
        path="/v1/completions",
        method=lambda clients: clients.openai.completions.with_streaming_response.create,
        required=("model", "prompt"),
    ),
    Endpoint(
        path="/v1/embeddings",
        method=lambda clients: clients.openai.embeddings.with_streaming_response.create,
        required=("model", "input"),
        streams=False,
    ),
    Endpoint(
        path="/v1/responses",
        method=lambda clients: clients.openai.responses.with_streaming_response.create,
        required=("model",),
    ),
    Endpoint(
        path="/v1/messages",
        method=lambda clients: _anthropic(clients).messages.with_streaming_response.create,
        required=("model", "max_tokens", "messages"),
        dialect=Dialect.ANTHROPIC,
    ),
)


def create_app(environ: Mapping[str, str] | None = None, http_client: HttpClientFactory | None = None) -> Starlette:
    """The ASGI application. `environ` (default: the process's) says which providers there are."""
    providers = configured(os.environ if environ is None else environ)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[dict[str, Any]]:
        async with opened(providers, http_client) as clients:
            yield {"clients": clients}

    routes = [Route("/v1/health", _health), Route("/v1/models", list_models)]
    routes += [Route(endpoint.path, _handler(endpoint), methods=["POST"]) for endpoint in ENDPOINTS]
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _http_error})


async def _health(_: Request) -> Response:
    return JSONResponse({"status": "OK"})


def _handler(endpoint: Endpoint) -> Handler:
    async def handle(request: Request) -> Response:
        provider = ""
        try:
            body = await _body(request, endpoint.required)
            provider, clients, model = _route(request, body["model"])
            fields = _fields(endpoint, {**body, "model": model}, request)
            upstream = endpoint.method(clients)(**fields)
            streamed = endpoint.streams and body.get("stream") is True
            return await relay(
                upstream, dialect=endpoint.dialect, provider=provider, streamed=streamed, request=request
            )
        except RefusedError as error:
            return refusal(endpoint.dialect, error)
        except (*STATUS_ERRORS, *CONNECTION_ERRORS) as error:
            return provider_error(endpoint.dialect, provider, error)
        except UnicodeEncodeError:
            text = "The request body holds half of a surrogate pair, which is no character."
            return refusal(endpoint.dialect, RefusedError(400, text))
        except ClientLeftError:
            return Response(status_code=499)  # nobody reads it; the number is nginx's for this case

    return handle


async def _body(request: Request, required: tuple[str, ...]) -> dict[str, Any]:
    try:
        body = json.loads(await request.body(), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, f"The request body is not valid JSON: {error}") from error
    if not isinstance(body, dict):
        raise RefusedError(400, "The request body must be a JSON object.")
    for name in required:
        if name not in body:
            raise RefusedError(400, f"Missing required parameter: {name!r}.", param=name)
    if not isinstance(body["model"], str):
        raise RefusedError(400, "The parameter 'model' must be a string.", param="model")
    return body


def _no_number(word: str) -> None:
    # Python reads NaN and Infinity, which JSON does not have and which no client could send on.
    raise ValueError(f"{word} is not a JSON value")


def _route(request: Request, name: str) -> tuple[str, Clients, str]:
    known: dict[str, Clients] = request.state.clients
    provider, _, model = name.partition("/")
    if provider in NOT_SERVED:
        text = f"The model {name!r} is not served: the provider {provider!r} {NOT_SERVED[provider]}."
        raise RefusedError(404, text, code="model_not_found")
    if provider not in known or not model:
        text = f"The model {name!r} does not exist: models are named provider/model, with a provider out of: "
        raise RefusedError(404, text + (", ".join(known) or "(none is configured)"), code="model_not_found")
    return provider, known[provider], model


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


def _anthropic(clients: Clients) -> Any:
    if clients.anthropic is None:
        raise RefusedError(404, f"The provider {clients.provider.name!r} does not offer /v1/messages.")
    return clients.anthropic


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - by registration
    text = f"{request.method} {request.url.path}: {error.detail}"
    return JSONResponse(error_body(Dialect.OPENAI, error.status_code, text), status_code=error.status_code)
