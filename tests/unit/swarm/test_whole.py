"""Shards that are green, each by itself, and what they are together."""

from __future__ import annotations

import pytest

from stackproof.errors import ExitCode
from stackproof.evidence.outcomes import Outcome, count
from stackproof.evidence.testlog import TestEntry, TestLog
from stackproof.run.judge import CellFacts
from stackproof.shards.left import ShardFacts
from stackproof.shards.records import Shard
from stackproof.swarm import whole

TOTAL = 2


def shard(index: int, *outcomes: str, tests: int, own: int | None = None, partition: str = "p") -> CellFacts:
    names = [f"t{index}.{n}" for n in range(len(outcomes))]
    entries = {name: TestEntry(nodeid=name, outcome=Outcome(word)) for name, word in zip(names, outcomes, strict=True)}
    part = Shard(index=index, total=TOTAL)
    return CellFacts(
        outcome={"exit_code": 0},
        log=TestLog(present=True, collected=tuple(entries), tests=entries, calls={}, exitstatus=0),
        counts=count(entry.outcome for entry in entries.values()),
        shard=part,
        divided=ShardFacts(
            shard=part,
            whole="w",
            partition=partition,
            tests=tests,
            own=len(outcomes) if own is None else own,
            known=0,
            estimated=1.0,
            estimated_whole=2.0,
        ),
    )


@pytest.mark.parametrize(
    "shards",
    [
        [shard(1, "passed", tests=2), shard(2, "passed", tests=2)],
        [shard(1, "skipped", tests=2), shard(2, "passed", tests=2)],
        [shard(1, "passed", tests=1), shard(2, tests=1)],
    ],
)
def test_parts_that_make_the_whole_are_green(shards: list[CellFacts]) -> None:
    assert whole.judge(shards) is None


@pytest.mark.parametrize(
    ("shards", "code", "says"),
    [
        ([shard(1, "skipped", tests=2), shard(2, "skipped", tests=2)], ExitCode.NOTHING_RAN, "nothing ran: 2 skipped"),
        ([shard(1, tests=0), shard(2, tests=0)], ExitCode.NOTHING_RAN, "no test has a result"),
        ([shard(1, "skipped", tests=2), shard(2, "xfailed", tests=2)], ExitCode.NOT_PROVEN, "no test passed"),
        (
            [shard(1, "passed", tests=2), shard(2, "passed", tests=2, partition="q")],
            ExitCode.NOT_PROVEN,
            "did not divide the same tests",
        ),
        ([shard(1, "passed", tests=2), shard(2, "passed", tests=3)], ExitCode.NOT_PROVEN, "did not divide"),
        ([shard(1, "passed", tests=3), shard(2, "passed", tests=3)], ExitCode.NOT_PROVEN, "had 2 tests of 3"),
    ],
)
def test_what_no_shard_knows_alone_is_said(shards: list[CellFacts], code: ExitCode, says: str) -> None:
    found = whole.judge(shards)
    assert found is not None
    assert found.exit_code is code
    assert says in found.reason


def test_a_shard_that_says_nothing_of_itself_makes_no_whole() -> None:
    lacking = CellFacts(outcome={"exit_code": 0}, log=TestLog(present=True), counts=count([]))
    found = whole.judge([shard(1, "passed", tests=1), lacking])
    assert found is not None
    assert found.exit_code is ExitCode.NOT_PROVEN
