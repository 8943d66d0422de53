"""Whether shards that are all green make a green cell: what no single one of them can know."""

from __future__ import annotations

from collections.abc import Sequence

from stackproof.errors import ExitCode
from stackproof.evidence.outcomes import count
from stackproof.run.judge import CellFacts, Judgement


def judge(shards: Sequence[CellFacts]) -> Judgement | None:
    """What is wrong with the cell that these shards are all of; None where nothing is. Each of them has passed."""
    divided = [shard.divided for shard in shards if shard.divided is not None]
    if len(divided) < len(shards) or len({(part.partition, part.tests) for part in divided}) > 1:
        return Judgement(
            exit_code=ExitCode.NOT_PROVEN,
            reason="the shards did not divide the same tests in the same way",
            hint="are tests made of what a machine has, its clock, its processors? `stackproof verdict` says more",
        )
    tests, own = (divided[0].tests, sum(part.own for part in divided)) if divided else (0, 0)
    if own != tests:
        return Judgement(exit_code=ExitCode.NOT_PROVEN, reason=f"the shards had {own} tests of {tests}")
    counts = count(entry.outcome for shard in shards for entry in shard.log.tests.values())
    if not counts.total:
        return Judgement(exit_code=ExitCode.NOTHING_RAN, reason="no test has a result")
    if counts.total == counts.skipped:
        return Judgement(exit_code=ExitCode.NOTHING_RAN, reason=f"nothing ran: {counts.words()}")
    if counts.total == counts.skipped + counts.xfailed:
        return Judgement(exit_code=ExitCode.NOT_PROVEN, reason=f"no test passed: {counts.words()}")
    return None
