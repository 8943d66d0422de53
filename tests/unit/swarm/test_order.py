"""What a task is told, and which piece of the run it is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stackproof.errors import StackproofError
from stackproof.options import RunOptions, Source
from stackproof.swarm import bootstrap
from stackproof.swarm import order as orders
from stackproof.swarm.order import Order

OPTIONS = RunOptions(
    setup="ollama", shard="2/3", env=("OPENAI_API_KEY=sk-not-to-be-seen",), sources={"setup": Source.COMMAND_LINE}
)
ORDER = Order(
    run_id="7f3c2a", project=Path("/project"), pieces=(OPTIONS, replace(OPTIONS, shard="3/3")), every=1.0, owner=(7, 8)
)


def test_an_order_comes_as_it_went_and_the_values_of_env_go_another_way() -> None:
    text = ORDER.to_json()
    assert b"sk-not-to-be-seen" not in text
    assert orders.read(text, {"OPENAI_API_KEY": "sk-not-to-be-seen"}) == ORDER


def test_a_task_runs_with_the_python_of_its_image() -> None:
    names: Any = SimpleNamespace(name="base")
    cell: Any = SimpleNamespace(suite=names, setup=names, stack_config="docker-library:desk", shard="1/4")
    assert orders.options_of(cell, replace(OPTIONS, python="/home/me/.venv/bin/python")).python is None


def test_an_order_of_another_version_is_refused() -> None:
    with pytest.raises(StackproofError, match="another version"):
        orders.read(json.dumps({**json.loads(ORDER.to_json()), "schema": 9}).encode(), {})


@pytest.mark.parametrize(("slot", "found"), [("1", (4, 1)), ("2", (7, 2)), ("3", (0, 3))])
def test_the_slot_of_a_task_says_which_piece_it_is_and_which_attempt(slot: str, found: tuple[int, int]) -> None:
    task = orders.TEMPLATE.replace("{{.Task.Slot}}", slot).replace("{{.Node.ID}}", "n0d3")
    assert orders.piece_of(task.replace("{{.Node.Hostname}}", "engine 1"), "4.1,7.2,0.3") == (*found, "engine 1")


def test_the_first_program_of_a_task_is_python_and_knows_where_things_are() -> None:
    python, flag, program = bootstrap.command("/venv/bin/python")
    assert (python, flag) == ("/venv/bin/python", "-c")
    compile(program, "bootstrap", "exec")
    assert "/run/secrets/stackproof" in program
    assert "stackproof.swarm.task" in program
