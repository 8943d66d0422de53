"""Jobs in a queue belong to whoever put them there: workers that belong to no test take the job's scope on.

A server makes its workers at its start, and their context stays what it was then. What is put into `queue.Queue` or
`asyncio.Queue` remembers the scope; a worker that takes it out is in that scope until it takes the next one. A request
that reads from a queue stays in its own scope, and so does whatever a request has started, workers included.
"""

from __future__ import annotations

import functools
import threading
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from . import hooks, scope
from .brain import Brain
from .scope import Scope

_ATTRIBUTE = "_stackproof_jobs"
# What a worker's context had before its first job, in a tuple; None in all other contexts.
_home: ContextVar[tuple[Scope | None] | None] = ContextVar("stackproof_home", default=None)


class _Jobs:
    """Whose the items of one queue are, by the identity of the item, which the queue keeps alive."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owners: dict[int, deque[Scope | None]] = {}

    def put(self, item: Any) -> None:
        with self._lock:
            self._owners.setdefault(id(item), deque()).append(scope.carried())

    def take_back(self, item: Any) -> None:
        """It was not put after all."""
        with self._lock:
            self._of(item).pop()

    def take(self, item: Any) -> Scope | None:
        with self._lock:
            owners = self._of(item)
            return owners.popleft() if owners else None

    def _of(self, item: Any) -> deque[Scope | None]:
        owners = self._owners.get(id(item), deque())
        if len(owners) <= 1:
            self._owners.pop(id(item), None)
        return owners


def carry(active: Callable[[], Brain | None]) -> Callable[[], None]:
    """Patch both kinds of queues when their modules are there; returns the undo."""
    undo: list[Callable[[], None]] = []

    def put_in(names: tuple[str, str]) -> hooks.Hook:
        def patch(module: ModuleType) -> None:
            undo.append(_patch(module.Queue, *names, active, tasks=module.__name__.startswith("asyncio")))

        return patch

    stop = hooks.on_import({"queue": put_in(("put", "get")), "asyncio.queues": put_in(("put_nowait", "get_nowait"))})

    def take_out() -> None:
        stop()
        while undo:
            undo.pop()()

    return take_out


def _patch(
    kind: type[Any], put_name: str, get_name: str, active: Callable[[], Brain | None], *, tasks: bool
) -> Callable[[], None]:
    """Patch one kind of queue. tasks: it is for tasks, each of which has a context of its own."""
    put, get = getattr(kind, put_name), getattr(kind, get_name)

    @functools.wraps(put)
    def put_with_scope(self: Any, item: Any, *args: Any, **kwargs: Any) -> Any:
        if active() is None:
            return put(self, item, *args, **kwargs)
        jobs = self.__dict__.setdefault(_ATTRIBUTE, _Jobs())
        jobs.put(item)  # before it can be taken
        try:
            return put(self, item, *args, **kwargs)
        except BaseException:
            jobs.take_back(item)  # the queue is full, or was shut
            raise

    @functools.wraps(get)
    def get_with_scope(self: Any, *args: Any, **kwargs: Any) -> Any:
        item = get(self, *args, **kwargs)
        jobs = self.__dict__.get(_ATTRIBUTE)
        if jobs is not None and active() is not None:
            owner = jobs.take(item)
            # What the main thread takes are results rather than jobs, and it would keep the scope for ever.
            if tasks or threading.current_thread() is not threading.main_thread():
                _begin(owner)
        return item

    setattr(kind, put_name, put_with_scope)
    setattr(kind, get_name, get_with_scope)

    def undo() -> None:
        # What another tool has put around ours since then is not ours to remove; ours does nothing without a brain.
        if getattr(kind, put_name) is put_with_scope:
            setattr(kind, put_name, put)
        if getattr(kind, get_name) is get_with_scope:
            setattr(kind, get_name, get)

    return undo


def _begin(owner: Scope | None) -> None:
    """Take the job's scope on, where this is a worker; for a job of nobody, what it had before its first one."""
    home = _home.get()
    if home is None and owner is not None and scope.carried() in (None, scope.STACK):
        home = (scope.carried(),)
        _home.set(home)
    if home is not None:
        scope.enter(owner if owner is not None else home[0])
