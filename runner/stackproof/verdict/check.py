"""`stackproof policy check`: what in the policy is of no use any more. A run says more, and is not needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from pathlib import Path

from stackproof.catalog.records import Catalog
from stackproof.evidence.gather import gather
from stackproof.evidence.outcomes import Outcome
from stackproof.verdict import accepted, expected, policy
from stackproof.verdict.policy import PATH, Policy, Waiver
from stackproof.verdict.tests_of import tests_of


class Kind(StrEnum):
    """What is wrong with a waiver or an expectation."""

    MISSING = "missing"
    LEFT_OVER = "left-over"
    EXPIRED = "expired"
    WITHOUT_EFFECT = "without-effect"
    RETIRED = "retired"
    STALE = "stale"


@dataclass(frozen=True, kw_only=True, slots=True)
class Complaint:
    """One thing that is wrong. text: the whole line; file: of the project; line: in it, None where all of it is meant.

    test: that a waiver is for, None where it is about an expectation.
    """

    kind: Kind
    text: str
    file: str
    line: int | None = None
    test: str | None = None


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
    """A line for everything that is wrong; none when all is well. As `complaints`."""
    return [each.text for each in complaints(project, catalog, today, seen)]


def complaints(project: Path, catalog: Catalog, today: date, seen: Seen | None = None) -> list[Complaint]:
    """Everything that is wrong; nothing when all is well. seen: a run, to tell which waivers are stale.

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


def _expected(project: Path, names: list[str]) -> Iterator[Complaint]:
    for name in names:
        if expected.load(project, name) is None:
            file = f"{expected.FOLDER.as_posix()}/{name}.json"
            yield Complaint(kind=Kind.MISSING, text=f"{file} is missing: stackproof policy update", file=file)
    for path in sorted((project / expected.FOLDER).glob("*.json")):
        if path.stem not in (*names, accepted.NAME):
            file = f"{expected.FOLDER.as_posix()}/{path.name}"
            yield Complaint(kind=Kind.LEFT_OVER, text=f"{file} belongs to no cell of the policy", file=file)


def _waivers(project: Path, rules: Policy, today: date, seen: Seen | None) -> Iterator[Complaint]:
    for waiver in rules.waivers:
        if today > waiver.expires:
            yield _about(waiver, Kind.EXPIRED, f"expired on {waiver.expires.isoformat()}")
        cells = [cell.id for cell in rules.cells if waiver.cell in (None, cell.id)]
        known = [found for name in cells if (found := expected.load(project, name)) is not None]
        of_claims = expected.load(project, expected.CLAIMS)
        if of_claims is not None and waiver.test in of_claims.nodeids:
            words = "has no effect: its test serves a claim, and no waiver covers those"
            yield _about(waiver, Kind.WITHOUT_EFFECT, words)
        elif known and not any(waiver.test in found.nodeids for found in known):
            yield _about(waiver, Kind.RETIRED, "is retired: no cell expects its test")
        elif seen is not None and (ended := seen.without_failure(waiver.test, cells)) is not None:
            yield _about(waiver, Kind.STALE, f"is stale: its test {ended} in run {seen.run}")


def _about(waiver: Waiver, kind: Kind, words: str) -> Complaint:
    file = PATH.as_posix()
    text = f"{file}:{waiver.line}: waiver for {waiver.test} ({waiver.owner}) {words}"
    return Complaint(kind=kind, text=text, file=file, line=waiver.line, test=waiver.test)
