"""`stackproof policy check`: what in the policy is of no use any more. A run says more, and is not needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from stackproof.catalog.records import Catalog
from stackproof.evidence.gather import gather
from stackproof.evidence.outcomes import Outcome
from stackproof.verdict import accepted, expected, policy
from stackproof.verdict.policy import PATH, Policy
from stackproof.verdict.tests_of import tests_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What a run of this commit has shown: the outcome of each test, by cell."""

    run: str
    outcomes: Mapping[str, Mapping[str, Outcome]]

    def without_failure(self, test: str, cells: Iterable[str]) -> str | None:
        """How a test ended in those of `cells` that ran; None where it failed in one, or ran in none."""
        found = [self.outcomes[cell][test] for cell in cells if test in self.outcomes.get(cell, {})]
        if not found or any(outcome.bad for outcome in found):
            return None
        skipped = all(outcome is Outcome.SKIPPED for outcome in found)
        return "was skipped" if skipped else "did not fail"


def seen(run_dir: Path, commit: str | None) -> Seen | None:
    """What `run_dir` has shown; None where it is of another commit, and says nothing about this one."""
    found = gather([run_dir])
    if commit is None or found.manifest.commit != commit:
        return None
    return Seen(
        run=run_dir.name,
        outcomes={
            name: {fact.name: fact.outcome for fact in tests_of(cell).facts} for name, cell in found.cells.items()
        },
    )


def check(project: Path, catalog: Catalog, today: date, seen: Seen | None = None) -> list[str]:
    """A line for everything that is wrong; none when all is well. seen: a run, to tell which waivers are stale.

    UsageError when the policy or an expectation cannot be read, or the policy names a suite or setup that is unknown.
    """
    rules = policy.load(project)
    for cell in rules.cells:
        where = f"{PATH.as_posix()}, cell {cell.id}"
        catalog.suite(cell.suite, where=where)
        catalog.setup(cell.setup, where=where)
        catalog.stack(cell.stack.partition(":")[2], where=where)
    for setup in rules.live.setups if rules.live is not None else ():
        catalog.setup(setup, where=f"{PATH.as_posix()}, live")
    return [*_expected(project, expected.names(rules)), *_waivers(project, rules, today, seen)]


def _expected(project: Path, names: list[str]) -> Iterator[str]:
    for name in names:
        if expected.load(project, name) is None:
            yield f"{expected.FOLDER.as_posix()}/{name}.json is missing: stackproof policy update"
    for path in sorted((project / expected.FOLDER).glob("*.json")):
        if path.stem not in (*names, accepted.NAME):
            yield f"{expected.FOLDER.as_posix()}/{path.name} belongs to no cell of the policy"


def _waivers(project: Path, rules: Policy, today: date, seen: Seen | None) -> Iterator[str]:
    for waiver in rules.waivers:
        where = f"{PATH.as_posix()}:{waiver.line}: waiver for {waiver.test} ({waiver.owner})"
        if today > waiver.expires:
            yield f"{where} expired on {waiver.expires.isoformat()}"
        cells = [cell.id for cell in rules.cells if waiver.cell in (None, cell.id)]
        known = [found for name in cells if (found := expected.load(project, name)) is not None]
        of_claims = expected.load(project, expected.CLAIMS)
        if of_claims is not None and waiver.test in of_claims.nodeids:
            yield f"{where} has no effect: its test serves a claim, and no waiver covers those"
        elif known and not any(waiver.test in found.nodeids for found in known):
            yield f"{where} is retired: no cell expects its test"
        elif seen is not None and (ended := seen.without_failure(waiver.test, cells)) is not None:
            yield f"{where} is stale: its test {ended} in run {seen.run}"
