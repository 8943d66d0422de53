"""The proxy in front of the llama.cpp servers, against fake upstreams on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

import pytest

from front import SERVER, Deadlines, Forward, Front, Health, Models, Route, UnknownModel, Upstreams, route

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
TEXT, TOOLS = "smollm2:135m", "stackproof-scripted-tools"
LIMIT = 10.0  # seconds for any one test


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(LIMIT):
            await coroutine

    asyncio.run(bounded())


@contextlib.asynccontextmanager
async def listening(handler: Handler) -> AsyncIterator[int]:
    async def closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    server = await asyncio.start_server(closing, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        # Handlers must have ended by themselves: whatever still runs would be a leak of the front.
        await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def fronted(
    text: Handler, tools: Handler | None = None, *, api_key: str | None = None, deadlines: Deadlines | None = None
) -> AsyncIterator[int]:
    front = Front(api_key=api_key, deadlines=deadlines)
    async with listening(text) as first, listening(tools or text) as second, listening(front) as port:
        front.upstreams = Upstreams(ports={TEXT: first, TOOLS: second}, default=TEXT)
        yield port


@contextlib.asynccontextmanager
async def asked(port: int, raw: bytes) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(raw)
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def answer(port: int, raw: bytes) -> bytes:
    async with asked(port, raw) as (reader, _):
        return await reader.read()


def post(body: object, *lines: str, path: str = "/v1/chat/completions") -> bytes:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = [f"POST {path} HTTP/1.1", "Host: provider", f"Content-Length: {len(raw)}", *lines]
    return "\r\n".join([*head, "", ""]).encode() + raw


def says(body: bytes, status: bytes = b"200 OK") -> Handler:
    """An upstream that reads a head and answers; a body of the request goes unread."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 %s\r\nServer: fake\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body))
        await writer.drain()

    return handler


