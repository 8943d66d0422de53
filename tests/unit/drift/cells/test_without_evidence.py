"""A strict comparison that compared nothing is not proven, and says what is needed first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stackproof import catalog, plan
from stackproof.cli.main import main
from stackproof.drift import telling
from stackproof.errors import ExitCode
from stackproof.evidence.drift import DriftFacts
from stackproof.options import RunOptions, resolve
from stackproof.run import drifted
from stackproof.run.judge import Judgement

if TYPE_CHECKING:
    from tests.unit.drift.conftest import Makers
from tests.unit.drift.cells.conftest import Desk

ROOT = Path(__file__).parents[4]
GREEN = Judgement(exit_code=ExitCode.PASS)
RED = Judgement(exit_code=ExitCode.TESTS, reason="1 failed")


def _ended(desk: Desk, judgement: Judgement = GREEN, **options: object) -> drifted.Drifted:
    given = {"suite": "base", "setup": "ollama", "stack_config": "library:reference", "inference_mode": "verify"}
    chosen: RunOptions = resolve({**given, "strict": True, **options}, {}, ROOT)
    planned = plan.make(chosen, catalog.load(ROOT), ROOT, "abcdef", caller={})
    (cell,) = planned.cells
    return drifted.compare(judgement, cell, desk.cell, replace(planned, project=desk.root), {})


def test_calls_of_which_nothing_is_recorded_are_no_pass_of_a_strict_run(desk: Desk, make: type[Makers]) -> None:
    desk.observe(make.whole(make.chat()))
    ended = _ended(desk).judgement
    assert ended.exit_code is ExitCode.NOT_PROVEN
    assert ended.reason == "nothing was compared; 1 call not recorded (--strict)"
    assert "--inference-mode record-if-missing" in (ended.hint or "")
    assert _ended(desk, strict=False).judgement is GREEN


def test_tests_that_call_nobody_are_no_pass_of_a_strict_run(desk: Desk) -> None:
    desk.ran()
    ended = _ended(desk).judgement
    assert ended.exit_code is ExitCode.NOT_PROVEN
    assert "no test made a call that was seen" in ended.reason
    assert _ended(desk, strict=False).judgement is GREEN


def test_a_shard_may_be_left_with_tests_that_call_nobody(desk: Desk, make: type[Makers]) -> None:
    assert _ended(desk, shard="1/2").judgement is GREEN
    desk.observe(make.whole(make.chat()))
    assert _ended(desk, shard="1/2").judgement.exit_code is ExitCode.NOT_PROVEN


def test_what_failed_stays_what_it_is(desk: Desk) -> None:
    assert _ended(desk, RED).judgement is RED


def test_one_comparison_is_enough(desk: Desk, make: type[Makers]) -> None:
    desk.record(make.whole(make.chat()))
    desk.observe(make.whole(make.chat()))
    assert _ended(desk).judgement is GREEN
    assert desk.say("--strict").code == ExitCode.PASS


@pytest.mark.parametrize(
    ("facts", "next_"),
    [
        (DriftFacts(compared=0, unrecorded=2, refused=1), "record what is missing, then verify again: record it"),
        (DriftFacts(compared=0, refused=1, damaged=("a",)), "the provider refused every call"),
        (DriftFacts(compared=0, damaged=("a",), not_asked=1), "`stackproof recordings check`"),
        (DriftFacts(compared=0, not_asked=1), "the tests no longer make the calls"),
        (DriftFacts(compared=0), "leave --strict out"),
    ],
)
def test_what_comes_next_is_what_is_lacking_first(facts: DriftFacts, next_: str) -> None:
    lacking = telling.unproven(facts, record="record it")
    assert lacking is not None
    assert next_ in lacking.hint


def test_the_command_of_a_finished_run_ends_alike(desk: Desk, make: type[Makers]) -> None:
    desk.observe(make.whole(make.chat()))
    assert desk.say().code == ExitCode.PASS
    for words in ((), ("--json",), ("--markdown",)):
        assert desk.say("--strict", *words).code == ExitCode.NOT_PROVEN


def test_the_command_names_the_cell_and_how_to_record_it(
    desk: Desk, make: type[Makers], capsys: pytest.CaptureFixture[str]
) -> None:
    desk.observe(make.whole(make.chat()))
    assert main(["drift", "--strict", "--json"], environ={}, project=desk.root) == ExitCode.NOT_PROVEN
    err = capsys.readouterr().err
    assert err.startswith("✗ base-gpt-library-reference: nothing was compared; 1 call not recorded (--strict)\n")
    assert "  record what is missing, then verify again: stackproof run" in err
