"""Whether a session of tests went to its end, and its exit code says what its tests say: in sentences, unjudged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from stackproof.errors import ExitCode
from stackproof.evidence.read import CellFacts
from stackproof.plaintext import counted

_PYTEST_CODES = {
    2: "pytest was interrupted or could not collect (exit code 2)",
    3: "pytest broke internally (exit code 3)",
    4: "pytest could not start, for instance because a conftest.py does not import (exit code 4)",
    5: "pytest found no test (exit code 5)",
}


def not_ended(cell: CellFacts) -> Iterator[str]:
    """Why a session is not known to have gone to its end with all that it collected; nothing where it did."""
    if cell.signal is not None:
        yield f"the run was ended by {cell.signal}"
    if cell.exit_code is None:
        yield f"{cell.runner} did not end by itself"
    if not cell.log.present:
        yield "tests.jsonl is missing"
        return
    if cell.log.damaged:
        yield f"tests.jsonl holds {cell.log.damaged} lines that are no events, from line {cell.log.damaged_at} on"
    if cell.log.exitstatus is None:
        seen, inside = len(cell.log.tests), f"; it ended inside of {listed(cell.log.running)}"
        of = "" if cell.log.collected is None else f" of {len(cell.log.collected)}"
        ended_in = inside if cell.log.running else ""
        yield f"the test session never finished: {seen}{of} tests have a result{ended_in}"
    elif cell.exit_code is not None and cell.log.exitstatus != cell.exit_code:
        yield f"{cell.runner} ended with {cell.exit_code}, its session with {cell.log.exitstatus}"
    if cell.log.collected is None:
        yield f"{cell.runner} never said which tests it collected"
        return
    told = cell.log.tests.keys()
    # Without a set: a million names would be held once more.
    if len(cell.log.collected) == len(told) and all(nodeid in told for nodeid in cell.log.collected):
        return
    collected = frozenset(cell.log.collected)
    if without := sorted(collected - told):
        have = "has" if len(without) == 1 else "have"
        yield f"{counted(len(without), 'collected test')} {have} no outcome: {listed(without)}"
    if beside := sorted(told - collected):
        yield f"{counted(len(beside), 'test')} not collected, with an outcome: {listed(beside)}"


def unfit(cell: CellFacts, bad: Sequence[str]) -> Iterator[str]:
    """Why the exit code of a session does not say what its tests say. bad: those that failed."""
    match cell.exit_code:
        case None | ExitCode.RECORDINGS:
            return
        case 0 if bad:
            yield f"{cell.runner} ended with exit code 0, and {counted(len(bad), 'test')} failed: {listed(bad)}"
        case 1 if not bad:
            yield f"{cell.runner} ended with exit code 1, and no test in the report failed"
        case 0 | 1:
            return
        case code:
            words = _PYTEST_CODES.get(code, f"pytest ended with exit code {code}")
            yield words.replace("pytest", cell.runner, 1)


def listed(names: Iterable[str], shown: int = 3) -> str:
    """The first names, and how many more there are."""
    every = list(names)
    more = f", and {len(every) - shown} more" if len(every) > shown else ""
    return ", ".join(every[:shown]) + more