def keeps(into: list[bytes]) -> Handler:
    """An upstream that keeps the request it was sent."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        into.append(head + await reader.readexactly(length))
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")

    return handler


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("POST", "/v1/chat/completions", {"model": TEXT}, Forward(TEXT)),
        ("POST", "/v1/embeddings", {"model": TEXT}, Forward(TEXT)),
        ("POST", "/v1/messages", {"model": TOOLS}, Forward(TOOLS)),
        ("POST", "/v1/responses", {"model": "gpt-4o"}, UnknownModel("gpt-4o")),
        ("POST", "/v1/chat/completions", {"model": ""}, UnknownModel("")),
        ("POST", "/v1/chat/completions", {}, Forward(TEXT)),
        ("POST", "/v1/chat/completions", {"model": 7}, Forward(TEXT)),
        ("POST", "/v1/chat/completions", [TOOLS], Forward(TEXT)),
        ("POST", "/v1/chat/completions", b'{"model": "stackproof', Forward(TEXT)),
        ("POST", "/v1/chat/completions", b"\xff\xfe", Forward(TEXT)),
        ("POST", "/v1/chat/completions", b"[" * 100_000, Forward(TEXT)),
        ("GET", "/v1/models", b"", Models()),
        ("GET", "/health", b"", Health()),
        ("GET", "/v1/nothing", b"", Forward(TEXT)),
        ("POST", "/v1/models", b"", Forward(TEXT)),
    ],
)
def test_model_and_path_decide_where_a_request_goes(method: str, path: str, body: object, expected: Route) -> None:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    assert route(method, path, raw, Upstreams(ports={TEXT: 1, TOOLS: 2}, default=TEXT)) == expected


def test_each_model_is_answered_by_its_own_server() -> None:
    async def scenario() -> None:
        async with fronted(says(b"text"), says(b"tools")) as port:
            assert (await answer(port, post({"model": TEXT}))).endswith(b"text")
            assert (await answer(port, post({"model": TOOLS}))).endswith(b"tools")

    run(scenario())


def test_answer_passes_byte_for_byte_but_for_hop_by_hop_headers() -> None:
    body = b"5;x=y\r\nhello\r\n0\r\nX-Trailer: yes\r\n\r\n"

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 418 I'm a teapot\r\nserver:  llama.cpp\r\nKeep-Alive: timeout=5\r\nX-Hop: 1\r\n")
        writer.write(b"Connection: keep-alive, x-hop\r\nTransfer-Encoding: chunked\r\nX-Other: \xe9\r\n\r\n" + body)

    async def scenario() -> None:
        async with fronted(upstream) as port:
            assert await answer(port, post({})) == (
                b"HTTP/1.1 418 I'm a teapot\r\nserver:  llama.cpp\r\nTransfer-Encoding: chunked\r\nX-Other: \xe9\r\n"
                b"Connection: close\r\n\r\n" + body
            )

    run(scenario())


def test_request_passes_byte_for_byte_but_for_hop_by_hop_headers() -> None:
    kept: list[bytes] = []

    async def scenario() -> None:
        async with fronted(keeps(kept)) as port:
            await answer(port, post(b' {"a" : 1}', "X-Key: Value", "Connection: keep-alive", "TE: trailers"))

    run(scenario())
    expected = b"POST /v1/chat/completions HTTP/1.1\r\nHost: provider\r\nContent-Length: 10\r\nX-Key: Value\r\n"
    assert kept == [expected + b'Connection: close\r\n\r\n {"a" : 1}']


@pytest.mark.parametrize(
    ("path", "onward"),
    [
        ("/for/openai/v1/chat/completions", "/v1/chat/completions"),
        ("/for/anthropic/v1/messages?beta=true", "/v1/messages?beta=true"),
        ("/for/", "/for/"),
        ("/v1/for/a/b", "/v1/for/a/b"),
    ],
)
def test_the_name_of_a_provider_before_the_path_is_not_passed_on(path: str, onward: str) -> None:
    kept: list[bytes] = []

    async def scenario() -> None:
        async with fronted(keeps(kept)) as port:
            await answer(port, post({}, path=path))

    run(scenario())
    assert kept[0].startswith(f"POST {onward} HTTP/1.1\r\n".encode())


def test_models_and_health_are_answered_below_the_name_of_a_provider() -> None:
    async def scenario() -> None:
        async with fronted(says(b'{"data": [1]}'), says(b'{"data": [2]}')) as port:
            listed = await answer(port, b"GET /for/openai/v1/models HTTP/1.1\r\nHost: p\r\n\r\n")
            assert listed.endswith(b'{"data":[1,2],"models":[]}')

    run(scenario())


def test_chunked_request_body_is_read_for_its_model_and_sent_on_with_its_length() -> None:
    kept: list[bytes] = []
    raw = json.dumps({"model": TOOLS}).encode()
    chunks = b"%x\r\n%s\r\n%x;a\r\n%s\r\n0\r\nX-Trailer: 1\r\n\r\n" % (3, raw[:3], len(raw) - 3, raw[3:])

    async def scenario() -> None:
        async with fronted(says(b"wrong"), keeps(kept)) as port:
            await answer(port, b"POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)

    run(scenario())
    head = b"POST /v1/messages HTTP/1.1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(raw)
    assert kept == [head + raw]


def test_client_that_waits_for_leave_to_send_its_body_gets_it() -> None:
    kept: list[bytes] = []

    async def scenario() -> None:
        head = b"POST /v1/x HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        async with fronted(keeps(kept)) as port, asked(port, head) as (reader, writer):
            assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
            writer.write(b"{}")
            assert (await reader.read()).startswith(b"HTTP/1.1 204")

    run(scenario())
    assert b"Expect" not in kept[0]


def test_each_piece_of_a_stream_arrives_before_the_next_is_made() -> None:
    pieces = [b"data: %d\n\n" % number for number in range(5)]

    async def scenario() -> None:
        taken = asyncio.Event()

        async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            for piece in pieces:
                await taken.wait()
                taken.clear()
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await taken.wait()
            writer.write(b"0\r\n\r\n")

        async with fronted(upstream) as port, asked(port, post({"model": TEXT})) as (reader, _):
            await reader.readuntil(b"\r\n\r\n")
            for piece in pieces:
                taken.set()
                edge = b"%x\r\n%s\r\n" % (len(piece), piece)
                assert await reader.readexactly(len(edge)) == edge
            taken.set()
            assert await reader.read() == b"0\r\n\r\n"

    run(scenario())


@pytest.mark.parametrize("begins", [b"", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"])
def test_caller_who_leaves_early_frees_the_server(begins: bytes) -> None:
    async def scenario() -> None:
        asked_upstream, left = asyncio.Event(), asyncio.Event()

        async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(begins)
            asked_upstream.set()
            with contextlib.suppress(OSError):
                while await reader.read(1000):
                    pass
            left.set()

        async with fronted(upstream) as port:
            async with asked(port, post({"model": TEXT})) as (reader, _):
                await asked_upstream.wait()
                await reader.readexactly(min(1, len(begins)))
            async with asyncio.timeout(1):
                await left.wait()

    run(scenario())


@pytest.mark.parametrize(
    "dies", [b"", b"HTTP/1.1 200", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe"]
)
def test_server_that_dies_shows_as_a_broken_connection_not_as_an_invented_answer(dies: bytes) -> None:
    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(dies)
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.transport.abort()

    async def scenario() -> None:
        got = b""
        async with fronted(upstream) as port:
            with contextlib.suppress(ConnectionError):
                got = await answer(port, post({"model": TEXT}))
        assert not got.endswith(b"0\r\n\r\n")
        assert b"server" not in got

    run(scenario())


def test_silent_server_ends_at_the_deadline() -> None:
    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while await reader.read(1000):
                pass

    async def scenario() -> None:
        async with fronted(upstream, deadlines=Deadlines(silence=0.2)) as port:
            with pytest.raises(ConnectionResetError):
                await answer(port, post({"model": TEXT}))

    run(scenario())


def test_caller_who_never_finishes_a_request_is_cut_off_at_the_deadline() -> None:
    async def scenario() -> None:
        async with fronted(says(b""), deadlines=Deadlines(request=0.2)) as port:
            with pytest.raises(ConnectionResetError):
                await answer(port, b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 5\r\n\r\n{")

    run(scenario())


def test_until_the_models_are_loaded_the_front_says_so_in_its_own_name() -> None:
    async def scenario() -> None:
        async with listening(Front()) as port:
            head, _, body = (await answer(port, b"GET /health HTTP/1.1\r\n\r\n")).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ")
        assert f"server: {SERVER}".encode() in head
        assert json.loads(body)["error"]["message"] == "Loading model"

    run(scenario())


def test_unknown_model_is_refused_in_the_words_of_ollama_and_the_name_of_the_front() -> None:
    async def scenario() -> None:
        async with fronted(says(b"answered anyway")) as port:
            head, _, body = (await answer(port, post({"model": 'a"b'}))).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 404 Not Found")
        assert f"server: {SERVER}".encode() in head
        assert json.loads(body) == {
            "error": {
                "message": 'model "a"b" not found, try pulling it first',
                "type": "api_error",
                "param": None,
                "code": None,
            }
        }

    run(scenario())


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("Authorization: Bearer right", b"404"),
        ("x-api-key: right", b"404"),
        ("Authorization: Bearer wrong", b"401"),
        ("X-Nothing: 1", b"401"),
    ],
)
def test_unknown_model_with_a_wrong_key_is_refused_for_the_key_by_the_server(line: str, status: bytes) -> None:
    async def scenario() -> None:
        async with fronted(says(b"no", b"401 Unauthorized"), api_key="right") as port:
            assert (await answer(port, post({"model": "x"}, line))).startswith(b"HTTP/1.1 " + status)

    run(scenario())


def test_model_lists_are_joined_with_the_default_server_first() -> None:
    def listed(name: str) -> Handler:
        return says(json.dumps({"object": "list", "data": [{"id": name}], "models": [{"name": name}]}).encode())

    async def scenario() -> None:
        async with fronted(listed(TEXT), listed(TOOLS)) as port:
            head, _, body = (await answer(port, b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n")).partition(b"\r\n\r\n")
        assert f"Content-Length: {len(body)}".encode() in head
        assert json.loads(body) == {
            "object": "list",
            "data": [{"id": TEXT}, {"id": TOOLS}],
            "models": [{"name": TEXT}, {"name": TOOLS}],
        }

    run(scenario())


@pytest.mark.parametrize("path", ["/health", "/v1/models"])
def test_server_that_is_not_well_answers_for_all(path: str) -> None:
    async def scenario() -> None:
        async with fronted(says(b"{}"), says(b"loading", b"503 Service Unavailable")) as port:
            got = await answer(port, f"GET {path} HTTP/1.1\r\n\r\n".encode())
        assert got.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        assert got.endswith(b"loading")

    run(scenario())


def test_health_is_the_answer_of_the_default_server_when_all_are_well() -> None:
    async def scenario() -> None:
        async with fronted(says(b'{"status":"ok"}'), says(b"{}")) as port:
            assert (await answer(port, b"GET /health HTTP/1.1\r\n\r\n")).endswith(b'{"status":"ok"}')

    run(scenario())


def test_body_that_is_too_large_is_refused_before_it_is_read() -> None:
    async def scenario() -> None:
        async with fronted(says(b"")) as port:
            head = b"POST /v1/x HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n"
            assert (await answer(port, head)).startswith(b"HTTP/1.1 413 ")

    run(scenario())


@pytest.mark.parametrize(
    "raw", [b"x" * 70_000 + b"\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"POST / HTTP/1.1\r\nHos"]
)
def test_what_is_no_http_breaks_off(raw: bytes) -> None:
    async def scenario() -> None:
        got = b""
        async with fronted(says(b"")) as port, asked(port, raw) as (reader, writer):
            with contextlib.suppress(ConnectionError):
                writer.write_eof()
                got = await reader.read()
        assert got == b""

    run(scenario())
