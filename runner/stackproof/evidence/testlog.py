"""`tests.jsonl`, and `running` beside it: what the pytest plugin saw, test by test, while it happened."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, KeysView, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from stackproof.evidence import jsonfile, running
from stackproof.evidence.outcomes import Counts, Outcome, count, worst

RERUN = "rerun"
_LONGEST = 1e9  # seconds; more is no duration
CALLS = ("replayed", "recorded", "missed", "unused", "live", "refused", "late", "not_promoted", "observed", "retries")


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


class Entries(Mapping[str, TestEntry]):
    """Tests by node id, kept small: of one that passed at once and said nothing, only its seconds are held."""

    def __init__(self, rows: dict[str, float | TestEntry]) -> None:
        self._rows = rows

    def __getitem__(self, nodeid: str) -> TestEntry:
        row = self._rows[nodeid]
        return row if isinstance(row, TestEntry) else _passed(nodeid, row)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def keys(self) -> KeysView[str]:
        """The node ids, as quick as a dictionary's."""
        return self._rows.keys()

    @property
    def rows(self) -> Mapping[str, float | TestEntry]:
        """What is held: seconds, NaN where they are unknown, or an entry."""
        return self._rows

    @classmethod
    def of(cls, tests: Mapping[str, TestEntry]) -> Entries:
        """The same tests; `tests` itself where it is such a table already."""
        return tests if isinstance(tests, cls) else cls(dict(tests))


@dataclass(frozen=True, kw_only=True, slots=True)
class TestLog:
    """The log of a cell. collected: node ids after deselection, None when pytest never said.

    calls: provider calls by kind, None when the plugin wrote none. exitstatus: None when the run never finished.
    running: tests that began and have no outcome. last: the one whose outcome came last. damaged: lines that are no
    events, from `damaged_at` on, which counts from 1.
    """

    __test__ = False

    present: bool = False
    collected: tuple[str, ...] | None = None
    tests: Mapping[str, TestEntry] = field(default_factory=dict)
    calls: Mapping[str, Any] | None = None
    exitstatus: int | None = None
    running: tuple[str, ...] = ()
    last: str | None = None
    damaged: int = 0
    damaged_at: int | None = None

    @property
    def counts(self) -> Counts:
        """Counts over the folded tests."""
        rows = Entries.of(self.tests).rows
        told = [row.outcome for row in rows.values() if isinstance(row, TestEntry)]
        counted = count(told, collected=None if self.collected is None else len(self.collected))
        return replace(counted, passed=counted.passed + len(rows) - len(told))


# A test that passed at once and said nothing, exactly as the plugin writes it (plugin/journal.py): nearly all of a log.
# Any other way to write the same is read as JSON.
_PLAIN = re.compile(
    r'\{"event": "test", "nodeid": "([ !#-\[\]-~]+)", "outcome": "passed", '
    r'"duration": ([0-9]{1,9}\.[0-9]+), "reason": null, "text": null, "attempt": 1\}\n'
)


def read(path: Path) -> TestLog:
    """Read a log and what is beside it; a line that is no event is counted in `damaged`, never an exception."""
    reading = _Reading()
    plain, rows, result_of = _PLAIN.match, reading.rows, reading.rows.get
    number, last = 0, None
    for block in jsonfile.blocks(path):
        at, end = 0, len(block)
        while at < end:
            if (found := plain(block, at)) is not None:
                nodeid, seconds = found.groups()
                if result_of(nodeid) is None:
                    rows[nodeid] = float(seconds)
                    last = nodeid
                    number += 1
                    at = found.end()
                    continue
            cut = block.find("\n", at) + 1 or end
            line, at, number = block[at:cut], cut, number + 1
            reading.last = last
            if not line.isspace() and ((event := jsonfile.parsed(line)) is None or not reading.take(event)):
                reading.damaged += 1
                reading.damaged_at = reading.damaged_at or number
            last = reading.last
    reading.last = last
    begun = running.read(path.with_name(running.NAME), reading.collected or ())
    return reading.log(present=path.is_file(), begun=begun)


def fold(rows: dict[str, float | TestEntry], more: Mapping[str, float | TestEntry]) -> list[str]:
    """Put `more`, rows of another session, into `rows`: of a test in both the worse. The tests that are in both."""
    if rows.keys().isdisjoint(more.keys()):
        rows.update(more)
        return []
    twice = [nodeid for nodeid in more if nodeid in rows]
    for nodeid, row in more.items():
        before = rows.get(nodeid)
        rows[nodeid] = row if before is None else _both(_whole(nodeid, before), _whole(nodeid, row))
    return twice


