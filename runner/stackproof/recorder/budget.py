"""What a run may spend on real calls, and has spent: one account for all of its processes, in files of the run folder.

`budget` is one line of JSON of a fixed length, read and written again under a lock that the kernel gives back when its
holder dies. A request is taken out before it is sent, so the one beyond the limit never leaves, whichever process it
comes from. Tokens are known only afterwards, and the call after the one that went over is refused. What is spent stands
in `spent.jsonl`; tokens are appended to it without any lock, since the garbage collector ends a forgotten stream in the
middle of anything.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .ledger import Ledger
from .usage import Tokens

NAME = "budget"
FACTS = "budget.json"
"""Where a run leaves `Budget.facts` for those who weigh it."""

_SPENT = "spent"
_LENGTH = 512
_EMPTY: Mapping[str, Any] = {
    "requests": 0, "input": 0, "output": 0, "unknown": 0, "refused": 0, "read": 0, "began": None, "stopped": None,
    "ended_by": None,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What may be spent; None where there is no limit."""

    requests: int | None = None
    tokens: int | None = None
    seconds: float | None = None


class Budget:
    """Safe to use from several threads and processes, and after a fork. clock: of all machines that share the folder.

    It is the time of day: a container may live on another machine than its tests, which counts from another start.
    """

    def __init__(self, limits: Limits, ledger: Ledger, clock: Callable[[], float] = time.time) -> None:
        self._limits = limits
        self._path = os.path.join(ledger.run_dir, NAME)
        self._ledger = ledger
        self._clock = clock

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit at all."""
        return self._limits != Limits()

    def begin(self) -> None:
        """The first test begins: its seconds count from now on. Told again, it changes nothing."""
        with self._account() as account:
            if account["began"] is None:
                account["began"] = self._clock()

    def stop(self) -> None:
        """The tests are over: seconds count no more."""
        with self._account() as account:
            if account["stopped"] is None:
                account["stopped"] = self._clock()

    def spend(self) -> str | None:
        """Take one request out of it; why it must not be sent, where something is used up."""
        with self._account() as account:
            account["ended_by"] = account["ended_by"] or self._exceeded(account)
            if account["ended_by"] is not None:
                account["refused"] += 1
                return self._told(account)
            self._ledger.note(_SPENT, {"request": 1})
            return None

    def add(self, tokens: Tokens | None) -> None:
        """What an answer has used; None where it should have said so and did not."""
        told = {"unknown": 1} if tokens is None else {"input": tokens.input, "output": tokens.output}
        self._ledger.note(_SPENT, told)

    def ended(self, *, before_test: bool = False) -> str | None:
        """Why nothing more goes out; None while something may, or nothing was refused yet.

        before_test: time that is up is reason enough not to begin another one.
        """
        if not self.is_limited:
            return None
        with self._account() as account:
            if before_test and account["ended_by"] is None and self._exceeded(account) == "seconds":
                account["ended_by"] = "seconds"
            return None if account["ended_by"] is None else self._told(account)

    def facts(self) -> dict[str, Any]:
        """Of each kind what was used and the limit (None: there is none); what ended the run and why, if anything did.

        input and output are the two kinds of tokens, unknown is the number of answers that did not say.
        """
        with self._account() as account:
            return {
                "requests": [account["requests"], self._limits.requests],
                "tokens": [account["input"] + account["output"], self._limits.tokens],
                "seconds": [round(self._elapsed(account), 3), self._limits.seconds],
                "ended_by": account["ended_by"],
                "why": None if account["ended_by"] is None else self._told(account),
                "refused": account["refused"],
                "input": account["input"],
                "output": account["output"],
                "unknown": account["unknown"],
            }

    def _exceeded(self, account: Mapping[str, Any]) -> str | None:
        limits = self._limits
        if limits.requests is not None and account["requests"] >= limits.requests:
            return "requests"
        if limits.tokens is not None and account["input"] + account["output"] >= limits.tokens:
            return "tokens"
        if limits.seconds is not None and self._elapsed(account) >= limits.seconds:
            return "seconds"
        return None

    def _elapsed(self, account: Mapping[str, Any]) -> float:
        if account["began"] is None:
            return 0.0
        until = self._clock() if account["stopped"] is None else account["stopped"]
        return max(0.0, float(until) - float(account["began"]))

    def _told(self, account: Mapping[str, Any]) -> str:
        match account["ended_by"]:
            case "requests":
                what = f"{account['requests']:,} of {self._limits.requests or 0:,} requests"
            case "tokens":
                what = f"{account['input'] + account['output']:,} of {self._limits.tokens or 0:,} tokens"
            case _:
                what = f"{self._limits.seconds or 0:.15g} seconds are over"
        return f"the budget of this run is used up: {what}"

    @contextmanager
    def _account(self) -> Iterator[dict[str, Any]]:
        """What was spent so far by everybody, to be changed; nobody else has it meanwhile."""
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        # Opened each time: a lock belongs to the open file, which threads would share.
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            raw = os.pread(handle, _LENGTH, 0)
            account = {**_EMPTY, **(json.loads(raw) if raw else {})}
            before = dict(account)
            self._read_on(account)
            yield account
            if account != before:
                os.pwrite(handle, json.dumps(account).ljust(_LENGTH - 1).encode() + b"\n", 0)
        finally:
            # Not by closing alone: a child that was forked meanwhile has the open file, too, and would keep the lock.
            fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)

    def _read_on(self, account: dict[str, Any]) -> None:
        entries, account["read"] = self._ledger.read(_SPENT, account["read"])
        for entry in entries:
            account["requests"] += entry.get("request", 0)
            account["unknown"] += entry.get("unknown", 0)
            account["input"] += entry.get("input", 0)
            account["output"] += entry.get("output", 0)
