"""`stackproof policy check`: what in the policy is of no use any more. Needs no run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

from stackproof.catalog.records import Catalog
from stackproof.verdict import accepted, expected, policy
from stackproof.verdict.policy import PATH


def check(project: Path, catalog: Catalog, today: date) -> list[str]:
    """A line for everything that is wrong; none when all is well.

    UsageError when the policy or an expectation cannot be read, or the policy names a suite or setup that is unknown.
    """
    rules = policy.load(project)
    for cell in rules.cells:
        where = f"{PATH.as_posix()}, cell {cell.id}"
        catalog.suite(cell.suite, where=where)
        catalog.setup(cell.setup, where=where)
        catalog.stack(cell.stack.partition(":")[2], where=where)
    return [*_expected(project, expected.names(rules)), *_waivers(project, rules, today)]


def _expected(project: Path, names: list[str]) -> Iterator[str]:
    for name in names:
        if expected.load(project, name) is None:
            yield f"{expected.FOLDER.as_posix()}/{name}.json is missing: stackproof policy update"
    for path in sorted((project / expected.FOLDER).glob("*.json")):
        if path.stem not in (*names, accepted.NAME):
            yield f"{expected.FOLDER.as_posix()}/{path.name} belongs to no cell of the policy"


def _waivers(project: Path, rules: policy.Policy, today: date) -> Iterator[str]:
    for waiver in rules.waivers:
        where = f"{PATH.as_posix()}:{waiver.line}: waiver for {waiver.test} ({waiver.owner})"
        if today > waiver.expires:
            yield f"{where} expired on {waiver.expires.isoformat()}"
        cells = [cell.id for cell in rules.cells if waiver.cell in (None, cell.id)]
        known = [found for name in cells if (found := expected.load(project, name)) is not None]
        if known and not any(waiver.test in found.nodeids for found in known):
            yield f"{where} matches no expected test"
