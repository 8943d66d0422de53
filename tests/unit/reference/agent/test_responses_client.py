"""The client of the model against a real HTTP server on the loopback interface."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import openai
import pytest

from reference_stack.agent.cancel import CancelToken, unless_cancelled
from reference_stack.agent.failures import (
    DamagedStreamError,
    IncompleteAnswerError,
    ModelError,
    ModelStatusError,
    ModelUnreachableError,
    ProviderEventError,
    TurnCancelledError,
    UnfinishedStreamError,
)
from reference_stack.agent.items import user_message
from reference_stack.agent.model import Completed, Message, ModelEvent, ModelRequest, TextDelta, ToolSpec
from reference_stack.agent.responses_client import ResponsesClient

MESSAGE = {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "Hällo."}]}
WHOLE = {"id": "resp_1", "object": "response", "status": "completed", "output": [MESSAGE], "usage": {"total_tokens": 3}}
EVENTS: list[ModelEvent] = [
    TextDelta(text="Häl"),
    TextDelta(text="lo."),
    Message(text="Hällo.", items=(MESSAGE,)),
    Completed(response_id="resp_1", usage={"total_tokens": 3}),
]


def event(told: dict[str, Any]) -> bytes:
    return f"event: {told['type']}\ndata: {json.dumps(told, ensure_ascii=False)}\n\n".encode()


STREAM = [
    event({"type": "response.created", "response": {"id": "resp_1"}}),
    event({"type": "response.output_text.delta", "delta": "Häl"}),
    event({"type": "response.output_text.delta", "delta": "lo."}),
    event({"type": "response.output_item.done", "item": MESSAGE}),
    event({"type": "response.completed", "response": WHOLE}),
]


class Provider:
    """Answers one request as `answer` says; notes what it was asked, and that its caller has gone."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.answer: Callable[[Handler], None] = stream(*STREAM)
        self.url = ""
        self.left = threading.Event()
        self.reached = threading.Event()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    provider: Provider

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.provider.asked.append((self.path, body))
        self.provider.reached.set()
        self.close_connection = True
        self.provider.answer(self)

    def head(self, status: int, kind: str, **headers: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.flush()

    def chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def until_the_caller_left(self) -> None:
        self.connection.settimeout(60)
        if self.connection.recv(1) == b"":
            self.provider.left.set()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        pass


def stream(
    *pieces: bytes, whole: bool = True, kind: str = "text/event-stream; charset=utf-8"
) -> Callable[[Handler], None]:
    def answer(handler: Handler) -> None:
        handler.head(200, kind, transfer_encoding="chunked")
        for piece in pieces:
            handler.chunk(piece)
        if whole:
            handler.wfile.write(b"0\r\n\r\n")

    return answer


def plain(value: Any, status: int = 200) -> Callable[[Handler], None]:
    content = value if isinstance(value, bytes) else json.dumps(value).encode()

    def answer(handler: Handler) -> None:
        handler.head(status, "application/json", content_length=str(len(content)))
        handler.wfile.write(content)

    return answer


def stalled(*pieces: bytes, head: bool = True) -> Callable[[Handler], None]:
    def answer(handler: Handler) -> None:
        if head:
            handler.head(200, "text/event-stream", transfer_encoding="chunked")
        for piece in pieces:
            handler.chunk(piece)
        handler.until_the_caller_left()

    return answer


@pytest.fixture
def provider() -> Iterator[Provider]:
    played = Provider()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Played", (Handler,), {"provider": played}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    played.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield played
    finally:
        server.shutdown()
        server.server_close()
        thread.join(60)


REQUEST = ModelRequest(
    model="m",
    instructions="Be kind.",
    history=(user_message("hi"),),
    tools=(ToolSpec(name="t", description="d", parameters={"type": "object"}),),
    step=0,
    tool_generation=1,
    options={"temperature": 0, "store": False},
)


async def read(
    url: str, *, streamed: bool = True, cancel: CancelToken | None = None, seen: list[ModelEvent] | None = None
) -> list[ModelEvent]:
    found: list[ModelEvent] = [] if seen is None else seen
    async with openai.AsyncOpenAI(base_url=url, api_key="none", timeout=60) as client:
        model = ResponsesClient(client, provider="played", streamed=streamed)
        async for event in model.stream(REQUEST, cancel or CancelToken()):
            found.append(event)  # noqa: PERF401 - what came before an error is looked at
    return found


def ask(provider: Provider, *, streamed: bool = True, seen: list[ModelEvent] | None = None) -> list[ModelEvent]:
    return asyncio.run(asyncio.wait_for(read(provider.url, streamed=streamed, seen=seen), 120))


def test_a_streamed_answer_and_what_was_asked_for(provider: Provider) -> None:
    assert ask(provider) == EVENTS
    told = {"type": "function", "name": "t", "description": "d", "parameters": {"type": "object"}, "strict": False}
    body = {
        "model": "m",
        "instructions": "Be kind.",
        "input": [user_message("hi")],
        "tools": [told],
        "temperature": 0,
        "store": False,
        "stream": True,
    }
    assert provider.asked == [("/v1/responses", body)]


def test_an_answer_in_one_piece(provider: Provider) -> None:
    provider.answer = plain(WHOLE)
    assert ask(provider, streamed=False) == [TextDelta(text="Hällo."), *EVENTS[2:]]
    assert "stream" not in provider.asked[0][1]


def test_edges_of_the_network_make_no_difference(provider: Provider) -> None:
    data = b"".join(STREAM)
    provider.answer = stream(*(data[at : at + 7] for at in range(0, len(data), 7)))
    assert ask(provider) == EVENTS


BROKEN: list[tuple[str, Callable[[Handler], None], type[ModelError], str]] = [
    ("cut between events", stream(*STREAM[:3], whole=False), UnfinishedStreamError, "broke off"),
    ("cut in an event", stream(*STREAM[:3], STREAM[3][:20], whole=False), UnfinishedStreamError, "broke off"),
    ("ended too early", stream(*STREAM[:4]), UnfinishedStreamError, "whole"),
    ("ended in an event", stream(*STREAM[:4], STREAM[4][:-1]), UnfinishedStreamError, "middle of an event"),
    ("nothing", stream(), UnfinishedStreamError, "whole"),
    ("no UTF-8", stream(STREAM[0], b"data: \xff\n\n"), DamagedStreamError, "UTF-8"),
    ("no JSON", stream(STREAM[0], b"data: {\n\n"), DamagedStreamError, "JSON"),
    ("an event lost", stream(STREAM[0], STREAM[4]), DamagedStreamError, "other items"),
    ("no stream", plain(WHOLE), DamagedStreamError, "application/json"),
    ("a page", stream(b"<html>", kind="text/html"), DamagedStreamError, "text/html"),
    ("error", stream(STREAM[0], event({"type": "error", "message": "gone"})), ProviderEventError, "gone"),
    (
        "failed",
        stream(STREAM[0], event({"type": "response.failed", "response": {"error": {"message": "gone"}}})),
        ProviderEventError,
        "gone",
    ),
    (
        "incomplete",
        stream(*STREAM[:3], event({"type": "response.incomplete", "response": {}})),
        IncompleteAnswerError,
        "not whole",
    ),
    ("refused by status", plain({"error": {"message": "slow down"}}, 429), ModelStatusError, "429: slow down"),
    ("refused in no JSON", plain(b"oh no", 500), ModelStatusError, "500: oh no"),
]


@pytest.mark.parametrize(("answer", "kind", "word"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_what_is_no_whole_answer_is_an_error_and_never_completed(
    provider: Provider, answer: Callable[[Handler], None], kind: type[ModelError], word: str
) -> None:
    provider.answer = answer
    seen: list[ModelEvent] = []
    with pytest.raises(kind, match=word):
        ask(provider, seen=seen)
    assert not any(isinstance(found, Completed) for found in seen)
    assert len(provider.asked) == 1, "it does not try again"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (plain(b"{"), DamagedStreamError),
        (plain(b"[]"), DamagedStreamError),
        (plain({**WHOLE, "status": "failed", "error": {"message": "gone"}}), ProviderEventError),
        (plain({"error": {"message": "no"}}, 400), ModelStatusError),
    ],
)
def test_an_answer_in_one_piece_that_is_none(
    provider: Provider, answer: Callable[[Handler], None], kind: type[ModelError]
) -> None:
    provider.answer = answer
    with pytest.raises(kind):
        ask(provider, streamed=False)


def test_a_status_keeps_its_body(provider: Provider) -> None:
    provider.answer = plain({"error": {"message": "no"}}, 404)
    with pytest.raises(ModelStatusError) as caught:
        ask(provider)
    assert (caught.value.status, caught.value.body) == (404, {"error": {"message": "no"}})


def test_nobody_there_is_an_error_by_name() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]  # whose it is, and who does not listen
        with pytest.raises(ModelUnreachableError, match="'played' gave no answer"):
            asyncio.run(asyncio.wait_for(read(f"http://127.0.0.1:{port}/v1"), 120))


