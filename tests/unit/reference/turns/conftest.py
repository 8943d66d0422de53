"""A gateway before a provider that does as it is told, and what its turns tell."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from stackproof.stack.inprocess import InProcessApp

Gateway = Callable[..., httpx2.Client]


Step = list[dict[str, Any]] | Response


ENVIRON = {"OLLAMA_URL": "http://ollama.invalid/v1", "REFERENCE_EMBEDDING_MODEL": "ollama/e"}


FUNCTION = {"type": "function", "name": "f", "parameters": {"type": "object"}}


WEATHER = {"type": "mcp", "server_label": "weather", "require_approval": "never"}


USAGE = {
    "input_tokens": 2,
    "input_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 0},
    "output_tokens": 1,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 3,
}


def message(text: str = "Hello.") -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": "msg_p", "status": "completed", "role": "assistant", "content": [part]}


def call(name: str = "f", arguments: str = "{}", call_id: str = "call_1") -> dict[str, Any]:
    told = {"call_id": call_id, "name": name, "arguments": arguments}
    return {"type": "function_call", "id": f"fc_{call_id}", "status": "completed", **told}


def event(told: dict[str, Any]) -> bytes:
    return f"event: {told['type']}\ndata: {json.dumps(told)}\n\n".encode()


class Provider:
    """Answers step by step with the items of a script, plain or streamed as it is asked to; the last step repeats.

    last: the event (or the status) that ends an answer. stall: it sends one more delta and then nothing.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = [[message()]]
        self.last = "completed"
        self.stall = False
        self.asked: list[dict[str, Any]] = []
        self.left = threading.Event()
        self.app = Starlette(routes=[Route("/v1/responses", self.answer, methods=["POST"])])

    async def answer(self, request: Request) -> Response:
        self.asked.append(await request.json())
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        if isinstance(step, Response):
            return step
        if self.asked[-1].get("stream"):
            return StreamingResponse(self.events(step), media_type="text/event-stream")
        if self.stall:
            try:
                await asyncio.sleep(60)
            finally:
                self.left.set()
        return JSONResponse(self.response(step))

    async def events(self, items: list[dict[str, Any]]) -> AsyncIterator[bytes]:
        yield event({"type": "response.created", "response": {"id": "resp_p"}})
        for item in items:
            for part in item.get("content", []):
                for piece in (part["text"][:3], part["text"][3:]):
                    yield event({"type": "response.output_text.delta", "delta": piece})
            if self.stall:
                try:
                    await asyncio.sleep(60)
                finally:
                    self.left.set()
            yield event({"type": "response.output_item.done", "item": item})
        if self.last != "nothing":
            yield event({"type": f"response.{self.last}", "response": self.response(items)})

    def response(self, items: list[dict[str, Any]]) -> dict[str, Any]:
        details = {"reason": "max_output_tokens"} if self.last == "incomplete" else None
        error = {"code": "server_error", "message": "out of memory"} if self.last == "failed" else None
        told = {"id": "resp_p", "object": "response", "status": self.last, "error": error}
        return {**told, "incomplete_details": details, "output": items, "usage": USAGE}


@pytest.fixture
def provider() -> Provider:
    return Provider()


@pytest.fixture
def start(provider: Provider, gateway: Gateway) -> Iterator[Callable[..., httpx2.Client]]:
    with ExitStack() as stack:
        running = stack.enter_context(InProcessApp(provider.app, close_grace=1.0))

        def started(**environ: str) -> httpx2.Client:
            return gateway(running.async_transport(), {**ENVIRON, **environ})

        yield started


@pytest.fixture
def client(start: Callable[..., httpx2.Client]) -> httpx2.Client:
    return start()


def ask(client: httpx2.Client, *tools: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    response = client.post("/v1/responses", json={"model": "ollama/m", "input": "Hi.", "tools": list(tools), **more})
    assert response.status_code == 200, response.text
    return dict(response.json())


def told(client: httpx2.Client, *tools: Mapping[str, Any], **more: Any) -> list[dict[str, Any]]:
    """The events of a streamed answer."""
    body = {"model": "ollama/m", "input": "Hi.", "tools": list(tools), "stream": True, **more}
    response = client.post("/v1/responses", json=body)
    assert response.headers["content-type"].startswith("text/event-stream"), response.text
    blocks = response.text.split("\n\n")[:-1]
    events = [json.loads(block.partition("data: ")[2]) for block in blocks]
    assert [f"event: {one['type']}" for one in events] == [block.partition("\n")[0] for block in blocks]
    assert [one["sequence_number"] for one in events] == list(range(len(events)))
    ends = {"response.completed", "response.failed", "response.incomplete"}
    assert [one["type"] in ends for one in events] == [False] * (len(events) - 1) + [True]
    return events


def types(events: list[dict[str, Any]]) -> list[str]:
    return [one["type"].removeprefix("response.") for one in events]
