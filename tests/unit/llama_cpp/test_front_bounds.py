"""What the front of llama.cpp refuses, ends or answers by itself."""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest
from tests.unit.llama_cpp.fronted import TEXT, TOOLS, Handler, answer, asked, fronted, listening, post, run, says

from front import SERVER, Deadlines, Front


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
            async with asyncio.timeout(60):
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
