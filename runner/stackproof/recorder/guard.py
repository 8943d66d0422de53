"""A tripwire on sockets: in replay nothing leaves this process; where calls go out, none leaves unseen.

An audit hook sees what Python code does with sockets; child processes and C extensions pass below it. It names the host
and the test. What proves that nothing left is a network namespace, which the runner provides where it can.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from . import announce, scope
from .brain import Brain
from .mode import Mode
from .patching import LIBRARIES

_LOOPBACK_NAMES = frozenset({"::1", "localhost", "0.0.0.0", "::"})  # noqa: S104 - compared, not bound
_LOOPBACK_PREFIXES = ("127.", "::ffff:127.")
_CONNECTING = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_RESOLVING = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"})
_active: Callable[[], Brain | None] | None = None
_added = False
_own_ports: set[int] = set()  # listeners that were found to be the run's


class NetworkBlockedError(PermissionError):
    """A connection in replay to somewhere that this run does not own."""


def watch(active: Callable[[], Brain | None]) -> Callable[[], None]:
    """Begin to watch for the brain that `active()` gives; returns the undo (Python keeps the hook, asleep)."""
    global _active, _added  # noqa: PLW0603 - an audit hook is one per process and cannot be removed
    _active = active
    _own_ports.clear()
    if not _added:
        sys.addaudithook(_hook)
        _added = True
    return _sleep


def _sleep() -> None:
    global _active  # noqa: PLW0603 - see watch
    _active = None


def watch_uvloop(module: ModuleType) -> Callable[[], None]:
    """uvloop opens connections without Python's socket module: its own methods are asked instead. Returns the undo."""
    loop_class = module.Loop
    undo: list[tuple[str, Any]] = []
    for name in ("create_connection", "getaddrinfo", "getnameinfo", "sock_connect", "create_datagram_endpoint"):
        original = getattr(loop_class, name, None)
        if original is not None and not hasattr(original, "__stackproof__"):
            undo.append((name, loop_class.__dict__.get(name)))
            setattr(loop_class, name, _asking(original, name))

    def restore() -> None:
        for name, own in undo:
            if own is None:
                delattr(loop_class, name)
            else:
                setattr(loop_class, name, own)

    return restore