def test_a_connection_that_is_lost_after_the_last_event_loses_nothing(provider: Provider) -> None:
    provider.answer = stream(*STREAM, whole=False)
    assert ask(provider) == EVENTS


def test_the_token_is_looked_at_between_events(provider: Provider) -> None:
    seen: list[ModelEvent] = []

    async def cancelling_at_the_first() -> None:
        cancel = CancelToken()
        async with openai.AsyncOpenAI(base_url=provider.url, api_key="none") as client:
            async for event in ResponsesClient(client, provider="played").stream(REQUEST, cancel):
                seen.append(event)
                cancel.cancel("enough")

    with pytest.raises(TurnCancelledError, match="enough"):
        asyncio.run(asyncio.wait_for(cancelling_at_the_first(), 120))
    assert seen == EVENTS[:1]


@pytest.mark.parametrize(
    "answer", [stalled(head=False), stalled(), stalled(*STREAM[:2])], ids=["no head", "no event", "in between"]
)
def test_a_cancelled_reader_closes_the_connection(provider: Provider, answer: Callable[[Handler], None]) -> None:
    provider.answer = answer

    async def work() -> None:
        cancel = CancelToken()

        async def interrupt() -> None:
            await asyncio.to_thread(provider.reached.wait, 60)
            await asyncio.sleep(0.05)
            cancel.cancel("enough")

        interrupting = asyncio.create_task(interrupt())
        with pytest.raises(TurnCancelledError, match="enough"):
            await unless_cancelled(read(provider.url, cancel=cancel), cancel)
        await interrupting

    asyncio.run(asyncio.wait_for(work(), 120))
    assert provider.left.wait(60)
