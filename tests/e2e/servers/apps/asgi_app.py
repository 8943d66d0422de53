"""An ASGI application that asks a provider through OpenAI's SDK, async and sync, plain and streamed."""

# mypy: ignore-errors
# It runs under the server, with packages that need not be here.

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator

from openai import AsyncOpenAI, OpenAI
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

VERSION = "first"
_WHERE = {"base_url": os.environ["LLM_URL"], "api_key": os.environ["LLM_KEY"]}


async def _ask(say: str) -> str | None:
    async with AsyncOpenAI(**_WHERE) as client:
        messages = [{"role": "user", "content": say}]
        answer = await client.chat.completions.create(model="m", messages=messages)
    text: str | None = answer.choices[0].message.content
    return text


async def health(_: Request) -> JSONResponse:
    return JSONResponse({"pid": os.getpid(), "version": VERSION})


async def seen(request: Request) -> JSONResponse:
    headers = [[name.decode(), value.decode("latin-1")] for name, value in request.scope["headers"]]
    return JSONResponse({"headers": headers, "pid": os.getpid()})


async def ask(request: Request) -> JSONResponse:
    return JSONResponse({"text": await _ask(request.query_params["say"]), "pid": os.getpid()})


def sync(request: Request) -> JSONResponse:
    with OpenAI(**_WHERE) as client:
        messages = [{"role": "user", "content": request.query_params["say"]}]
        answer = client.chat.completions.create(model="m", messages=messages)
    return JSONResponse({"text": answer.choices[0].message.content, "pid": os.getpid()})


async def later(request: Request) -> JSONResponse:
    return JSONResponse({"text": "later"}, background=BackgroundTask(_ask, request.query_params["say"]))


async def stream(request: Request) -> StreamingResponse:
    say = request.query_params["say"]

    async def events() -> AsyncIterator[str]:
        async with AsyncOpenAI(**_WHERE) as client:
            messages = [{"role": "user", "content": say}]
            parts = await client.chat.completions.create(model="m", messages=messages, stream=True)
            async for part in parts:
                yield json.dumps(part.choices[0].delta.content) + "\n"

    return StreamingResponse(events(), media_type="application/x-ndjson")


async def talk(socket: WebSocket) -> None:
    await socket.accept()
    while True:
        say = await socket.receive_text()
        if say == "bye":
            break
        await socket.send_text(await _ask(say) or "")
    await socket.close()


views = (health, seen, ask, sync, later, stream)
app = Starlette(routes=[*(Route(f"/{view.__name__}", view) for view in views), WebSocketRoute("/talk", talk)])
