"""The store in SQLite: a file that several processes may open, or memory."""

from __future__ import annotations

import json
import sqlite3
import threading
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from starlette.concurrency import run_in_threadpool

from reference_stack.store import Chunk, Table

_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS entry (
        number INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL,
        value TEXT NOT NULL, content BLOB NOT NULL, UNIQUE (kind, name))""",
    """CREATE TABLE IF NOT EXISTS chunk (
        vector_store_id TEXT NOT NULL, file_id TEXT NOT NULL, position INTEGER NOT NULL,
        text TEXT NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (vector_store_id, file_id, position))""",
)
_LOCKED = 30.0  # seconds to wait for another process that writes


class SqliteStore:
    """One connection, used by one thread at a time; no statement of its runs on the event loop's thread."""

    def __init__(self, path: str) -> None:
        self._lock = threading.Lock()
        # Every statement is a transaction of its own, unless one is begun.
        self._connection = sqlite3.connect(path, timeout=_LOCKED, isolation_level=None, check_same_thread=False)
        for statement in _SCHEMA:
            self._connection.execute(statement)

    def close(self) -> None:
        """Let go of the file; what was in memory is gone."""
        with self._lock:
            self._connection.close()

    async def put(self, table: Table, name: str, value: Mapping[str, Any], content: bytes = b"") -> None:
        """Keep a JSON object, and bytes that belong to it."""
        statement = "INSERT OR REPLACE INTO entry (kind, name, value, content) VALUES (?, ?, ?, ?)"
        await self._rows(statement, table.value, name, json.dumps(value), content)

    async def get(self, table: Table, name: str) -> dict[str, Any] | None:
        """The object, or None."""
        rows = await self._rows("SELECT value FROM entry WHERE kind = ? AND name = ?", table.value, name)
        return json.loads(rows[0][0]) if rows else None

    async def content(self, table: Table, name: str) -> bytes | None:
        """The bytes that belong to it, or None when there is no such entry."""
        rows = await self._rows("SELECT content FROM entry WHERE kind = ? AND name = ?", table.value, name)
        return rows[0][0] if rows else None

    async def every(self, table: Table, *, below: str = "") -> list[dict[str, Any]]:
        """Objects whose names begin with `below`, oldest first."""
        statement = "SELECT value FROM entry WHERE kind = ? AND substr(name, 1, ?) = ? ORDER BY number"
        return [json.loads(value) for (value,) in await self._rows(statement, table.value, len(below), below)]

    async def delete(self, table: Table, name: str) -> bool:
        """Whether it was there."""
        statement = "DELETE FROM entry WHERE kind = ? AND name = ? RETURNING number"
        return bool(await self._rows(statement, table.value, name))

    async def put_chunks(self, vector_store_id: str, file_id: str, chunks: Sequence[Chunk]) -> None:
        """The chunks of a file in a vector store, instead of those that it had."""
        rows = [
            (vector_store_id, file_id, position, chunk.text, array("d", chunk.vector).tobytes())
            for position, chunk in enumerate(chunks)
        ]

        def replace() -> None:
            with self._transaction() as connection:
                connection.execute(
                    "DELETE FROM chunk WHERE vector_store_id = ? AND file_id = ?", (vector_store_id, file_id)
                )
                connection.executemany("INSERT INTO chunk VALUES (?, ?, ?, ?, ?)", rows)

        await run_in_threadpool(replace)

    async def chunks(self, vector_store_id: str) -> list[Chunk]:
        """All chunks of a vector store."""
        statement = "SELECT file_id, text, vector FROM chunk WHERE vector_store_id = ? ORDER BY file_id, position"
        rows = await self._rows(statement, vector_store_id)
        return [Chunk(file_id=file_id, text=text, vector=array("d", vector)) for file_id, text, vector in rows]

    async def _rows(self, statement: str, *values: str | int | bytes) -> list[Any]:
        def run() -> list[Any]:
            with self._lock:
                return self._connection.execute(statement, values).fetchall()

        return await run_in_threadpool(run)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            # Locked from the start: two processes that read first and write then would refuse each other.
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
