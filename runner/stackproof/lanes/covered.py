"""What of the release policy the lanes of a trigger leave out: their verdict could never be a PASS."""

from __future__ import annotations

from stackproof.lanes.records import Check, Matrix, Trigger
from stackproof.verdict.policy_records import Policy


def asked(rules: Policy) -> tuple[Check, ...]:
    """The checks that the policy wants evidence of, in the order in which they run."""
    wanted = {
        Check.CLAIMS: rules.claims is not None,
        Check.TYPES: rules.typecheck is not None,
        Check.BENCHMARKS: bool(rules.benchmarks),
        Check.RECORDINGS: True,
    }
    return tuple(check for check, there in wanted.items() if there)


def missing(matrix: Matrix, rules: Policy, trigger: Trigger) -> list[str]:
    """Cells, by their titles, and checks that no lane of `trigger` holds."""
    lanes = matrix.unasked(trigger)
    cells = {each.cell.id for lane in lanes for each in lane.cells}
    checks = {check for lane in lanes for check in lane.checks}
    return [
        *(cell.title for cell in rules.cells if cell.id not in cells),
        *(check.value for check in asked(rules) if check not in checks),
    ]
