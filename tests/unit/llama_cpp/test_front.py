"""The proxy in front of the llama.cpp servers, against fake upstreams on loopback."""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.unit.llama_cpp.fronted import TEXT, TOOLS, Handler, answer, asked, fronted, post, run, says

from front import Forward, Health, Models, Route, UnknownModel, Upstreams, route


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


def test_below_the_name_of_a_provider_any_model_is_answered_for() -> None:
    async def scenario() -> None:
        async with fronted(says(b'{"said": 1}')) as port:
            there = await answer(port, post({"model": "gpt-4o-mini"}, path="/for/openai/v1/chat/completions"))
            assert there.endswith(b'{"said": 1}')
            plain = await answer(port, post({"model": "gpt-4o-mini"}, path="/v1/chat/completions"))
            assert b"404 Not Found" in plain

    run(scenario())


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
