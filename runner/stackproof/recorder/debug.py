"""Tells every identity, path and look-up, where `--debug` asks for it: on standard error, and in one file for all.

Each process of a run, a server's workers too, appends to `debug.log` in the folder of its cell, a block in one write:

    stackproof 12:03:21.123 [4711 stack] replayed: POST /answers of probe, number 1
        scope     tests/integration/test_it.py::test_x
        file      0e6a615e24ae-91654a09761d2638a606.json
        …

A block's first line names time, process and what happened; the others are `name  value`; `scope` and `test` say whose
it is. A body is its canonical form, cut; `stackproof recordings explain FILE --full` shows one whole.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from . import redact, scope
from .canonical import canonical
from .decision import Answer, PassThrough
from .store import COMMON, MODELS

if TYPE_CHECKING:
    from .interaction import Call, Request
    from .scope import Scope
    from .settings import Settings
    from .store import Store

NAME = "debug.log"
INDENT = "    "
_BODY = 300
_HEADS = {
    "replayed": "replayed",
    "recorded": "recorded",
    "observed": "observed",
    "missed": "refused",
    "budget": "refused",
    "dropped": "answer not kept",
}
Pairs = Iterable[tuple[str, str]]


def trace(settings: Settings, environ: Mapping[str, str], secrets: Mapping[str, str]) -> Trace | None:
    """Who tells it, in a run with `--debug`; None in any other, and then nothing is computed.

    secrets: variable name → value, for what must not be told.
    """
    return Trace(settings, role(environ), secrets) if settings.debug else None


def role(environ: Mapping[str, str]) -> str:
    """What this process is in the run: `tests`, `tests gw0` for a worker of xdist, `stack`."""
    # Into a stack the recorder comes under a name of its own.
    if not __name__.startswith("stackproof."):
        return "stack"
    return f"tests {environ.get('PYTEST_XDIST_WORKER', '')}".strip()


class Trace:
    """Writes blocks; safe to use from many threads and processes, and never the cause of a failure."""

    def __init__(
        self, settings: Settings, role: str, secrets: Mapping[str, str], clock: Callable[[], float] = time.time
    ) -> None:
        self._settings = settings
        self._role = role
        self._secrets = secrets
        self._clock = clock
        self._path = os.path.join(settings.run_dir, NAME)

    def decided(self, store: Store, call: Call, ordinal: int, entry: Mapping[str, Any]) -> None:
        """What became of a call: `entry` is its line in the calls' journal."""
        kind, file = str(entry["kind"]), str(entry.get("file") or "")
        late = ", after its test had ended" if entry.get("late") else ""
        why = entry.get("reason") or entry.get("fault")
        reason = f" ({why})" if why else ""
        head = f"{_HEADS.get(kind, kind)}{reason}: {_asked(call, ordinal)}{late}"
        if kind in ("recorded", "observed", "dropped", "budget"):
            where = [("staged at", file)] if file else []
            self._tell(head, [*_whose(call.scope), ("file", call.identity.file_name(ordinal)), *where])
            return
        self._tell(head, [*self._identity(call, ordinal), *self._looked(store, call, ordinal, file)])

    def sent(self, store: Store, call: Call, ordinal: int, url: str | None) -> None:
        """A call goes out."""
        missing = self._looked(store, call, ordinal, "") if self._settings.mode.answers else []
        to = [("goes to", _host(url or call.request.url))]
        self._tell(f"goes out: {_asked(call, ordinal)}", [*self._identity(call, ordinal), *missing, *to])

    def waits(self, call: Call, ordinal: int) -> None:
        """Another process records this very answer."""
        more = [*_whose(call.scope), ("file", call.identity.file_name(ordinal))]
        self._tell(f"waits for another process that records it: {_asked(call, ordinal)}", more)

    def not_recorded(self, request: Request, decision: object) -> None:
        """A call that has no recording: to the stack, to nobody who is known, or for a token."""
        owner, host = scope.current(), _host(request.url)
        how = f"passed through: {request.method} {urlsplit(request.url).path} at {host}"
        if isinstance(decision, Answer):
            how = f"answered with a made-up token: {request.method} at {host}"
        elif isinstance(decision, PassThrough) and decision.headers:
            how += ", the stack, with this scope in a header"
        else:
            how += ", which belongs to no provider"
        self._tell(how, [] if owner is None else _whose(owner))

    def connection(self, what: str, where: str) -> None:
        """A connection that belongs to no call that the recorder has seen: `blocked` in replay, else `not recorded`."""
        owner = scope.current()
        self._tell(f"{what}: a connection to {where}", [] if owner is None else _whose(owner))

    def promoted(self, owner: Scope, path: str, *, changed: bool) -> None:
        """A staged recording is in its place now."""
        self._tell("promoted" if changed else "promoted, equal to what was there", [*_whose(owner), ("file", path)])

    def removed(self, owner: Scope, path: str, why: str) -> None:
        """A recording, or a staged one, is gone."""
        self._tell(f"removed, {why}", [*_whose(owner), ("file", path)])

    def _identity(self, call: Call, ordinal: int) -> Iterator[tuple[str, str]]:
        yield from _whose(call.scope)
        if not call.scope.name:
            yield "scope", "unknown: no test is known for this call"
        yield "request", call.identity.request
        yield "file", call.identity.file_name(ordinal)
        body = call.form["body"]
        if body is not None:
            # Concealed before it is cut: half a secret would not be found.
            text = canonical(redact.conceal(body, self._secrets))
            yield "body", text if len(text) <= _BODY else f"{text[:_BODY]}… ({len(text)} characters)"
        active = self._settings.rules
        if active:
            acted = ", ".join(_shown(rule) for rule in call.acted) or "none acted"
            yield "rules", f"{acted}; active: {', '.join(_shown(rule) for rule in active)}"

    def _looked(self, store: Store, call: Call, ordinal: int, file: str) -> Iterator[tuple[str, str]]:
        if call.asks_for_models and (not file or os.path.basename(file).startswith(f"{MODELS}-")):
            name = f"{MODELS}-{call.identity.request[:20]}-*.json"
            yield "looked in", f"{store.base}/{COMMON} for {name}: {file or 'not there'}"
            if file:
                return
        name = call.identity.file_name(ordinal)
        if not call.scope.name:
            return
        for folder in store.folders(call.scope):
            there = os.path.exists(os.path.join(folder, name))
            yield "looked in", f"{folder}: {'found' if there else 'not there'}"
            if there:
                break
        if file and os.path.basename(file) != name:
            yield "answered by", f"{file}, the last recorded one, which stays"

    def _tell(self, head: str, pairs: Pairs) -> None:
        now = self._clock()
        when = f"{time.strftime('%H:%M:%S', time.localtime(now))}.{int(now * 1000) % 1000:03d}"
        lines = [f"stackproof {when} [{os.getpid()} {self._role}] {head}"]
        lines += [f"{INDENT}{name:<11} {value}" for name, value in pairs]
        text = "".join(f"{self._line(line)}\n" for line in lines)
        # Whoever asks for words must not get another outcome by it.
        with contextlib.suppress(OSError):
            os.makedirs(self._settings.run_dir, exist_ok=True)
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            try:
                os.write(handle, text.encode("utf-8", "backslashreplace"))
            finally:
                os.close(handle)
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(text)
            sys.stderr.flush()

    def _line(self, text: str) -> str:
        """One line, without secrets; paths as a person in the project's folder would type them."""
        plain = str(redact.conceal(text, self._secrets)).replace("\r", "\\r").replace("\n", "\\n")
        return plain.replace(f"{self._settings.project}/", "") if self._settings.project else plain


