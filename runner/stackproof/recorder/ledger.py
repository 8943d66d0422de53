"""What all processes of a run share: who took which number, what was called, what was missed. Files of the run folder.

Lines are appended in one write and numbers are taken under a lock, so several processes never agree on less.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .canonical import writer
from .claims import Claims
from .scope import Scope

_encode = writer(ascii_only=True)


class Ledger:
    """The shared books in `run_dir`. Every method is safe to call from several threads and processes."""

    def __init__(self, run_dir: str) -> None:
        self.run_dir = run_dir
        self._claims = Claims(os.path.join(run_dir, "claims"))
        self._made: set[str] = set()
        self._files: dict[str, int] = {}
        self._lock = threading.RLock()  # taken by the garbage collector too, when it closes a forgotten stream
        self._folded: dict[str, dict[str, Any]] = {}
        self._folded_read = 0

    # -- numbers of equal requests

    def claim(self, scope: Scope, request_digest: str) -> int:
        """The ordinal of this call among equal requests of its scope, from 1; never given out twice."""
        return self._claims.take(_equal(scope, request_digest))

    def claimed(self, scope: Scope, request_digest: str) -> int:
        """The highest ordinal that was given out so far; 0 where none was."""
        return self._claims.taken(_equal(scope, request_digest))

    def claim_fault(self, scope: Scope, key: str) -> int:
        """Which of the calls that a planned fault can happen to this one is, from 1."""
        return self._claims.take(f"fault.{scope.digest[:12]}.{scope.attempt}.{key}")

    def attempt(self, name: str) -> int:
        """Which run of the scope of this name begins now, from 1; a process that was killed in one has used it up."""
        return self._claims.take(f"attempt.{Scope(name=name).digest[:12]}")

    def first(self, scope: Scope, request_digest: str, ordinal: int) -> bool:
        """Whether this process is the one that records a shared scope's answer; the others wait for its file."""
        folder = self._folder("first", scope.digest[:12])
        return _create(f"{folder}/{request_digest[:20]}.{ordinal}")

    def give_up(self, scope: Scope, request_digest: str, ordinal: int) -> None:
        """The answer of a `first` was not kept: another may record it."""
        folder = self._folder("first", scope.digest[:12])
        _remove(f"{folder}/{request_digest[:20]}.{ordinal}")

    def unfolded(self, scope: Scope, request_digest: str, plain_digest: str, rules: Sequence[str]) -> list[str] | None:
        """Note which request was folded into this one; the rules of the first, where that was another request."""
        key = _equal(scope, request_digest)
        self.note("folded", {"key": key, "plain": plain_digest, "rules": list(rules)})
        with self._lock:
            # Lines have one order for all processes, so all agree on who was first.
            entries, self._folded_read = self.read("folded", self._folded_read)
            for entry in entries:
                self._folded.setdefault(str(entry["key"]), entry)
            first = self._folded[key]
        return None if first["plain"] == plain_digest else list(first["rules"])

    # -- answers that are asked for again

    def failed(self, scope: Scope, request_digest: str, ordinal: int) -> None:
        """The answer to this call is one that makes its caller try again."""
        _create(f"{self._folder('failed', _equal(scope, request_digest))}/{ordinal}")

    def retries(self, scope: Scope, request_digest: str) -> bool:
        """Whether a call that begins now tries an equal one again that has `failed`; each failure is used up by one."""
        folder = f"{self.run_dir}/failed/{_equal(scope, request_digest)}"
        try:
            return any(_remove(f"{folder}/{name}") for name in os.listdir(folder))
        except FileNotFoundError:
            return False

    # -- calls in flight, ended scopes

    def begin(self, scope: Scope) -> str:
        """Note a call that is being recorded; returns the token for `done`."""
        return self._begin("inflight", scope)

    def begin_serving(self, scope: Scope) -> str:
        """Note a request to the stack that is being served, its background tasks too; returns the token for `done`."""
        return self._begin("serving", scope)

    def _begin(self, kind: str, scope: Scope) -> str:
        folder = self._folder(kind, scope.digest[:12])
        # Random, as process ids repeat: two containers that share the folder both have a process 1.
        token = f"{folder}/{os.urandom(8).hex()}"
        _create(token)
        return token

    def done(self, token: str) -> None:
        """The call of this token is over: written or dropped."""
        _remove(token)

    def wait_for_calls(self, scope: Scope, seconds: float) -> int:
        """Wait until no call of the scope is in flight; how many still are at the deadline."""
        return self._wait("inflight", scope, seconds)

    def wait_for_serving(self, scope: Scope, seconds: float) -> int:
        """Wait until no request of the scope is being served: what it still calls belongs to the scope."""
        return self._wait("serving", scope, seconds)

    def calls_in_flight(self, scope: Scope) -> int:
        """Calls of the scope that are being recorded now, in any process."""
        return self._count("inflight", scope)

    def _wait(self, kind: str, scope: Scope, seconds: float) -> int:
        deadline = time.monotonic() + seconds
        while (left := self._count(kind, scope)) and time.monotonic() < deadline:
            time.sleep(0.01)
        return left

    def _count(self, kind: str, scope: Scope) -> int:
        try:
            return len(os.listdir(f"{self.run_dir}/{kind}/{scope.digest[:12]}"))
        except FileNotFoundError:
            return 0

    def end(self, scope: Scope) -> None:
        """The scope's test is over: a call that comes after is late."""
        self._folder("ended", "")
        _create(self._ended(scope))

    def has_ended(self, scope: Scope) -> bool:
        """Whether `end` was called for this attempt of the scope."""
        # On the way of every call: `exists` makes an error of each file that is not there.
        return os.access(self._ended(scope), os.F_OK)

    def _ended(self, scope: Scope) -> str:
        return f"{self.run_dir}/ended/{scope.digest[:12]}.{scope.attempt}"

    # -- journals

    def note(self, journal: str, entry: Mapping[str, Any]) -> None:
        """Append one line to `<journal>.jsonl`."""
        line = _encode(entry) + "\n"
        handle = self._files.get(journal)
        os.write(self._opened(journal) if handle is None else handle, line.encode())

    def _opened(self, journal: str) -> int:
        with self._lock:
            handle = self._files.get(journal)  # another thread may have been first
            if handle is None:
                os.makedirs(self.run_dir, exist_ok=True)
                path = os.path.join(self.run_dir, f"{journal}.jsonl")
                handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
                self._files[journal] = handle
        return handle

    def read(self, journal: str, offset: int = 0) -> tuple[list[dict[str, Any]], int]:
        """Lines of a journal from a byte offset, and the offset after the last whole line."""
        try:
            with open(os.path.join(self.run_dir, f"{journal}.jsonl"), "rb") as file:
                file.seek(offset)
                data = file.read()
        except FileNotFoundError:
            return [], offset
        whole = data[: data.rfind(b"\n") + 1]
        return list(_entries(whole)), offset + len(whole)

    def close(self) -> None:
        """Close the journals and the claims; a later call opens them again."""
        self._claims.close()
        with self._lock:
            handles, self._files = list(self._files.values()), {}
        for handle in handles:
            os.close(handle)

    def after_fork(self) -> None:
        """In a child: locks and what they guard begin anew; the journals are only appended to and may be shared."""
        self._claims.after_fork()
        self._lock = threading.RLock()
        self._folded, self._folded_read = {}, 0

    def _folder(self, kind: str, name: str) -> str:
        folder = os.path.join(self.run_dir, kind, name)
        if folder not in self._made:
            os.makedirs(folder, exist_ok=True)
            self._made.add(folder)
        return folder


def _equal(scope: Scope, request_digest: str) -> str:
    return f"{scope.digest[:12]}.{scope.worker}.{scope.attempt}.{request_digest[:20]}"


def _entries(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # the line of a process that was killed while it wrote
        if isinstance(entry, dict):
            yield entry


def _create(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
    except FileExistsError:
        return False
    return True


def _remove(path: str) -> bool:
    """Whether it was there, and no other process was first."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True
