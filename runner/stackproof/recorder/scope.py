"""Whose call it is: the scope that is in force where a provider is called.

A scope is a context variable, so it follows tasks by itself and threads through `threads.carry`. Where a context was
made before the test began (an event loop of a plugin, a pool), the process's current scope is the fallback.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

from . import elsewhere

HEADER_LIMIT = 2048
_FIELDS = ("__test_id", "__scope", "__attempt", "__worker", "__scope_ref")


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """`name` is a node id, `fixture:<base id>::<name>[param]`, or `stack`.

    `test_id` is the test that was running when the call was made; `attempt` counts runs of the same scope from 1;
    `worker` is the xdist worker, for scopes that several workers set up.
    """

    name: str
    test_id: str | None = None
    attempt: int = 1
    worker: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 of the name, in hexadecimal."""
        return _digest(self.name)

    @property
    def is_shared(self) -> bool:
        """Wider than one test: several tests, and several workers, live on its answers."""
        return self.name == STACK_NAME or self.name.startswith("fixture:")


@lru_cache(maxsize=1024)
def _digest(name: str) -> str:
    return sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


STACK_NAME = "stack"
STACK = Scope(name=STACK_NAME)
# A request to the stack that carried no id, while tests run: a provider call below it is an error.
UNKNOWN = Scope(name="")

_current: ContextVar[Scope | None] = ContextVar("stackproof_scope", default=None)
_process: Scope | None = None


def current() -> Scope | None:
    """The scope in force here, or None when nothing has set one."""
    return _current.get() or _process


def carried() -> Scope | None:
    """The scope of this context alone, without the process's fallback."""
    return _current.get()


def of_process() -> Scope | None:
    """The fallback: what the test process is at now, whatever this context says."""
    return _process


def set_process_scope(scope: Scope | None) -> None:
    """Make `scope` the fallback for contexts that carry none (the test process has one test at a time)."""
    global _process  # noqa: PLW0603 - one per process is the meaning of it
    _process = scope


@contextlib.contextmanager
def use(scope: Scope | None) -> Iterator[None]:
    """Put `scope` in force for the block and everything that it starts."""
    token = _current.set(scope)
    try:
        yield
    finally:
        _current.reset(token)


@contextlib.contextmanager
def within_stack() -> Iterator[None]:
    """What the block starts belongs to the stack, though a test or its fixture happened to start it."""
    outer = _process
    set_process_scope(STACK)
    try:
        with use(STACK):
            yield
    finally:
        set_process_scope(outer)


def enter(scope: Scope | None) -> None:
    """Put `scope` in force from here on, where a block cannot be used."""
    _current.set(scope)


def to_header(scope: Scope, present: str | None, run_dir: str) -> str:
    """The value of the id header: our fields merged into the JSON object that is `present`.

    Where the result would pass 2 KiB, the fields go to a file of the run folder and the header names its digest. A
    value that is no JSON object is somebody else's and stays; the scope then travels in `baggage` alone.
    """
    merged = _object(present)
    if present and not merged and present.strip() != "{}":
        return present
    fields: dict[str, Any] = {"__test_id": scope.test_id or scope.name}
    if scope.test_id != scope.name:
        fields["__scope"] = scope.name
    if scope.attempt != 1:
        fields["__attempt"] = scope.attempt
    if scope.worker:
        fields["__worker"] = scope.worker
    text = json.dumps({**merged, **fields})
    if len(text) <= HEADER_LIMIT:
        return text
    stored = json.dumps(fields)
    name = sha256(stored.encode()).hexdigest()
    folder = os.path.join(run_dir, "scopes")
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        # Renamed into place: the server may be reading the file of an earlier request of this test.
        temporary = f"{path}.{os.urandom(6).hex()}.tmp"
        with open(temporary, "x", encoding="utf-8") as file:
            file.write(stored)
        os.replace(temporary, path)
        elsewhere.fetch(run_dir)  # by now the stack's side has the file too
    return json.dumps({**{key: item for key, item in merged.items() if key not in _FIELDS}, "__scope_ref": name})


def to_baggage(scope: Scope, present: str | None) -> str:
    """The value of the W3C `baggage` header: our member behind those that are `present`."""
    from urllib.parse import quote

    ours = f"stackproof.scope={quote(scope.name, safe='')}"
    return f"{present},{ours}" if present else ours


def from_header(value: str | None, run_dir: str) -> tuple[Scope | None, str | None]:
    """Take our fields out of the header: the scope (None where there is none) and what is left for the stack."""
    fields = _object(value)
    if not fields:
        return None, value
    ours = {key: fields.pop(key) for key in _FIELDS if key in fields}
    rest = json.dumps(fields) if fields else None
    if "__scope_ref" in ours:
        path = os.path.join(run_dir, "scopes", os.path.basename(str(ours["__scope_ref"])))
        try:
            with open(path, encoding="utf-8") as file:
                ours = _object(file.read())
        except (OSError, ValueError):
            return None, rest
    test_id = ours.get("__test_id")
    if not isinstance(test_id, str) or not test_id:
        return None, value if not ours else rest
    name = ours.get("__scope")
    attempt = ours.get("__attempt")
    worker = ours.get("__worker")
    return (
        Scope(
            name=name if isinstance(name, str) else test_id,
            test_id=test_id,
            attempt=attempt if isinstance(attempt, int) else 1,
            worker=worker if isinstance(worker, str) else "",
        ),
        rest,
    )


def _object(text: str | None) -> dict[str, Any]:
    if not text:
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return dict(value) if isinstance(value, Mapping) else {}
