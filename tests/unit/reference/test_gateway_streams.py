"""Streams go through the gateway event by event, and a client that leaves closes the provider's connection."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from stackproof.stack.inprocess import InProcessApp

Gateway = Callable[..., httpx2.Client]

BODY = {"model": "ollama/m", "messages": [], "stream": True}


class Provider:
    """Sends one event for each permission of the test; notes when its reader has left."""

    def __init__(self) -> None:
        self.permits = threading.Semaphore(0)
        self.asked = threading.Event()
        self.left = threading.Event()
        self.app = Starlette(routes=[Route("/v1/chat/completions", self.chat, methods=["POST"])])

    async def chat(self, request: Request) -> Response:
        self.asked.set()
        if (await request.json())["model"] == "silent":
            try:
                await asyncio.sleep(60)
            finally:
                self.left.set()
        return StreamingResponse(self.events(), media_type="text/event-stream")

    async def events(self) -> AsyncIterator[str]:
        try:
            for number in range(100):
                while not self.permits.acquire(blocking=False):  # noqa: ASYNC110 - the permission comes from a thread
                    await asyncio.sleep(0.002)
                yield f"data: {number}\n\n"
        finally:
            self.left.set()


@pytest.fixture
def provider() -> Provider:
    return Provider()


@pytest.fixture
def client(provider: Provider, gateway: Gateway) -> Iterator[httpx2.Client]:
    with InProcessApp(provider.app, close_grace=1.0) as running:
        yield gateway(running.async_transport())


def test_each_event_arrives_before_the_next_one_is_sent(client: httpx2.Client, provider: Provider) -> None:
    with client.stream("POST", "/v1/chat/completions", json=BODY) as response:
        assert response.status_code == 200, "the head comes before any event"
        chunks = response.iter_text()
        for number in range(5):
            provider.permits.release()
            assert next(chunks) == f"data: {number}\n\n"


def test_leaving_a_stream_closes_the_providers(client: httpx2.Client, provider: Provider) -> None:
    with client.stream("POST", "/v1/chat/completions", json=BODY) as response:
        chunks = response.iter_text()  # kept: an iterator that is dropped closes the response
        provider.permits.release()
        assert next(chunks) == "data: 0\n\n"
        assert not provider.left.is_set()
    assert provider.left.wait(60)


def test_leaving_before_the_first_event_closes_it_too(client: httpx2.Client, provider: Provider) -> None:
    with client.stream("POST", "/v1/chat/completions", json=BODY):
        assert provider.asked.wait(60)
    assert provider.left.wait(60)


@pytest.mark.parametrize("streamed", [False, True])
def test_leaving_before_the_answer_closes_the_providers_connection(
    client: httpx2.Client, provider: Provider, streamed: bool
) -> None:
    body = {**BODY, "model": "ollama/silent", "stream": streamed}
    for patience in (0.3, 3.0, 30.0):
        with pytest.raises(httpx2.ReadTimeout):
            client.post("/v1/chat/completions", json=body, timeout=patience)
        if provider.asked.is_set():  # or the machine was too slow for this one
            break
    assert provider.asked.is_set()
    assert provider.left.wait(60)
