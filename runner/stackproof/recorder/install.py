"""Put the recorder into this process and take it out again, leaving everything as it was."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType

from . import guard, hooks, ids, queues, scope, threads
from .brain import Brain
from .mode import Mode
from .settings import Settings
from .transports import sdk_waits

# Installations nest: the innermost brain is asked, the patches are made once.
_brains: list[Brain] = []
_undo: list[Callable[[], None]] = []
_take_back_ids: dict[Brain, Callable[[], None]] = {}
_suspended = 0


def active() -> Brain | None:
    """The brain in force in this process."""
    return _brains[-1] if _brains and not _suspended else None


@contextlib.contextmanager
def suspended() -> Iterator[None]:
    """Let every call pass as if nothing were installed, in the whole process."""
    global _suspended  # noqa: PLW0603 - as wide as the patches are
    _suspended += 1
    try:
        yield
    finally:
        _suspended -= 1


def install(settings: Settings, environ: Mapping[str, str] | None = None) -> Brain:
    """Start to record or replay in this process, as `settings` say. Undo with `uninstall`.

    In live mode nothing is patched. InstallError when another tool has replaced the same methods, or a library is too
    old; a library that is imported later raises it from its import.
    """
    brain = Brain(settings, os.environ if environ is None else environ)
    if settings.mode is not Mode.LIVE:
        _brains.append(brain)
        try:
            if not _undo:
                _patch()
            if settings.id_hook:
                _take_back_ids[brain] = ids.hand_over(settings.id_hook, active)
        except BaseException:
            uninstall(brain)
            raise
    return brain


def uninstall(brain: Brain) -> None:
    """Take one installation back; the last one restores everything that was patched."""
    brain.closed = True
    brain.ledger.close()
    if brain in _take_back_ids:
        _take_back_ids.pop(brain)()
    if brain in _brains:
        _brains.remove(brain)
    if not _brains:
        _restore()


@contextlib.contextmanager
def installed(settings: Settings, environ: Mapping[str, str] | None = None) -> Iterator[Brain]:
    """Record or replay within the block."""
    brain = install(settings, environ)
    try:
        yield brain
    finally:
        uninstall(brain)


def _patch() -> None:
    _undo.append(threads.carry())
    _undo.append(queues.carry(active))
    _undo.append(guard.watch(active))
    _undo.append(
        hooks.on_import(
            {
                "httpx": _intercept("httpx_family"),
                "httpx2": _intercept("httpx_family"),
                "aiohttp": _intercept("aiohttp_client"),
                "urllib3": _intercept("urllib3_pool"),
                **{name: _intercept("sdk_waits") for name in sdk_waits.WAITING},
                "uvloop": lambda module: _undo.append(guard.watch_uvloop(module)),
            }
        )
    )


def _intercept(transport: str) -> hooks.Hook:
    """Hand a library, once it is there, to the module below `transports` that knows it. Until then, load neither."""

    def put_in(module: ModuleType) -> None:
        known = importlib.import_module(f".transports.{transport}", __package__)
        _undo.append(known.install(module, active))

    return put_in


def _after_fork() -> None:
    for brain in _brains:
        brain.after_fork()


# Servers fork their workers, some of them with the application, and threads of its own, already in place.
os.register_at_fork(after_in_child=_after_fork)


def _restore() -> None:
    while _undo:
        _undo.pop()()
    scope.set_process_scope(None)