def of_test(text: str, nodeid: str, role: str) -> str:
    """From what `debug.log` says, the blocks that processes of a role told of a test."""
    blocks: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith(INDENT) and blocks:
            blocks[-1].append(line)
        else:
            blocks.append([line])
    wanted = {f"{INDENT}{name:<11} {nodeid}" for name in ("scope", "test")}
    mark = f" {role}] "
    return "".join(f"{line}\n" for block in blocks if mark in block[0] and wanted.intersection(block) for line in block)


def where(run_dir: str, project: str) -> list[str]:
    """The line that names the file with everything that was told; none where nothing was."""
    path = os.path.join(run_dir, NAME)
    if not os.path.isfile(path):
        return []
    shown = path.removeprefix(f"{project}/") if project else path
    return [f"debug: every look-up, of the tests and of the stack, is in {shown}"]


def _asked(call: Call, ordinal: int) -> str:
    number = f", number {ordinal}" if ordinal else ""
    return f"{call.shown} of {call.form['provider']}{number}"


def _whose(owner: Scope) -> list[tuple[str, str]]:
    pairs = [("scope", owner.name)] if owner.name else []
    if owner.test_id and owner.test_id != owner.name:
        pairs.append(("test", owner.test_id))
    if owner.attempt != 1:
        pairs.append(("attempt", str(owner.attempt)))
    return pairs


def _shown(rule: Mapping[str, Any]) -> str:
    where = rule.get("path") or rule.get("endpoint")
    return f"{rule['name']} at {where}" if where else str(rule["name"])


def _host(url: str) -> str:
    """Scheme, host and port: what else a URL holds (a user, a key in the query) is nobody's business."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
