"""`stackproof policy update`: writes what is expected of each cell from a run that somebody has looked at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from stackproof.errors import NotProvenError
from stackproof.evidence import read as evidence
from stackproof.evidence.outcomes import Outcome
from stackproof.evidence.read import CellFacts
from stackproof.verdict import expected, policy
from stackproof.verdict.claims_rule import as_cell, unable_tests
from stackproof.verdict.expected import Expectation
from stackproof.verdict.tests_of import tests_of

_MARKED = (Outcome.XFAILED, Outcome.XPASSED)


def update_expected(project: Path, run_dir: Path) -> list[str]:
    """Write `ci/expected/<cell>.json` for every cell of the policy that the run holds; a line per change.

    NotProvenError, before anything is written, when a cell did not run to its end or the run holds none of them: what
    such a run did not get to would no longer be expected.
    """
    found = evidence.read(run_dir)
    rules = policy.load(project)
    wanted = expected.names(rules)
    cells = {name: found.cells[name] for name in wanted if name in found.cells}
    unable: frozenset[str] = frozenset()
    if rules.claims is not None and found.claims is not None and found.claims.only is None:
        cells[expected.CLAIMS] = as_cell(found.claims)
        unable = unable_tests(found.claims, rules.claims.claims)
    if not cells:
        raise NotProvenError(f"{run_dir.name} holds no cell of the policy", hint=f"the policy has {', '.join(wanted)}")
    new = {name: _expectation(cell, unable) for name, cell in cells.items()}
    lines: list[str] = []
    for name, expectation in new.items():
        lines += _changes(name, expected.load(project, name), expectation)
        expected.save(project, name, expectation)
    missing = [name for name in wanted if name not in cells]
    lines += [f"{name}: not in this run, left as it is" for name in missing]
    stale = sorted(path.stem for path in (project / expected.FOLDER).glob("*.json") if path.stem not in wanted)
    return lines + [f"{name}: no cell of the policy, its file can go" for name in stale]


def _expectation(cell: CellFacts, unable: frozenset[str]) -> Expectation:
    """unable: tests of claims that the machine of the run cannot serve; elsewhere they run, so no skip is expected."""
    if cell.log.collected is None or cell.log.exitstatus is None or cell.report.problems:
        raise NotProvenError(f"{cell.id} did not run to its end, so nobody knows which tests it has")
    if without := sorted(set(cell.log.collected) - cell.log.tests.keys()):
        raise NotProvenError(f"{cell.id}: {len(without)} collected tests have no outcome, as {without[0]}")
    if not cell.log.collected:
        raise NotProvenError(f"{cell.id} collected no test")
    facts = [fact for fact in tests_of(cell).facts if fact.name not in unable]
    return Expectation(
        nodeids=frozenset(cell.log.collected),
        skips={fact.name: fact.reason or "" for fact in facts if fact.outcome is Outcome.SKIPPED},
        xfails=frozenset(fact.name for fact in facts if fact.outcome in _MARKED),
    )


def _changes(name: str, old: Expectation | None, new: Expectation) -> Iterator[str]:
    before = old or Expectation(nodeids=frozenset())
    yield f"{name}: {len(new.nodeids)} tests, {len(new.skips)} skipped, {len(new.xfails)} expected to fail"
    if old is None:
        return
    for sign, tests in (("+", new.nodeids - before.nodeids), ("-", before.nodeids - new.nodeids)):
        yield from (f"  {sign} {test}" for test in sorted(tests))
    for test in sorted(new.skips.keys() | before.skips.keys()):
        if new.skips.get(test) != before.skips.get(test):
            yield f"  skip {test}: {before.skips.get(test, 'ran')} -> {new.skips.get(test, 'runs')}"
    for test in sorted(new.xfails ^ before.xfails):
        yield f"  {'now' if test in new.xfails else 'no longer'} expected to fail: {test}"
