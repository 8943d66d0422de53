"""The store in SQLite: a file that several processes may open, or memory."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from typing import Any

from reference_stack.store_sql import SqlStore, Value

_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS entry (
        number INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL,
        value TEXT NOT NULL, content BLOB NOT NULL, UNIQUE (kind, name))""",
    """CREATE TABLE IF NOT EXISTS chunk (
        vector_store_id TEXT NOT NULL, file_id TEXT NOT NULL, position INTEGER NOT NULL,
        text TEXT NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (vector_store_id, file_id, position))""",
)
_LOCKED = 30.0  # seconds to wait for another process that writes


class SqliteStore(SqlStore):
    """One connection, used by one thread at a time."""

    PUT = "INSERT OR REPLACE INTO entry (kind, name, value, content) VALUES (?, ?, ?, ?)"

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

    def _run(self, statement: str, values: Sequence[Value]) -> list[Any]:
        with self._lock:
            return self._connection.execute(statement, values).fetchall()

    def _replace(self, delete: str, file: Sequence[Value], insert: str, rows: Sequence[Sequence[Value]]) -> None:
        with self._lock:
            # Locked from the start: two processes that read first and write then would refuse each other.
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.execute(delete, file)
                self._connection.executemany(insert, rows)
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
