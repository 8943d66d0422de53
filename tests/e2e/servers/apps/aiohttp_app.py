"""An aiohttp.web application that asks a provider through OpenAI's SDK, plain and streamed in both of its ways."""

# mypy: ignore-errors
# It runs under the server, with packages that need not be here.

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator

from aiohttp import web
from openai import AsyncOpenAI, OpenAI

VERSION = "first"
_WHERE = {"base_url": os.environ["LLM_URL"], "api_key": os.environ["LLM_KEY"]}


async def _ask(say: str) -> str:
    async with AsyncOpenAI(**_WHERE) as client:
        messages = [{"role": "user", "content": say}]
        answer = await client.chat.completions.create(model="m", messages=messages)
    return str(answer.choices[0].message.content)


async def _events(say: str) -> AsyncIterator[bytes]:
    async with AsyncOpenAI(**_WHERE) as client:
        messages = [{"role": "user", "content": say}]
        parts = await client.chat.completions.create(model="m", messages=messages, stream=True)
        async for part in parts:
            yield json.dumps(part.choices[0].delta.content).encode() + b"\n"


async def health(_: web.Request) -> web.Response:
    return web.json_response({"pid": os.getpid(), "version": VERSION})


async def seen(request: web.Request) -> web.Response:
    headers = [[name.lower(), value] for name, value in request.headers.items()]
    raw = [[name.decode().lower(), value.decode("latin-1")] for name, value in request.raw_headers]
    return web.json_response({"headers": headers, "raw": raw, "pid": os.getpid()})


async def ask(request: web.Request) -> web.Response:
    return web.json_response({"text": await _ask(request.query["say"]), "pid": os.getpid()})


async def sync(request: web.Request) -> web.Response:
    def answer() -> str | None:
        with OpenAI(**_WHERE) as client:
            messages = [{"role": "user", "content": request.query["say"]}]
            found = client.chat.completions.create(model="m", messages=messages)
        text: str | None = found.choices[0].message.content
        return text

    return web.json_response({"text": await asyncio.to_thread(answer), "pid": os.getpid()})


async def stream(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    async for line in _events(request.query["say"]):
        await response.write(line)
    await response.write_eof()
    return response


async def lazy(request: web.Request) -> web.Response:
    return web.Response(body=_events(request.query["say"]))


async def talk(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    async for message in socket:
        if message.data == "bye":
            break
        await socket.send_str(await _ask(message.data))
    await socket.close()
    return socket


async def create() -> web.Application:
    made = web.Application()
    made.add_routes([web.get(f"/{view.__name__}", view) for view in (health, seen, ask, sync, stream, lazy, talk)])
    return made


if __name__ == "__main__":
    web.run_app(create(), host="127.0.0.1", port=int(sys.argv[1]), print=None)
