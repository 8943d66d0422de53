"""Ollama's own API (https://docs.ollama.com/api), passed on through its client: plain, and streamed line by line.

As there, `/api/chat` and `/api/generate` stream unless they are told not to.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing
from typing import Any

import httpx
import ollama
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from reference_stack.answers import AnsweredError, Dialect, NoAnswerError, RefusedError, error_event, no_answer
from reference_stack.asked import body_of, late_of, provider_of
from reference_stack.clients import Clients
from reference_stack.relay import Streamed, while_client_waits

_NO_ANSWER = (httpx.HTTPError, ConnectionError)


async def chat(request: Request) -> Response:
    """`POST /api/chat`."""
    return await _passed(request, "chat", ("model", "messages"), streams=True)


async def generate(request: Request) -> Response:
    """`POST /api/generate`."""
    return await _passed(request, "generate", ("model",), streams=True)


async def embed(request: Request) -> Response:
    """`POST /api/embed`."""
    return await _passed(request, "embed", ("model", "input"), streams=False)


async def tags(request: Request) -> Response:
    """`GET /api/tags`: the models that there are."""
    return await _listed(request, "list")


async def ps(request: Request) -> Response:
    """`GET /api/ps`: the models that are loaded."""
    return await _listed(request, "ps")


async def _passed(request: Request, method: str, required: tuple[str, ...], *, streams: bool) -> Response:
    body = await body_of(request, required)
    name, clients, model = provider_of(request, body["model"])
    if not clients.provider.ollama:
        raise RefusedError(404, f"The provider {name!r} does not offer {request.url.path}.")
    call = getattr(await late_of(request).ollama(clients.provider), method)
    for field in body:
        if field not in inspect.signature(call).parameters:
            raise RefusedError(400, f"The parameter {field!r} is not known.")
    streamed = streams and body.get("stream") is not False
    arguments = {**body, "model": model, **({"stream": streamed} if streams else {})}
    try:
        answer = await while_client_waits(request, call(**arguments))
        if not streamed:
            return Response(_text(answer), media_type="application/json")
        async with AsyncExitStack() as stack:
            answers = await stack.enter_async_context(aclosing(answer))
            # The request goes out with the first line, and an error in its place has a status of its own.
            first = await while_client_waits(request, anext(answers, None))
            lines = _lines(first, answers, name)
            return Streamed(lines, upstream=stack.pop_all(), media_type="application/x-ndjson")
    except ollama.ResponseError as error:
        raise _told(error) from error
    except (ValidationError, TypeError) as error:
        raise RefusedError(400, f"Ollama cannot be asked this: {error}") from error
    except _NO_ANSWER as error:
        raise NoAnswerError(timed_out=isinstance(error, httpx.TimeoutException)) from error


async def _listed(request: Request, method: str) -> Response:
    """Of every provider that has this API, by the names that they have here."""
    await request.body()  # else what comes next is not that the client has left
    every: dict[str, Clients] = request.state.clients
    models: list[dict[str, Any]] = []
    for name, clients in every.items():
        if not clients.provider.ollama:
            continue
        request.state.provider = name
        client = await late_of(request).ollama(clients.provider)
        try:
            answer = await while_client_waits(request, getattr(client, method)())
        except ollama.ResponseError as error:
            raise _told(error) from error
        except _NO_ANSWER as error:
            raise NoAnswerError(timed_out=isinstance(error, httpx.TimeoutException)) from error
        for model in json.loads(_text(answer))["models"]:
            known = f"{name}/{model.get('model') or model.get('name')}"
            models.append({**model, "name": known, "model": known})
    return JSONResponse({"models": models})


async def _lines(first: Any, answers: Any, provider: str) -> AsyncIterator[bytes]:
    try:
        answer = first
        while answer is not None:
            yield _text(answer) + b"\n"
            answer = await anext(answers, None)
    except ollama.ResponseError as error:
        yield json.dumps({"error": _message(error)}).encode() + b"\n"
    except (*_NO_ANSWER, ValueError) as error:
        yield error_event(Dialect.OLLAMA, no_answer(provider, error))


def _text(answer: Any) -> bytes:
    text: str = answer.model_dump_json(exclude_unset=True)
    return text.encode()


def _told(error: ollama.ResponseError) -> AnsweredError:
    status = error.status_code if error.status_code >= 400 else 502  # -1: it came in an answer that had begun
    return AnsweredError(status, json.dumps({"error": _message(error)}).encode())


def _message(error: ollama.ResponseError) -> str:
    told: Any = error.error
    return str(told.get("message", told)) if isinstance(told, dict) else str(told)
