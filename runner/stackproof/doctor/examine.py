"""Runs the checks side by side, each with a deadline of its own; what goes wrong in one is a finding of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from stackproof.doctor.checks import Check
from stackproof.doctor.finding import Finding, Level, odd
from stackproof.doctor.place import Place
from stackproof.errors import ExitCode, StackproofError


@dataclass(frozen=True, kw_only=True, slots=True)
class Examined:
    """What one check came to. seconds: how long it took."""

    check: Check
    findings: tuple[Finding, ...]
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Examination:
    """What all of them came to, in their order."""

    checks: tuple[Examined, ...] = field(default=())

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, check by check."""
        return tuple(finding for examined in self.checks for finding in examined.findings)

    def count(self, level: Level) -> int:
        """How many findings are of a level."""
        return sum(finding.level is level for finding in self.findings)

    @property
    def exit_code(self) -> ExitCode:
        """NOT_PROVEN when something is missing that a replay needs: nothing could be proven here. Else PASS."""
        return ExitCode.NOT_PROVEN if self.count(Level.MISSING) else ExitCode.PASS


class _Work:
    """One check at work, in a thread that nobody has to wait for."""

    def __init__(self, check: Check, place: Place) -> None:
        self._check, self._place = check, place
        self._findings: tuple[Finding, ...] = ()
        self._seconds = 0.0
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._run, daemon=True, name=f"doctor-{check.name}")
        self._thread.start()

    def result(self) -> Examined:
        """What it found, or that it did not come to its end in time."""
        self._thread.join(max(0.0, self._began + self._check.deadline - time.monotonic()))
        if self._thread.is_alive():
            return self._examined((_late(self._check),), time.monotonic() - self._began)
        return self._examined(self._findings, self._seconds)

    def _examined(self, findings: tuple[Finding, ...], seconds: float) -> Examined:
        return Examined(check=self._check, findings=findings, seconds=seconds)

    def _run(self) -> None:
        try:
            self._findings = self._check.run(self._place)
        except StackproofError as error:
            hint = error.hint or f"mend that, then: stackproof doctor --only {self._check.name}"
            self._findings = (odd(f"{self._check.name}.failed", self._check.name, error.message, hint),)
        except Exception as error:  # noqa: BLE001 - a doctor that falls ill over what it finds helps nobody
            self._findings = (_failed(self._check, error),)
        self._seconds = time.monotonic() - self._began


def examine(checks: Iterable[Check], place: Place) -> Examination:
    """Run the checks; back when the last has ended, or its deadline has passed."""
    works = [_Work(check, place) for check in checks if place.is_project or not check.in_project]
    return Examination(checks=tuple(work.result() for work in works))


def _late(check: Check) -> Finding:
    return odd(
        f"{check.name}.late",
        check.name,
        f"did not come to its end within {check.deadline:g} s, so nothing is known of {check.asks}",
        f"is something it asks for hanging? once more: stackproof doctor --only {check.name}",
    )


def _failed(check: Check, error: Exception) -> Finding:
    # Only the kind of it: its text may quote what was read.
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    line = "" if where is None else f" at {where.tb_frame.f_globals.get('__name__', '?')}:{where.tb_lineno}"
    return odd(
        f"{check.name}.failed",
        check.name,
        f"the check itself failed ({type(error).__name__}{line}), so nothing is known of {check.asks}",
        "this is a defect of Stackproof: report it, with what `stackproof --version` says",
    )
