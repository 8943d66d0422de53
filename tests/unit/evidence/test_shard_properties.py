"""A run that was cut in shards at random and put together again says what the whole says, whoever brings what."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from stackproof.evidence import digests, jsonfile, merge
from stackproof.evidence.gather import gather
from stackproof.evidence.junit import Case, Report
from stackproof.evidence.nodeids import junit_key
from stackproof.evidence.outcomes import Outcome
from stackproof.shards import left
from stackproof.shards.partition import divide
from stackproof.shards.records import Shard
from stackproof.verdict import render
from stackproof.verdict.current import Current
from stackproof.verdict.decide import decide
from stackproof.verdict.expected import Expectation
from stackproof.verdict.policy import CellPolicy, Policy
from stackproof.verdict.records import State, Verdict

WANTED = CellPolicy(suite="base", setup="ollama", stack="library:x")
TESTS = tuple(f"tests/test_a.py::test_{letter}" for letter in "abcdefg")
COMMIT, POLICY = "c" * 40, "p" * 64
SKIP = "r"
OUTCOMES = st.fixed_dictionaries(
    {test: st.sampled_from([Outcome.PASSED, Outcome.PASSED, Outcome.PASSED, *Outcome]) for test in TESTS}
)
GREEN = st.fixed_dictionaries({test: st.just(Outcome.PASSED) for test in TESTS})
TIMES = st.fixed_dictionaries({}, optional={test: st.floats(0, 100) for test in TESTS})
TOTALS = st.integers(min_value=1, max_value=9)
_SHARD = re.compile(r"^shard \d+/\d+: ")


def write(run: Path, tests: Mapping[str, Outcome], part: left.ShardFacts | None = None, began: int = 0) -> Path:
    """A run folder with the cell, or a shard of it."""
    name = WANTED.id if part is None else f"{WANTED.id}.{part.shard.slug}"
    cell = run / "cells" / name
    cell.mkdir(parents=True)
    code = int(any(outcome.bad for outcome in tests.values())) if tests else 5
    lines: list[Mapping[str, object]] = [{"event": "collected", "nodeids": list(tests)}]
    lines += [
        {
            "event": "test",
            "nodeid": test,
            "outcome": "passed" if outcome is Outcome.FLAKY else outcome.value,
            "duration": 0.5,
            "reason": SKIP if outcome in (Outcome.SKIPPED, Outcome.XFAILED) else None,
            "text": "E   assert 1 == 2" if outcome.bad else None,
            "attempt": 2 if outcome is Outcome.FLAKY else 1,
        }
        for test, outcome in tests.items()
    ]
    lines += [{"event": "calls", "replayed": len(tests)}, {"event": "finished", "exitstatus": code}]
    (cell / "tests.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    cases = tuple(
        Case(suite="pytest", classname=junit_key(test)[0], name=junit_key(test)[1], outcome=seen(outcome), seconds=0.5)
        for test, outcome in tests.items()
    )
    merge.write(cell / "junit.xml", {"": Report(path=Path("no"), cases=cases)})
    if part is not None:
        left.write(cell, part)
    names = {
        "id": name,
        "suite": "base",
        "setup": "ollama",
        "stack": "x",
        "inference_mode": "replay",
        "whole": WANTED.id,
    }
    shard = None if part is None else {"index": part.shard.index, "total": part.shard.total}
    jsonfile.write(
        cell / "result.json",
        {
            "schema": 1,
            "kind": "cell",
            "cell": {**names, "shard": shard},
            "run_id": run.name,
            "commit": COMMIT,
            "dirty": False,
            "digests": {"policy": POLICY, "suite": "s", "recordings": "r"},
            "exit_code": code,
            "sealed": "namespace",
            "started": f"2026-12-{1 + began:02}T10:00:00+00:00",
            "stopped": f"2026-12-{1 + began:02}T10:01:00+00:00",
            "command": f"stackproof run --suite base --shard {part.shard}" if part else "stackproof run --suite base",
        },
    )
    jsonfile.write(
        run / "manifest.json",
        {
            "schema": 1,
            "run_id": run.name,
            "commit": COMMIT,
            "dirty": False,
            "policy": POLICY,
            "files": {f"cells/{name}/{each.name}": {"sha256": digests.file(each)} for each in cell.iterdir()},
        },
    )
    return run


def seen(outcome: Outcome) -> Outcome:
    """As a report of pytest has it."""
    return {Outcome.FLAKY: Outcome.PASSED, Outcome.XPASSED: Outcome.PASSED}.get(outcome, outcome)


@contextmanager
def cut(tests: Mapping[str, Outcome], total: int, seconds: Mapping[str, float]) -> Iterator[tuple[Path, list[Path]]]:
    """The run folder of the whole, and those of its shards, each by a clock of its own."""
    parts = divide(list(tests), total, seconds=seconds)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        shards = []
        for index in range(1, total + 1):
            own = parts.of(index)
            facts = left.ShardFacts(
                shard=Shard(index=index, total=total),
                whole=WANTED.id,
                partition=parts.digest,
                tests=len(tests),
                own=len(own),
                known=parts.known,
                estimated=0.0,
                estimated_whole=0.0,
            )
            shards.append(write(root / f"s{index}", {test: tests[test] for test in own}, facts, began=index))
        yield write(root / "whole", tests), shards


def weigh(folders: Sequence[Path]) -> Verdict:
    """Over these, of tests that are all expected."""
    now = Current(
        commit=COMMIT,
        dirty=False,
        policy=POLICY,
        today=date(2026, 12, 1),
        suites={WANTED.id: "s"},
        recordings={WANTED.id: "r"},
        expected={WANTED.id: Expectation(nodeids=frozenset(TESTS), skips={TESTS[0]: SKIP})},
    )
    return decide(Policy(cells=(WANTED,)), gather(folders), now)


def told(verdict: Verdict) -> dict[str, tuple[State, frozenset[tuple[str, ...]]]]:
    """Of each rule its state, and what it found that counts, whichever shard it was found in.

    As words without their order: where a sentence lists tests, shards come one after the other.
    """
    return {
        rule.id: (rule.state, frozenset(words(each.text) for each in rule.findings if each.state is not State.PASS))
        for rule in verdict.rules
    }


def words(text: str) -> tuple[str, ...]:
    return tuple(sorted(_SHARD.sub("", text).replace(",", " ").split()))


def cell_state(verdict: Verdict) -> State:
    return next(rule.state for rule in verdict.rules if rule.id == f"cell:{WANTED.id}")


@settings(max_examples=20, deadline=None)
@given(OUTCOMES, TOTALS, TIMES)
def test_shards_together_say_what_the_whole_says(
    tests: dict[str, Outcome], total: int, seconds: dict[str, float]
) -> None:
    with cut(tests, total, seconds) as (whole, shards):
        alone, together = weigh([whole]), weigh(shards)
        assert told(together) == told(alone)
        assert together.state is alone.state
        assert together.exit_code is alone.exit_code


@settings(max_examples=12, deadline=None)
@given(OUTCOMES, TOTALS, st.randoms(use_true_random=False))
def test_the_order_of_folders_does_not_matter(tests: dict[str, Outcome], total: int, chance: object) -> None:
    with cut(tests, total, {}) as (_, shards):
        shuffled = list(shards)
        chance.shuffle(shuffled)  # type: ignore[attr-defined]
        assert render.to_json(weigh(shards)) == render.to_json(weigh(shuffled))


@settings(max_examples=12, deadline=None)
@given(GREEN, TOTALS, TIMES, st.data())
def test_without_any_one_of_them_nothing_is_proven(
    tests: dict[str, Outcome], total: int, seconds: dict[str, float], data: st.DataObject
) -> None:
    with cut(tests, total, seconds) as (_, shards):
        assert cell_state(weigh(shards)) is State.PASS
        gone = data.draw(st.sampled_from(shards))
        rest = [each for each in shards if each is not gone]
        assert not rest or cell_state(weigh(rest)) is State.NOT_PROVEN


@settings(max_examples=12, deadline=None)
@given(OUTCOMES, TOTALS, st.data())
def test_what_is_brought_twice_changes_nothing(tests: dict[str, Outcome], total: int, data: st.DataObject) -> None:
    with cut(tests, total, {}) as (_, shards):
        again = [
            shutil.copytree(each, each.with_name(f"copy-of-{each.name}"))
            for each in data.draw(st.lists(st.sampled_from(shards), unique=True))
        ]
        assert told(weigh([*shards, *again])) == told(weigh(shards))


@settings(max_examples=12, deadline=None)
@given(GREEN, OUTCOMES, TOTALS, st.data())
def test_running_a_shard_again_hides_no_failure(
    tests: dict[str, Outcome], others: dict[str, Outcome], total: int, data: st.DataObject
) -> None:
    with cut(tests, total, {}) as (_, shards), cut(others, total, {}) as (_, other):
        at = data.draw(st.integers(min_value=0, max_value=total - 1))
        with_other = [*shards[:at], other[at], *shards[at + 1 :]]
        renamed = other[at].rename(other[at].with_name("again"))
        with_other[at] = renamed
        both = weigh([*shards, renamed])
        assert cell_state(both).severity >= cell_state(weigh(with_other)).severity
