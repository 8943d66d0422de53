"""`tests.jsonl`: what the pytest plugin saw, test by test, while it happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackproof.evidence import jsonfile
from stackproof.evidence.outcomes import Counts, Outcome, count, worst

RERUN = "rerun"
CALLS = ("replayed", "recorded", "missed", "unused", "live", "refused", "late", "not_promoted")


@dataclass(frozen=True, kw_only=True, slots=True)
class TestEntry:
    """One test as the plugin saw it, set-up, call, teardown and reruns folded.

    report: its class name and name in the JUnit report; None where they follow from the node id, as pytest writes them.
    """

    __test__ = False  # pytest collects classes by this name

    nodeid: str
    outcome: Outcome
    reason: str | None = None
    text: str | None = None
    seconds: float | None = None
    attempts: int = 1
    report: tuple[str, str] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TestLog:
    """The log of a cell. collected: node ids after deselection, None when pytest never said.

    calls: provider calls by kind, None when the plugin wrote none. exitstatus: None when the run never finished.
    damaged: lines that are no events.
    """

    __test__ = False

    present: bool = False
    collected: tuple[str, ...] | None = None
    tests: Mapping[str, TestEntry] = field(default_factory=dict)
    calls: Mapping[str, Any] | None = None
    exitstatus: int | None = None
    damaged: int = 0

    @property
    def counts(self) -> Counts:
        """Counts over the folded tests."""
        return count(
            (entry.outcome for entry in self.tests.values()),
            collected=None if self.collected is None else len(self.collected),
        )


def read(path: Path) -> TestLog:
    """Read a log; a line that is no event is counted in `damaged`, never an exception."""
    collected: tuple[str, ...] | None = None
    entries: dict[str, TestEntry] = {}
    reruns: dict[str, int] = {}
    calls: Mapping[str, Any] | None = None
    exitstatus: int | None = None
    damaged = 0
    for event in jsonfile.lines(path):
        match event.get("event") if event else None:
            case "collected" if event:
                collected = tuple(dict.fromkeys((*(collected or ()), *jsonfile.strings(event, "nodeids"))))
            case "test" if event and event.get("outcome") == RERUN and (nodeid := jsonfile.text(event, "nodeid")):
                reruns[nodeid] = reruns.get(nodeid, 0) + 1
                entries.pop(nodeid, None)  # the attempt that is repeated does not count
            case "test" if event and (entry := _entry(event)):
                entries[entry.nodeid] = _both(entries[entry.nodeid], entry) if entry.nodeid in entries else entry
            case "calls" if event:
                calls = event
            case "finished" if event:
                exitstatus = jsonfile.number(event, "exitstatus")
            case _:
                damaged += 1
    return TestLog(
        present=path.is_file(),
        collected=collected,
        tests={nodeid: _rerun(entry, reruns.get(nodeid, 0)) for nodeid, entry in entries.items()},
        calls=calls,
        exitstatus=exitstatus,
        damaged=damaged,
    )


def _entry(event: Mapping[str, Any]) -> TestEntry | None:
    nodeid = jsonfile.text(event, "nodeid")
    try:
        outcome = Outcome(event.get("outcome", ""))
    except ValueError:
        return None
    if nodeid is None:
        return None
    duration = event.get("duration")
    return TestEntry(
        nodeid=nodeid,
        outcome=outcome,
        reason=jsonfile.text(event, "reason"),
        text=jsonfile.text(event, "text"),
        seconds=float(duration) if isinstance(duration, int | float) and not isinstance(duration, bool) else None,
        attempts=jsonfile.number(event, "attempt") or 1,
        report=_pair(event.get("report")),
    )


def _pair(value: object) -> tuple[str, str] | None:
    match value:
        case [str(classname), str(name)]:
            return classname, name
        case _:
            return None


def _both(first: TestEntry, second: TestEntry) -> TestEntry:
    known = [value for value in (first.seconds, second.seconds) if value is not None]
    return TestEntry(
        nodeid=first.nodeid,
        outcome=worst((first.outcome, second.outcome)),
        reason=first.reason or second.reason,
        text="\n".join(filter(None, (first.text, second.text))) or None,
        seconds=sum(known) if known else None,
        attempts=max(first.attempts, second.attempts),
        report=first.report or second.report,
    )


def _rerun(entry: TestEntry, reruns: int) -> TestEntry:
    attempts = max(entry.attempts, reruns + 1)
    flaky = attempts > 1 and entry.outcome is Outcome.PASSED
    return TestEntry(
        nodeid=entry.nodeid,
        outcome=Outcome.FLAKY if flaky else entry.outcome,
        reason=entry.reason,
        text=entry.text,
        seconds=entry.seconds,
        attempts=attempts,
        report=entry.report,
    )
