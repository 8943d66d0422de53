"""Where the gateway keeps files, vector stores and responses: what any database has to do for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, urlencode

from starlette.concurrency import run_in_threadpool

if TYPE_CHECKING:
    from reference_stack.store_postgres import PostgresStore

# libpq's words for what a setup calls POSTGRES_…
_POSTGRES = {"host": "HOST", "port": "PORT", "dbname": "DB", "user": "USER", "password": "PASSWORD"}


class Table(Enum):
    """What is kept. Names of `VECTOR_STORE_FILE` are `<vector store>/<file>`."""

    FILE = "file"
    VECTOR_STORE = "vector_store"
    VECTOR_STORE_FILE = "vector_store.file"
    VECTOR_STORE_FILE_BATCH = "vector_store.file_batch"
    RESPONSE = "response"


@dataclass(frozen=True, kw_only=True, slots=True)
class Chunk:
    """A piece of a file's text and its embedding, in the order of the text."""

    file_id: str
    text: str
    vector: Sequence[float]


class Store(Protocol):
    """Several processes may share one. An entry that is put again takes the place of the one before it."""

    async def put(self, table: Table, name: str, value: Mapping[str, Any], content: bytes = b"") -> None:
        """Keep a JSON object, and bytes that belong to it."""

    async def get(self, table: Table, name: str) -> dict[str, Any] | None:
        """The object, or None."""

    async def content(self, table: Table, name: str) -> bytes | None:
        """The bytes that belong to it, or None when there is no such entry."""

    async def every(self, table: Table, *, below: str = "") -> list[dict[str, Any]]:
        """Objects whose names begin with `below`, oldest first."""

    async def delete(self, table: Table, name: str) -> bool:
        """Whether it was there."""

    async def put_chunks(self, vector_store_id: str, file_id: str, chunks: Sequence[Chunk]) -> None:
        """The chunks of a file in a vector store, instead of those that it had."""

    async def chunks(self, vector_store_id: str) -> list[Chunk]:
        """All chunks of a vector store."""


def location(environ: Mapping[str, str]) -> str | None:
    """Where the gateway keeps its state: in PostgreSQL where POSTGRES_HOST is set, else where REFERENCE_DB says."""
    named = {name: environ.get(f"POSTGRES_{variable}") for name, variable in _POSTGRES.items()}
    if not named["host"]:
        return environ.get("REFERENCE_DB")
    return "postgresql:///?" + urlencode({name: value for name, value in named.items() if value}, quote_via=quote)


@asynccontextmanager
async def opened(location: str | None) -> AsyncIterator[Store]:
    """The store at `location`: the path of an SQLite file, or a URL of PostgreSQL; None or empty: in memory.

    ValueError for other databases, and what a database's driver raises when it cannot be opened.
    """
    scheme, colon, _ = (location or "").partition("://")
    if not colon:
        from reference_stack.store_sqlite import SqliteStore  # noqa: PLC0415 - each database in its own module

        store: SqliteStore | PostgresStore = SqliteStore(location or ":memory:")
    elif location and scheme in ("postgresql", "postgres"):
        from reference_stack.store_postgres import PostgresStore  # noqa: PLC0415 - its driver may be missing

        store = await run_in_threadpool(PostgresStore, location)
    else:
        raise ValueError(
            f"REFERENCE_DB names a database of the kind {scheme!r}; paths of SQLite files and postgresql:// work"
        )
    try:
        yield store
    finally:
        store.close()
