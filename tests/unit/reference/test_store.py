"""The gateway's store: what is put is had, whoever else is at it."""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import httpx2
import psycopg
import pytest
from psycopg import conninfo

from reference_stack.app import create_app
from reference_stack.store import Chunk, Store, Table, opened
from reference_stack.store import location as where
from stackproof.stack.inprocess import InProcessApp

T = TypeVar("T")
CONTEXT = multiprocessing.get_context("spawn")


def within(location: str | None, work: Callable[[Store], Awaitable[T]]) -> T:
    async def run() -> T:
        async with opened(location) as store:
            return await work(store)

    return asyncio.run(run())


NUMBERS = itertools.count()


def shared_of(kind: str, request: pytest.FixtureRequest, folder: Path) -> str:
    """Where several processes can open a store, empty."""
    if kind == "file":
        return str(folder / "state.sqlite")
    server: Path = request.getfixturevalue("postgres")
    name = f"state{next(NUMBERS)}"
    with psycopg.connect(f"postgresql:///postgres?host={server}&user=stack", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return f"postgresql:///{name}?host={server}&user=stack"


@pytest.fixture(params=["memory", "file", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    return None if request.param == "memory" else shared_of(request.param, request, tmp_path)


@pytest.fixture(params=["file", "postgres"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return shared_of(request.param, request, tmp_path)


def test_an_entry_comes_back_with_its_bytes(location: str | None) -> None:
    async def work(store: Store) -> None:
        assert await store.get(Table.FILE, "a") is None
        assert await store.content(Table.FILE, "a") is None
        await store.put(Table.FILE, "a", {"id": "a", "text": "é\ud800"}, b"\x00\xff")
        assert await store.get(Table.FILE, "a") == {"id": "a", "text": "é\ud800"}
        assert await store.content(Table.FILE, "a") == b"\x00\xff"
        assert await store.get(Table.RESPONSE, "a") is None, "each table for itself"

    within(location, work)


def test_what_is_put_again_replaces_what_was_there(location: str | None) -> None:
    async def work(store: Store) -> None:
        for number in (1, 2):
            await store.put(Table.FILE, "a", {"n": number}, bytes([number]))
        assert await store.every(Table.FILE) == [{"n": 2}]
        assert await store.content(Table.FILE, "a") == b"\x02"

    within(location, work)


def test_lists_are_in_the_order_of_their_making_and_may_be_of_a_part(location: str | None) -> None:
    async def work(store: Store) -> None:
        for name in ("v1/b", "v2/a", "v1/a", "v10/a", "v1_/a"):
            await store.put(Table.VECTOR_STORE_FILE, name, {"name": name})
        assert await store.every(Table.VECTOR_STORE_FILE, below="v1/") == [{"name": "v1/b"}, {"name": "v1/a"}]
        assert len(await store.every(Table.VECTOR_STORE_FILE)) == 5

    within(location, work)


def test_what_is_deleted_is_gone_once(location: str | None) -> None:
    async def work(store: Store) -> None:
        await store.put(Table.FILE, "a", {})
        assert await store.delete(Table.FILE, "a")
        assert not await store.delete(Table.FILE, "a")

    within(location, work)


def test_chunks_keep_their_order_and_every_digit(location: str | None) -> None:
    async def work(store: Store) -> None:
        vector = [0.1, -1e-300, 1 / 3]
        chunks = [Chunk(file_id="f", text=text, vector=vector) for text in ("z", "a", "m")]
        await store.put_chunks("vs", "f", chunks)
        await store.put_chunks("vs", "e", chunks[:1])
        found = await store.chunks("vs")
        assert [(chunk.file_id, chunk.text) for chunk in found][-3:] == [("f", "z"), ("f", "a"), ("f", "m")]
        assert all(list(chunk.vector) == vector for chunk in found)
        await store.put_chunks("vs", "f", [])
        assert len(await store.chunks("vs")) == 1
        assert await store.chunks("other") == []

    within(location, work)


def test_what_is_kept_outlives_its_process(shared: str) -> None:
    async def write(store: Store) -> None:
        await store.put(Table.RESPONSE, "r", {"id": "r"})

    within(shared, write)
    assert within(shared, lambda store: store.get(Table.RESPONSE, "r")) == {"id": "r"}


def _write_many(path: str, who: int) -> None:
    async def work(store: Store) -> None:
        for number in range(20):
            await store.put(Table.FILE, f"{who}-{number}", {"id": number})
            await store.put_chunks("vs", f"{who}-{number}", [Chunk(file_id="", text="", vector=[1.0])])

    within(path, work)


def test_several_processes_write_to_one_store_that_none_of_them_has_made(shared: str) -> None:
    started = [CONTEXT.Process(target=_write_many, args=(shared, who)) for who in range(3)]
    for process in started:
        process.start()
    for process in started:
        process.join(300)
    assert [process.exitcode for process in started] == [0] * 3
    assert len(within(shared, lambda store: store.every(Table.FILE))) == 60
    assert len(within(shared, lambda store: store.chunks("vs"))) == 60


def test_another_database_is_named_and_not_taken_for_a_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'mysql'"):
        within("mysql://localhost/x", lambda store: store.every(Table.FILE))


def test_any_text_comes_back(location: str | None) -> None:
    text = "NUL \0, half a pair \ud800, é, 100% \\ ? 'quoted'"

    async def work(store: Store) -> None:
        await store.put(Table.FILE, text, {"text": text})
        assert await store.get(Table.FILE, text) == {"text": text}
        assert await store.every(Table.FILE, below=text[:8]) == [{"text": text}]
        await store.put_chunks(text, text, [Chunk(file_id=text, text=text, vector=[])])
        assert [(chunk.file_id, chunk.text) for chunk in await store.chunks(text)] == [(text, text)]
        assert await store.delete(Table.FILE, text)

    within(location, work)


def test_postgres_is_chosen_by_its_host_and_its_password_is_any_text() -> None:
    assert where({"REFERENCE_DB": "x.sqlite", "POSTGRES_PORT": "1"}) == "x.sqlite"
    given = {"HOST": "/run/a b", "PORT": "5433", "DB": "d", "USER": "u", "PASSWORD": "a&b=c %d+e"}
    url = where({f"POSTGRES_{name}": value for name, value in given.items()} | {"REFERENCE_DB": "x.sqlite"})
    assert url is not None
    assert conninfo.conninfo_to_dict(url) == {
        "host": "/run/a b",
        "port": "5433",
        "dbname": "d",
        "user": "u",
        "password": "a&b=c %d+e",
    }


def test_an_application_keeps_its_responses_there(postgres: Path) -> None:
    environ = {"POSTGRES_HOST": str(postgres), "POSTGRES_DB": "postgres", "POSTGRES_USER": "stack"}
    for answer in (201, 200):
        with (
            InProcessApp(create_app(environ)) as app,
            httpx2.Client(transport=app.transport(), base_url="http://stack.invalid") as client,
        ):
            if answer == 201:
                client.post("/v1/files", files={"file": ("a", b"kept")}, data={"purpose": "assistants"})
            listed = client.get("/v1/files").json()["data"]
            assert [file["filename"] for file in listed] == ["a"]
