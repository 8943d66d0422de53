"""The store in any database that speaks SQL: what is the same in all of them. No statement runs on the event loop."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from starlette.concurrency import run_in_threadpool

from reference_stack.store import Chunk, Table

Value = str | int | bytes


class SqlStore:
    """Two tables, `entry (number, kind, name, value, content)` and `chunk (vector_store_id, file_id, position, text,
    vector)`. A database's own class makes them, opens connections, and runs statements on them.

    PUT: the statement that keeps an entry, in the place of one of its name and behind all others.
    """

    PUT: ClassVar[str]

    async def put(self, table: Table, name: str, value: Mapping[str, Any], content: bytes = b"") -> None:
        """Keep a JSON object, and bytes that belong to it."""
        await self._rows(self.PUT, table.value, _plain(name), json.dumps(value), content)

    async def get(self, table: Table, name: str) -> dict[str, Any] | None:
        """The object, or None."""
        rows = await self._rows("SELECT value FROM entry WHERE kind = ? AND name = ?", table.value, _plain(name))
        return json.loads(rows[0][0]) if rows else None

    async def content(self, table: Table, name: str) -> bytes | None:
        """The bytes that belong to it, or None when there is no such entry."""
        rows = await self._rows("SELECT content FROM entry WHERE kind = ? AND name = ?", table.value, _plain(name))
        return rows[0][0] if rows else None

    async def every(self, table: Table, *, below: str = "") -> list[dict[str, Any]]:
        """Objects whose names begin with `below`, oldest first."""
        statement = "SELECT value FROM entry WHERE kind = ? AND substr(name, 1, ?) = ? ORDER BY number"
        begin = _plain(below)
        return [json.loads(value) for (value,) in await self._rows(statement, table.value, len(begin), begin)]

    async def delete(self, table: Table, name: str) -> bool:
        """Whether it was there."""
        statement = "DELETE FROM entry WHERE kind = ? AND name = ? RETURNING number"
        return bool(await self._rows(statement, table.value, _plain(name)))

    async def put_chunks(self, vector_store_id: str, file_id: str, chunks: Sequence[Chunk]) -> None:
        """The chunks of a file in a vector store, instead of those that it had."""
        file = (_plain(vector_store_id), _plain(file_id))
        rows = [
            (*file, position, _plain(chunk.text), array("d", chunk.vector).tobytes())
            for position, chunk in enumerate(chunks)
        ]
        delete = "DELETE FROM chunk WHERE vector_store_id = ? AND file_id = ?"
        insert = "INSERT INTO chunk VALUES (?, ?, ?, ?, ?)"
        await run_in_threadpool(self._replace, delete, file, insert, rows)

    async def chunks(self, vector_store_id: str) -> list[Chunk]:
        """All chunks of a vector store."""
        statement = "SELECT file_id, position, text, vector FROM chunk WHERE vector_store_id = ?"
        # Sorted here: databases differ in what comes first.
        rows = sorted(await self._rows(statement, _plain(vector_store_id)), key=lambda row: (row[0], row[1]))
        return [
            Chunk(file_id=_original(file_id), text=_original(text), vector=array("d", vector))
            for file_id, _, text, vector in rows
        ]

    async def _rows(self, statement: str, *values: Value) -> list[Any]:
        return await run_in_threadpool(self._run, statement, values)

    def _run(self, statement: str, values: Sequence[Value]) -> list[Any]:
        """The rows that one statement gives; each `?` in it is one of `values`."""
        raise NotImplementedError

    def _replace(self, delete: str, file: Sequence[Value], insert: str, rows: Sequence[Sequence[Value]]) -> None:
        """Run `delete` with `file` and `insert` with each of `rows`: all of it, or nothing."""
        raise NotImplementedError


def _plain(text: str) -> str:
    """Text as every database takes it: PostgreSQL refuses NUL, and neither takes half of a surrogate pair."""
    return json.dumps(text)[1:-1]


def _original(plain: str) -> str:
    text: str = json.loads(f'"{plain}"')
    return text
