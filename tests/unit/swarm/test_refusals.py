"""What no swarm can carry out is said before anything is started, with what to do instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from stackproof.catalog.records import ProviderSpec, SetupSpec, StackMode, StackSpec, SuiteSpec
from stackproof.errors import UsageError
from stackproof.options import RunOptions
from stackproof.plan import Cell, Plan
from stackproof.recorder.mode import Mode
from stackproof.run import orchestrate
from stackproof.swarm import coordinator, pieces, refusals

HERE = Path()
SETUP = SetupSpec(
    name="ollama",
    description="",
    source=HERE,
    env={"OLLAMA_URL": "http://localhost:11434/v1"},
    secrets=("OLLAMA_KEY",),
    providers=(ProviderSpec(name="ollama", variable="OLLAMA_URL"),),
)
CELL = Cell(
    suite=SuiteSpec(name="base", description="", roots=("tests",), default_setup="ollama", source=HERE),
    setup=SETUP,
    stack=StackSpec(name="toy", description="", folder=HERE, modes=(StackMode.LIBRARY,), source=HERE),
    mode=StackMode.LIBRARY,
    inference_mode=Mode.REPLAY,
    service=None,
    paths=("tests",),
)
LIVE = replace(CELL, inference_mode=Mode.LIVE)


def plan(cell: Cell = CELL, **options: Any) -> Plan:
    given = RunOptions(engine="swarm", shards=3, **options)
    return Plan(run_id="7f3c2a", project=HERE, run_dir=HERE, cells=(cell,), options=given)


def test_a_replay_of_a_library_is_welcome() -> None:
    refusals.check(plan(), {})


@pytest.mark.parametrize(
    ("planned", "caller", "says", "hint"),
    [
        (plan(coverage="html"), {}, "--coverage", "leave out --engine swarm"),
        (plan(keep=True), {}, "--keep", "leave out --engine swarm"),
        (plan(collect_only=True), {}, "--collect-only", "leave out --engine swarm"),
        (plan(provider_service="x"), {}, "--provider-service", "leave out --engine swarm"),
        (plan(post_command="x"), {}, "--post-command", "leave out --engine swarm"),
        (plan(replace(CELL, mode=StackMode.DOCKER)), {}, "start none", "--stack-config server:toy"),
        (plan(replace(CELL, mode=StackMode.DOCKER_LIBRARY)), {}, "start none", "--stack-config library:toy"),
        (plan(replace(CELL, mode=StackMode.REMOTE)), {}, "runs already", "leave out"),
        (plan(LIVE), {}, "OLLAMA_URL is http://localhost:11434/v1", "--env OLLAMA_URL="),
        (plan(LIVE), {"OLLAMA_URL": "http://127.0.0.1:1/"}, "127.0.0.1:1", "--env OLLAMA_URL="),
    ],
)
def test_what_it_cannot_do_it_says(planned: Plan, caller: Mapping[str, str], says: str, hint: str) -> None:
    with pytest.raises(UsageError, match=says) as raised:
        refusals.check(planned, caller)
    assert hint in (raised.value.hint or "")


def test_a_run_that_is_refused_leaves_no_folder_behind(tmp_path: Path) -> None:
    refused = replace(plan(keep=True), project=tmp_path, run_dir=tmp_path / "runs" / "7f3c2a")
    with pytest.raises(UsageError, match="--keep"):
        orchestrate.execute(refused, console=Console(quiet=True), environ={})
    assert list(tmp_path.iterdir()) == []


def test_a_provider_that_the_nodes_can_reach_is_welcome() -> None:
    refusals.check(plan(LIVE, env=("OLLAMA_URL=http://provider.test/v1",)), {})
    refusals.check(plan(LIVE), {"OLLAMA_URL": "http://provider.test/v1"})


def test_keys_go_to_the_tasks_only_where_a_provider_is_called() -> None:
    caller = {"OLLAMA_KEY": "sk-key", "OLLAMA_URL": "http://provider.test/v1", "HOME": "/home/me", "OTHER_KEY": "x"}
    given = {"OLLAMA_URL": "http://provider.test/v1"}
    assert coordinator._variables(plan(), caller) == given
    assert coordinator._variables(plan(LIVE), caller) == {**given, "OLLAMA_KEY": "sk-key"}
    assert coordinator._variables(plan(env=("MORE=1",)), {}) == {"MORE": "1"}


def test_every_cell_is_cut_in_as_many_shards_and_each_has_a_name_that_no_other_has() -> None:
    other = replace(CELL, mode=StackMode.SERVER)
    found = pieces.of_plan(replace(plan(), cells=(CELL, other)))
    assert [piece.title for piece in found] == [
        *(f"base library:toy {index}/3" for index in (1, 2, 3)),
        *(f"base server:toy {index}/3" for index in (1, 2, 3)),
    ]
    assert [piece.title for piece in pieces.of_plan(plan())] == ["base 1/3", "base 2/3", "base 3/3"]
    assert len({piece.cell.id for piece in found}) == 6
