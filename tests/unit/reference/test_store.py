"""The gateway's store: what is put is had, whoever else is at it."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from reference_stack.store import Chunk, Store, Table, opened

T = TypeVar("T")
CONTEXT = multiprocessing.get_context("spawn")


def within(location: str | None, work: Callable[[Store], Awaitable[T]]) -> T:
    async def run() -> T:
        async with opened(location) as store:
            return await work(store)

    return asyncio.run(run())


@pytest.fixture(params=["memory", "file"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    return None if request.param == "memory" else str(tmp_path / "state.sqlite")


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


def test_a_file_outlives_its_process(tmp_path: Path) -> None:
    path = str(tmp_path / "state.sqlite")

    async def write(store: Store) -> None:
        await store.put(Table.RESPONSE, "r", {"id": "r"})

    within(path, write)
    assert within(path, lambda store: store.get(Table.RESPONSE, "r")) == {"id": "r"}


def _write_many(path: str, who: int) -> None:
    async def work(store: Store) -> None:
        for number in range(20):
            await store.put(Table.FILE, f"{who}-{number}", {"id": number})
            await store.put_chunks("vs", f"{who}-{number}", [Chunk(file_id="", text="", vector=[1.0])])

    within(path, work)


def test_several_processes_write_to_one_file(tmp_path: Path) -> None:
    path = str(tmp_path / "state.sqlite")
    started = [CONTEXT.Process(target=_write_many, args=(path, who)) for who in range(3)]
    for process in started:
        process.start()
    for process in started:
        process.join(60)
    assert [process.exitcode for process in started] == [0] * 3
    assert len(within(path, lambda store: store.every(Table.FILE))) == 60
    assert len(within(path, lambda store: store.chunks("vs"))) == 60


def test_another_database_is_named_and_not_taken_for_a_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'postgresql'"):
        within("postgresql://localhost/x", lambda store: store.every(Table.FILE))
