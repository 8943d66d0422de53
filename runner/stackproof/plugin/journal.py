"""`tests.jsonl`: each test's outcome as it becomes known, for whoever watches or weighs the run.

Beside it `running` (`evidence.running`): the tests that have no outcome yet.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from stackproof.evidence import running
from stackproof.plugin import no_room, session_setup

MISSES = "provider calls without a recording"
"""The title of a report's section with what a test missed that failed by itself."""

_NO_BODY = "it was set up and not run (--setup-only, --setup-plan)"


class Journal:
    """Writes the lines in the process that sees every report (the only one, or xdist's controller)."""

    def __init__(self, path: Path) -> None:
        self._folder = path.parent
        path.parent.mkdir(parents=True, exist_ok=True)
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._phases: dict[str, list[pytest.TestReport]] = {}
        self._collected = False
        self._attempt: dict[str, int] = {}
        self._running = _Running(path.with_name(running.NAME))
        self.passed: dict[str, bool] = {}
        self.missed: dict[str, str] = {}
        """Of tests that failed by themselves: node id → the calls that had no recording, which pytest does not show."""

    def write(self, event: str, **facts: Any) -> None:
        """Append one event."""
        line = json.dumps({"event": event, **facts}, ensure_ascii=True)
        with no_room.ending(self._folder):
            os.write(self._handle, line.encode() + b"\n")

    def collected(self, nodeids: Sequence[str]) -> None:
        """The tests that are going to run; said once."""
        if not self._collected:
            self._collected = True
            self.write("collected", nodeids=list(nodeids))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note that a test begins: should the process end inside of it, nothing else would tell which one it was."""
        with no_room.ending(self._folder):
            self._running.begins(nodeid, self._attempt.get(nodeid, 0) + 1)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Gather the phases of a test; write it when its teardown is reported."""
        if report.when not in ("setup", "call", "teardown"):
            self._write_test(report.nodeid, [report])  # a worker crashed in this test
            return
        phases = self._phases.setdefault(report.nodeid, [])
        phases.append(report)
        if report.when == "teardown":
            self._write_test(report.nodeid, self._phases.pop(report.nodeid))

    def _write_test(self, nodeid: str, phases: list[pytest.TestReport]) -> None:
        outcome = _outcome(phases)
        attempt = self._attempt[nodeid] = self._attempt.get(nodeid, 0) + 1
        if outcome == "rerun":  # no start of the next attempt is told
            self._running.begins(nodeid, attempt + 1)
        else:
            self._running.ended(nodeid)
        self.passed[nodeid] = outcome in ("passed", "xpassed")
        self.missed.pop(nodeid, None)
        if told := _sections(phases):
            self.missed[nodeid] = "\n".join(told)
        self.write(
            "test",
            nodeid=nodeid,
            outcome=outcome,
            duration=round(sum(report.duration for report in phases), 4),
            reason=_reason(phases),
            text=_text(phases),
            attempt=attempt,
            **_shared(phases),
        )

    def close(self) -> None:
        """No more events."""
        os.close(self._handle)
        self._running.close()


class _Running:
    """The file of the tests that are being run: several where xdist runs them, each with a place of its own in it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None  # other runners say nothing of a test before it has ended
        self._places: dict[str, int] = {}
        self._free: list[int] = []

    def begins(self, nodeid: str, attempt: int) -> None:
        """In one write, which whatever ends this process afterwards cannot take back."""
        if self._handle is None:
            self._handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        place = self._places.get(nodeid)
        if place is None:
            place = self._places[nodeid] = self._free.pop() if self._free else len(self._places)
        os.pwrite(self._handle, running.record(nodeid, attempt), place * running.SIZE)

    def ended(self, nodeid: str) -> None:
        """The next test may have its place."""
        if (place := self._places.pop(nodeid, None)) is not None:
            self._free.append(place)

    def close(self) -> None:
        """No more tests."""
        if self._handle is not None:
            os.close(self._handle)


def _outcome(phases: Sequence[pytest.TestReport]) -> str:
    """The worse of set-up, call and teardown."""
    outcomes = [str(report.outcome) for report in phases]
    if "rerun" in outcomes:  # pytest-rerunfailures: this attempt is going to be repeated
        return "rerun"
    for report in phases:
        if report.failed:
            return "failed" if report.when in ("call", "???") else "error"
    for report in phases:
        if hasattr(report, "wasxfail"):
            return "xfailed" if report.skipped else "xpassed"
    return "skipped" if "skipped" in outcomes or _no_body(phases) else "passed"


def _no_body(phases: Sequence[pytest.TestReport]) -> bool:
    """Whether the test was set up and torn down and nothing else, as with --setup-only and --setup-plan."""
    return any(report.when == "setup" and report.passed for report in phases) and not any(
        report.when == "call" for report in phases
    )


def _sections(phases: Sequence[pytest.TestReport]) -> list[str]:
    return [text for report in phases for title, text in report.sections if title == MISSES]


def _shared(phases: Sequence[pytest.TestReport]) -> dict[str, float]:
    """`session`: seconds of `duration` that went into fixtures of the session, where there are any."""
    spent = round(sum(map(session_setup.seconds, phases)), 4)
    return {"session": spent} if spent else {}


def _reason(phases: Sequence[pytest.TestReport]) -> str | None:
    for report in phases:
        if report.skipped:
            if hasattr(report, "wasxfail"):
                return str(report.wasxfail)
            if isinstance(report.longrepr, tuple):
                return str(report.longrepr[2]).removeprefix("Skipped: ")
            return str(report.longrepr)
    return _NO_BODY if _outcome(phases) == "skipped" else None


def _text(phases: Sequence[pytest.TestReport]) -> str | None:
    texts = []
    for report in phases:
        if report.failed or str(report.outcome) == "rerun":
            texts += [report.longreprtext, *_sections([report])]
    return "\n".join(texts) or None
