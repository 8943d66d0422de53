"""What a run with faults says of recordings: what was replaced was asked for, what was not asked for is not known."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest


def _usage_tests() -> Any:
    path = Path(__file__).parents[1] / "recordings" / "test_usage.py"
    name = "stackproof_faults_usage"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


known = _usage_tests()
runs = known.runs
Use, TEST, OTHER = known.Use, known.TEST, known.OTHER


def _injected(cell: Path, nodeid: str, file: str = "") -> None:
    line = {"kind": "injected", "scope": nodeid, "test_id": nodeid, "attempt": 1, "n": 1, "fault": "status:500"}
    with (cell / "calls.jsonl").open("a") as journal:
        journal.write(json.dumps({**line, **({"file": file} if file else {})}) + "\n")


def test_what_a_status_took_the_place_of_was_asked_for(runs: Any) -> None:
    cell = runs.add("aaaaaa", {TEST: "passed", OTHER: "passed"})
    _injected(cell, TEST, f"{runs.root}/recordings/{known.name_of(TEST)}")
    assert runs.use(TEST) is Use.USED
    # Without a fault, a test that passes and does not ask has no use for its recording.
    assert runs.use(OTHER) is Use.UNUSED


def test_a_test_with_a_fault_proves_nothing_of_what_it_did_not_ask_for(runs: Any) -> None:
    _injected(runs.add("aaaaaa", {TEST: "passed", OTHER: "passed"}), TEST)
    assert runs.use(TEST) is Use.UNOBSERVED


@pytest.mark.parametrize("options", [{}, {"inject": ["cut:3"]}])
def test_a_run_with_faults_for_all_asks_for_less_than_its_suite(runs: Any, options: dict[str, Any]) -> None:
    runs.add("aaaaaa", {TEST: "passed", OTHER: "passed"}, fixtures=(known.FIXTURE,), options=options)
    assert runs.use(known.FIXTURE) is (Use.UNOBSERVED if options else Use.UNUSED)
