"""The one command that records all that a run has missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof import catalog
from stackproof.evidence.outcomes import Counts
from stackproof.evidence.testlog import TestLog
from stackproof.options import resolve
from stackproof.plan import Plan, make
from stackproof.run import record_all
from stackproof.run.judge import CellFacts

SUITES = "suites: {base: {description: d, roots: [tests/integration/base], default_setup: gpt}}"


@pytest.fixture(name="planned")
def _planned(tmp_path: Path) -> Plan:
    (tmp_path / "tests/integration/base").mkdir(parents=True)
    (tmp_path / "tests/suites.yaml").write_text(SUITES, encoding="utf-8")
    options = resolve({"stack_config": "server:reference", "pattern": "two words", "strict": True}, {}, tmp_path)
    return make(options, catalog.load(tmp_path), tmp_path, "7f3c2a", caller={})


def facts(*kinds: str) -> CellFacts:
    misses = tuple({"kind": kind, "test_id": "a.py::b"} for kind in kinds)
    return CellFacts(outcome={"exit_code": 1}, log=TestLog(), counts=Counts(), misses=misses)


def test_command_is_that_of_the_run_and_records_what_is_missing(planned: Plan) -> None:
    (cell,) = planned.cells
    said = record_all.command(cell, planned.options)
    assert said.startswith("stackproof run --stack-config server:reference --pattern 'two words'")
    assert said.endswith("--inference-mode record-if-missing --strict")


@pytest.mark.parametrize(
    ("kinds", "can"),
    [
        (("nothing-recorded", "no-match"), True),
        (("nothing-recorded",), False),  # it names its command itself
        (("nothing-recorded", "no-scope"), False),
        (("exhausted", "no-match"), False),
        ((), False),
    ],
)
def test_it_is_offered_where_recording_is_what_several_misses_need(
    planned: Plan, kinds: tuple[str, ...], can: bool
) -> None:
    assert record_all.can(facts(*kinds), planned.cells[0]) is can