class _Reading:
    """What a log has said so far."""

    def __init__(self) -> None:
        self.collected: tuple[str, ...] | None = None
        self.rows: dict[str, float | TestEntry | None] = {}  # None of a collected test that has no result
        self.reruns: dict[str, int] = {}
        self.calls: Mapping[str, Any] | None = None
        self.exitstatus: int | None = None
        self.last: str | None = None
        self.damaged = 0
        self.damaged_at: int | None = None

    def take(self, event: dict[str, Any]) -> bool:
        """Take in one event; whether it is one."""
        match event.get("event"):
            case "test":
                return self._test(event)
            case "collected":
                listed = dict.fromkeys((*(self.collected or ()), *jsonfile.strings(event, "nodeids")))
                self.collected = tuple(listed)
                self.rows.update({**listed, **self.rows})
            case "calls":
                self.calls = event
            case "finished":
                self.exitstatus = jsonfile.number(event, "exitstatus")
            case _:
                return False
        return True

    def _test(self, event: dict[str, Any]) -> bool:
        nodeid = event.get("nodeid")
        if not isinstance(nodeid, str):
            return False
        if event.get("outcome") == RERUN:
            self.reruns[nodeid] = self.reruns.get(nodeid, 0) + 1
            self.rows[nodeid] = None  # the attempt that is repeated does not count
            return True
        entry = _entry(event)
        if entry is None:
            return False
        if entry.attempts > 1:  # reruns may be told by the attempt alone
            entry = _rerun(entry, 0)
        self.last = nodeid
        before = self.rows.get(nodeid)
        self.rows[nodeid] = _small(entry) if before is None else _both(_whole(nodeid, before), entry)
        return True

    def _ended(self, nodeid: str) -> int:
        """How many attempts of a test have ended."""
        row = self.rows.get(nodeid)
        return self.reruns.get(nodeid, 0) if row is None else _whole(nodeid, row).attempts

    def log(self, *, present: bool, begun: Iterable[tuple[str, int]]) -> TestLog:
        """All of it, with reruns told. begun: tests and their attempts, the last that began."""
        began = (nodeid for nodeid, attempt in begun if attempt > self._ended(nodeid))
        still = tuple(dict.fromkeys(began))
        for nodeid, number in self.reruns.items():
            if (row := self.rows.get(nodeid)) is not None:
                self.rows[nodeid] = _rerun(_whole(nodeid, row), number)
        for nodeid in [nodeid for nodeid, row in self.rows.items() if row is None]:
            del self.rows[nodeid]
        return TestLog(
            present=present,
            collected=self.collected,
            tests=Entries(cast("dict[str, float | TestEntry]", self.rows)),
            calls=self.calls,
            exitstatus=self.exitstatus,
            running=still,
            last=self.last,
            damaged=self.damaged,
            damaged_at=self.damaged_at,
        )


def _small(entry: TestEntry) -> float | TestEntry:
    """The seconds alone of a test that says nothing else."""
    seconds = math.nan if entry.seconds is None else entry.seconds
    return seconds if entry == _passed(entry.nodeid, seconds) else entry


def _passed(nodeid: str, seconds: float) -> TestEntry:
    return TestEntry(nodeid=nodeid, outcome=Outcome.PASSED, seconds=None if math.isnan(seconds) else seconds)


def _whole(nodeid: str, row: float | TestEntry) -> TestEntry:
    return row if isinstance(row, TestEntry) else _passed(nodeid, row)


def _seconds(value: object) -> float:
    """NaN where it is no duration."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    return float(value) if 0 <= value <= _LONGEST else math.nan


def _entry(event: Mapping[str, Any]) -> TestEntry | None:
    nodeid = jsonfile.text(event, "nodeid")
    try:
        outcome = Outcome(event.get("outcome", ""))
    except ValueError:
        return None
    if nodeid is None:
        return None
    duration = _seconds(event.get("duration"))
    return TestEntry(
        nodeid=nodeid,
        outcome=outcome,
        reason=jsonfile.text(event, "reason"),
        text=jsonfile.text(event, "text"),
        seconds=None if math.isnan(duration) else duration,
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
