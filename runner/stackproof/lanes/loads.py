"""What the cells and checks of a lane cost, from what earlier runs took: the loads that `packing` cuts and packs.

A cell's tests are those of `ci/expected/`, where the project has it, else those that the timings know. That they may be
others by now moves seconds about and nothing else: each part divides the tests that it collects itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from stackproof.catalog.records import Catalog, StackMode
from stackproof.evidence import nodeids
from stackproof.lanes.packing import Load, undivided
from stackproof.lanes.records import Check, Lane
from stackproof.shards import grouping, partition
from stackproof.shards.grouping import Member
from stackproof.shards.partition import Partition
from stackproof.verdict import expected
from stackproof.verdict.policy_records import CellPolicy

# Where nothing is known, in seconds: a start, one in containers, all tests of a cell, a check.
START, START_IN_CONTAINERS, TESTS, CHECK = 5.0, 15.0, 60.0, 20.0


class Earlier(Protocol):
    """What earlier runs took, in seconds."""

    @property
    def rows(self) -> Mapping[str, float]:
        """Tests of JUnit reports, by `evidence.nodeids.row_key`."""

    def tests(self, suite: str, setup: str, stack: str) -> Mapping[str, float]:
        """Each test of a cell; of the suite elsewhere, where the cell has not run."""

    def start(self, suite: str, setup: str, stack: str) -> float | None:
        """A cell beside its tests; None where it has not run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CellCost:
    """A cell, as far as it is known what it takes. tests: None where nobody says which it has.

    start: in seconds; started: that is known and no default. undivided: why it stays in one piece, None where it need
    not. most: parts that it could be cut into. groups: which tests stay together, as far as their names say.
    """

    id: str
    tests: tuple[str, ...] | None
    seconds: Mapping[str, float]
    groups: Mapping[str, str]
    start: float
    started: bool
    undivided: str | None
    most: int
    _divided: dict[int, Partition] = field(default_factory=dict, compare=False, repr=False)

    @property
    def known(self) -> int:
        """How many of its tests have a time."""
        return 0 if self.tests is None else self.divided(1).known

    def divided(self, parts: int) -> Partition:
        """Its tests in so many parts, as the cell divides them if they are the ones that it collects."""
        if parts not in self._divided:
            self._divided[parts] = partition.divide(self.tests or (), parts, seconds=self.seconds, groups=self.groups)
        return self._divided[parts]

    def of(self, part: int, parts: int) -> list[str]:
        """The tests of a part, counted from 1; none where nobody says which it has."""
        return self.divided(parts).of(part)

    def load(self) -> Load:
        """As `packing` takes it, in milliseconds."""
        start, whole = _milliseconds(self.start), sum(self._takes(1))
        if self.undivided is not None:
            return undivided(self.id, start=start, tests=whole)
        return Load(name=self.id, start=start, tests=whole, longest=self._longest(), most=self.most, parts=self._takes)

    def _takes(self, parts: int) -> Sequence[int]:
        if self.tests is None:
            return [_milliseconds(TESTS / parts)] * parts
        return [_milliseconds(seconds) for seconds in self.divided(parts).estimated]

    def _longest(self) -> int:
        """What the tests that stay together take at least: that much is in some part."""
        taken: dict[str, int] = {}
        for test in self.tests or ():
            unit = self.groups.get(test, test)
            taken[unit] = taken.get(unit, 0) + _milliseconds(self.seconds.get(test, 0.0))
        return max(taken.values(), default=0)


def cell_costs(
    lane: Lane, project: Path, things: Catalog, earlier: Earlier, *, jobs: int, together: Sequence[str] = ()
) -> dict[str, CellCost]:
    """Every cell of a lane, by its id, in its order.

    jobs: how many there will be, for a cell of unknown tests. together: ways to keep tests together, beside those of
    their suites; which tests share a fixture is not known here, where nothing is collected.
    """
    return {
        each.cell.id: _cost(each.cell, project, things, earlier, jobs=jobs, together=together) for each in lane.cells
    }


def check_loads(checks: Sequence[Check]) -> list[Load]:
    """The checks, each one piece."""
    return [undivided(check.value, tests=_milliseconds(CHECK)) for check in checks]


def _cost(
    cell: CellPolicy, project: Path, things: Catalog, earlier: Earlier, *, jobs: int, together: Sequence[str]
) -> CellCost:
    known = earlier.tests(cell.suite, cell.setup, cell.stack)
    wanted = expected.load(project, cell.id)
    tests = tuple(sorted(wanted.nodeids if wanted is not None else known)) or None
    seconds = {
        test: found
        for test in tests or ()
        if (found := known.get(test, earlier.rows.get(nodeids.row_key(test)))) is not None
    }
    ways = (*things.suites[cell.suite].together, *together) if cell.suite in things.suites else tuple(together)
    groups = grouping.form([Member(nodeid=test, fixtures={}) for test in tests or ()], ways).names
    start = earlier.start(cell.suite, cell.setup, cell.stack)
    contained = StackMode(cell.stack.partition(":")[0]).in_containers
    return CellCost(
        id=cell.id,
        tests=tests,
        seconds=seconds,
        groups=groups,
        start=(START_IN_CONTAINERS if contained else START) if start is None else start,
        started=start is not None,
        undivided=_undivided(cell, things),
        most=jobs if tests is None else len({groups.get(test, test) for test in tests}),
    )


def _undivided(cell: CellPolicy, things: Catalog) -> str | None:
    suite = things.suites.get(cell.suite)
    if suite is not None and suite.runner is not None:
        return f"{suite.runner.name} runs its tests"
    return None


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
