"""What a smoke has used of its budget, over its cells and what was asked before them."""

from __future__ import annotations

import json
from pathlib import Path

from stackproof.live.budgets import Spent, as_options
from stackproof.live.order import Limits

FRESH = Spent(limits=Limits(max_requests=10, max_tokens=100, max_seconds=60))


def cell(folder: Path, **more: object) -> Path:
    content = {"requests": [4, 8], "tokens": [30, 90], "seconds": [2.5, 60], "ended_by": None, **more}
    (folder / "budget.json").write_text(json.dumps(content))
    return folder


def test_cells_and_questions_add_up(tmp_path: Path) -> None:
    spent = FRESH.plus(requests=2, tokens=10).with_cell(cell(tmp_path)).with_cell(tmp_path)
    assert spent.words == "10 of 10 requests, 70 of 100 tokens, 5.0 of 60 s"
    assert as_options(spent.left) == {"max_requests": 0, "max_tokens": 30, "max_seconds": 55.0}


def test_a_budget_that_is_just_enough_has_not_ended_anything() -> None:
    spent = FRESH.plus(requests=10)
    assert spent.ended_by is None
    assert spent.exhausted().ended_by == "requests"
    assert spent.exhausted().sentence == "the budget of this run is used up: 10 of 10 requests"


def test_what_ended_a_cell_ended_the_smoke(tmp_path: Path) -> None:
    spent = FRESH.with_cell(cell(tmp_path, ended_by="tokens")).plus(requests=1)
    assert spent.ended_by == "tokens"
    assert spent.sentence == "the budget of this run is used up: 30 of 100 tokens"
    assert spent.to_json() == {"requests": [5, 10], "tokens": [30, 100], "seconds": [2.5, 60], "ended_by": "tokens"}


def test_a_cell_without_its_budget_counts_as_what_went_out(tmp_path: Path) -> None:
    lines = [{"kind": "observed", "status": 200}, {"kind": "missed"}, {"kind": "dropped", "status": None}]
    (tmp_path / "calls.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + "{broken\n")
    assert FRESH.with_cell(tmp_path).requests == 2


def test_a_budget_that_is_damaged_counts_as_nothing_and_breaks_nothing(tmp_path: Path) -> None:
    assert FRESH.with_cell(cell(tmp_path, requests="many", tokens=[], seconds=[True])).requests == 0
