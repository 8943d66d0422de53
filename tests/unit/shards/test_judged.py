"""What is green as a part of a cell, and never as the whole of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stackproof.errors import ExitCode
from stackproof.evidence.outcomes import Outcome, count
from stackproof.evidence.testlog import TestEntry, TestLog
from stackproof.run.judge import CellFacts, judge
from stackproof.shards import left
from stackproof.shards.left import ShardFacts
from stackproof.shards.records import Shard

SHARD = Shard(index=2, total=9)


def divided(own: int, tests: int = 5, shard: Shard = SHARD) -> ShardFacts:
    return ShardFacts(
        shard=shard, whole="w", partition="d", tests=tests, own=own, known=0, estimated=own, estimated_whole=tests
    )


def cell(code: int, *outcomes: str, shard: Shard | None = SHARD, part: ShardFacts | None = None) -> CellFacts:
    tests = {f"t{n}": TestEntry(nodeid=f"t{n}", outcome=Outcome(word)) for n, word in enumerate(outcomes)}
    log = TestLog(present=True, collected=tuple(tests), tests=tests, calls={}, exitstatus=code)
    counts = count(entry.outcome for entry in tests.values())
    return CellFacts(outcome={"exit_code": code, "error": None}, log=log, counts=counts, shard=shard, divided=part)


@pytest.mark.parametrize(
    ("facts", "code", "said"),
    [
        (cell(5, part=divided(0)), ExitCode.PASS, "no test is left for shard 2/9: there are 5 in all"),
        (cell(5, part=divided(0, tests=0)), ExitCode.NOTHING_RAN, "no test was collected"),
        (cell(5, shard=None), ExitCode.NOTHING_RAN, "no test was collected"),
        (cell(5, part=divided(2)), ExitCode.NOT_PROVEN, "shard 2/9 has 2 of 5 tests, and pytest was left with 0"),
        (cell(0, "passed", part=divided(2)), ExitCode.NOT_PROVEN, "has 2 of 5 tests, and pytest was left with 1"),
        (cell(0, "skipped", part=divided(1)), ExitCode.PASS, "no test of shard 2/9 passed: 1 skipped"),
        (cell(0, "skipped", "xfailed", part=divided(2)), ExitCode.PASS, "no test of shard 2/9 passed"),
        (cell(0, "skipped", shard=None), ExitCode.NOTHING_RAN, "nothing ran"),
        (cell(0, "passed", part=divided(1)), ExitCode.PASS, ""),
        (cell(0, "passed"), ExitCode.NOT_PROVEN, "nothing says which of them are shard 2/9"),
        (cell(5), ExitCode.NOT_PROVEN, "nothing says which of them are shard 2/9"),
        (cell(0, "passed", part=divided(1, shard=replace(SHARD, index=3))), ExitCode.NOT_PROVEN, "not divided"),
        (cell(1, "failed", part=divided(1)), ExitCode.TESTS, "1 failed"),
    ],
)
def test_a_part_is_judged_as_a_part(facts: CellFacts, code: ExitCode, said: str) -> None:
    found = judge(facts)
    assert found.exit_code is code
    assert said in found.reason


def test_a_recording_that_nobody_used_fails_a_strict_shard_too() -> None:
    facts = cell(0, "skipped", part=divided(1))
    log = replace(facts.log, calls={"unused": 1, "unused_files": ["x.json"]})
    assert judge(replace(facts, log=log, strict=True)).exit_code is ExitCode.RECORDINGS


def test_what_a_shard_leaves_is_read_as_it_was_written(tmp_path: Path) -> None:
    facts = replace(divided(2), estimated=1.25, estimated_whole=3.5, known=4, notes=("a", "b"))
    left.write(tmp_path, facts)
    assert left.read(tmp_path) == facts
    assert facts.words() == "shard 2/9: 2 of 5 tests, about 1.2 s of 3.5 s (times of 4 are known)"


@pytest.mark.parametrize("seconds", ["1" * 400, "1e999", "-1", "NaN", "true"])
def test_an_estimate_that_is_none_counts_nothing(tmp_path: Path, seconds: str) -> None:
    left.write(tmp_path, replace(divided(2), estimated=1.25))
    path = tmp_path / left.NAME
    path.write_text(path.read_text().replace("1.25", seconds))
    found = left.read(tmp_path)
    assert found is not None
    assert found.estimated == 0.0


@pytest.mark.parametrize(
    ("before", "after"),
    [('"total": 9', '"total": 1000001'),
     ('"index": 2', '"index": 10'), ('"index": 2', '"index": 0'), ('"own": 2', '"own": 6'), ('"own": 2', '"own": "2"'),
     ('"schema": 1', '"schema": 2'), ('"partition": "d"', '"partition": 1'), ('"tests": 5', '"tests": true')],
)  # fmt: skip
def test_what_cannot_be_is_no_shard(tmp_path: Path, before: str, after: str) -> None:
    left.write(tmp_path, divided(2))
    path = tmp_path / left.NAME
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after))
    assert left.read(tmp_path) is None
