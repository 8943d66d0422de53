"""How long tests took before: from run folders, from a file that a project keeps, from JUnit reports of others.

What a file holds never decides whether a run is green: it decides who runs what. So a damaged one is said, not fatal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stackproof.evidence import junit
from stackproof.evidence.junit_cases import PARTS
from stackproof.shards import timings_file, timings_runs
from stackproof.shards.timings_table import CellKey, CellTimes, Gathered
from stackproof.shards.timings_words import missing


@dataclass(frozen=True, kw_only=True, slots=True)
class Timings:
    """cells: by suite, setup and stack as `--stack-config` has it. rows: seconds by the two names of a JUnit report.

    problems: one sentence each on what could not be read.
    """

    cells: Mapping[CellKey, CellTimes] = field(default_factory=dict)
    rows: Mapping[str, float] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def tests(self, suite: str, setup: str, stack: str) -> Mapping[str, float]:
        """Seconds by node id: of this very cell; of tests that it has not, of the same suite elsewhere."""
        mine = CellKey(suite=suite, setup=setup, stack=stack)
        found: dict[str, float] = {}
        # What is nearest comes last: the same stack with another setup says less than the same setup.
        for key in sorted(self.cells, key=lambda key: (key.setup == setup, key.stack == stack, key)):
            if key.suite == suite and key != mine:
                found |= self.cells[key].tests
        return found | dict(self.cells[mine].tests) if mine in self.cells else found

    def start(self, suite: str, setup: str, stack: str) -> float | None:
        """Seconds that a cell takes beside its tests; of the same stack elsewhere where this cell never ran."""
        mine = self.cells.get(CellKey(suite=suite, setup=setup, stack=stack))
        if mine is not None and mine.start is not None:
            return mine.start
        others = sorted(each.start for key, each in self.cells.items() if key.stack == stack and each.start is not None)
        return others[len(others) // 2] if others else None

    @property
    def count(self) -> int:
        """Times of tests, over all cells and reports."""
        return sum(len(cell.tests) for cell in self.cells.values()) + len(self.rows)


def read(paths: Iterable[Path | str], *, project: Path = Path()) -> Timings:
    """Everything that these paths know, the median where they know several times.

    A path is a file of `stackproof timings`, a JUnit report, a run folder, or a folder of such in whatever depth; one
    that is relative begins at `project`, and is called as it was given. UsageError for one that is not there.
    """
    gathered = Gathered()
    for path in paths:
        place = project / path
        if place.is_dir():
            _folder(place, gathered)
        elif place.is_file():
            _file(place, gathered)
        else:
            raise missing(path)
    problems = tuple(problem.removeprefix(f"{project}/") for problem in gathered.problems)
    return Timings(cells=gathered.cells(), rows=gathered.row_seconds(), problems=problems)


def _folder(path: Path, gathered: Gathered) -> None:
    if timings_runs.gather(path, gathered):
        return
    reports = [found for found in sorted(path.rglob("*")) if found.suffix in (".xml", ".json") and found.is_file()]
    if not reports:
        gathered.problems.append(f"{path}: no run of stackproof and no JUnit report is in there")
    for report in reports:
        _file(report, gathered)


def _file(path: Path, gathered: Gathered) -> None:
    if path.suffix == ".xml":
        _report(path, gathered)
    else:
        timings_file.gather(path, gathered)


def _report(path: Path, gathered: Gathered) -> None:
    report = junit.read(path)
    gathered.problems += [f"{path}: {problem.text}" for problem in report.problems]
    for name, seconds in _rows(report):
        gathered.row(name, seconds)


def _rows(report: junit.Report) -> Iterator[tuple[str, float]]:
    for case in report.cases:
        if case.seconds is not None:
            yield f"{case.classname}{PARTS}{case.name}", case.seconds


__all__ = ["CellKey", "CellTimes", "Timings", "read"]