def _asking(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        host, port = _address_of(name, args, kwargs)
        if _active is not None and host is not None:
            _check(_active(), host, port)
        return original(self, *args, **kwargs)

    method.__stackproof__ = True  # type: ignore[attr-defined]
    return method


def _address_of(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str | None, int | None]:
    if name == "sock_connect":
        address = args[1] if len(args) > 1 else None
    elif name == "create_datagram_endpoint":
        address = kwargs.get("remote_addr")
    elif name == "getnameinfo":
        address = args[0] if args else kwargs.get("sockaddr")
    elif name == "getaddrinfo":
        address = (args[0] if args else kwargs.get("host"), None)
    else:
        address = (kwargs.get("host", args[1] if len(args) > 1 else None), kwargs.get("port", (args + (None,) * 3)[2]))
    return (_text(address[0]), address[1]) if isinstance(address, tuple) else (None, None)


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if _active is None or not event.startswith("socket."):
        return
    if event in _CONNECTING:
        address = args[1] if len(args) > 1 else None
        if isinstance(address, tuple) and len(address) >= 2:
            _check(_active(), _text(address[0]), address[1])
    elif event in _RESOLVING:
        # Either way it is a question to a name server. The port is none of its business, and is told where known.
        host, port = args[0][:2] if isinstance(args[0], tuple) else (args[0], args[1] if len(args) > 1 else None)
        if not _is_this_machine(event, host):
            _check(_active(), _text(host), None, asked_for=port)


def _text(host: Any) -> Any:
    return bytes(host).decode("utf-8", "replace") if isinstance(host, bytes | bytearray) else host


def _is_this_machine(event: str, host: Any) -> bool:
    """Whether a program only asks what its own machine is called, as servers do when they start."""
    return event != "socket.getnameinfo" and _text(host) == _own_name()


@functools.cache
def _own_name() -> str:
    import socket

    return socket.gethostname()


def _check(brain: Brain | None, host: Any, port: int | None, *, asked_for: Any = None) -> None:
    if brain is None or not isinstance(host, str) or host in brain.settings.beside:
        return
    match brain.settings.mode:
        case Mode.REPLAY:
            if not _is_ours(brain, host, port):
                _refuse(brain, host, asked_for or port)
        case Mode.RECORD | Mode.RECORD_IF_MISSING | Mode.VERIFY:
            unseen = not _is_loopback(host) or brain.providers.is_provider_host("127.0.0.1", port)
            if unseen and not _is_the_stack(brain, host, port) and not announce.is_announced():
                brain.ledger.note("calls", {"kind": "unseen", "host": host, "port": port, **_whose()})
                if brain.store.trace is not None:
                    brain.store.trace.connection("not recorded", f"{host}:{port}")
        case Mode.LIVE:
            pass


def _is_the_stack(brain: Brain, host: str, port: int | None) -> bool:
    """Whether it is where the stack is called, which may be a container."""
    there = urlsplit(brain.settings.stack_url or "")
    return host == there.hostname and port in (None, there.port)


def _is_loopback(host: str) -> bool:
    if host.lower() in _LOOPBACK_NAMES or host.startswith(_LOOPBACK_PREFIXES):
        return True
    return ":" in host and _packed(host) == b"\0" * 15 + b"\1"


def _packed(host: str) -> bytes:
    import socket

    try:
        return socket.inet_pton(socket.AF_INET6, host)
    except OSError:
        return b""


def _is_ours(brain: Brain, host: str, port: int | None) -> bool:
    if not _is_loopback(host):
        return host == ""  # an empty name resolves to this machine
    if port is None or _has_loopback_only():
        return True  # a name only; or nothing but this run can listen in here
    if brain.settings.stack_url and port == urlsplit(brain.settings.stack_url).port:
        return True
    if port not in _own_ports:
        from .listeners import is_ours

        known = is_ours(port, brain.settings.run_dir)
        if known:
            _own_ports.add(port)
        # Where nobody listens, the system refuses the connection, which tells the truth.
        return known is not False
    return True


@functools.cache
def _has_loopback_only() -> bool:
    """Whether this process is in a network namespace of the run's own (Linux, proc(5)): then every listener is ours."""
    try:
        with open("/proc/self/net/dev", encoding="ascii") as file:
            rows = file.read().splitlines()[2:]
    except OSError:
        return False
    return {row.partition(":")[0].strip() for row in rows} == {"lo"}


def _whose() -> dict[str, Any]:
    owner = scope.current()
    if owner is None:
        return {"scope": None, "test_id": None, "attempt": 1}
    return {"scope": owner.name, "test_id": owner.test_id, "attempt": owner.attempt}


def _in_test(test_id: Any) -> str:
    return f" (test {test_id})" if test_id else ""


def _refuse(brain: Brain, host: str, port: Any) -> None:
    whose = _whose()
    where = f"{host}:{_text(port)}" if port else host
    text = (
        f"a connection to {where} was blocked in replay{_in_test(whose['test_id'])}\n"
        "  nothing may leave the process in replay\n"
        f"  a provider: name its URL under `providers` of the setup, and call it through {LIBRARIES}\n"
        "  what a stack fetches for itself: turn it off by a variable, in `env` of its stack.yaml"
    )
    if brain.store.trace is not None:
        brain.store.trace.connection("blocked", where)
    brain.ledger.note("misses", {**whose, "kind": "network", "message": text, "request": None})
    brain.ledger.note("calls", {"kind": "missed", "reason": "network", "host": where, **whose})
    raise NetworkBlockedError(text)
