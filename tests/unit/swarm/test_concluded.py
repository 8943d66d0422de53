"""The end of a run on a swarm: one outcome for each shard, `swarm.json`, and what a person reads."""

from __future__ import annotations

import io
import json
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from stackproof.catalog.records import SetupSpec, StackMode, StackSpec, SuiteSpec
from stackproof.errors import DockerError, ExitCode
from stackproof.options import RunOptions
from stackproof.plan import Cell, Plan
from stackproof.recorder.mode import Mode
from stackproof.run.interrupts import Interrupted
from stackproof.run.screen import Screen
from stackproof.shards import left
from stackproof.shards.left import ShardFacts
from stackproof.swarm import concluded, pieces
from stackproof.swarm.concluded import Ended
from stackproof.swarm.pieces import Piece, Try

HERE = Path()
CELL = Cell(
    suite=SuiteSpec(name="base", description="", roots=("tests",), default_setup="local", source=HERE),
    setup=SetupSpec(name="local", description="", source=HERE, secrets=("TOY_KEY",)),
    stack=StackSpec(name="toy", description="", folder=HERE, modes=(StackMode.LIBRARY,), source=HERE),
    mode=StackMode.LIBRARY,
    inference_mode=Mode.REPLAY,
    service=None,
    paths=("tests",),
)


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """A run of one cell in two shards."""
    options = RunOptions(engine="swarm", shards=2)
    return Plan(run_id="7f3c2a", project=tmp_path, run_dir=tmp_path / "run", cells=(CELL,), options=options)


def delivered(plan: Plan, piece: Piece, outcome: str, *, tests: int = 2) -> None:
    """The evidence of a shard with one test."""
    folder = plan.run_dir / "cells" / piece.cell.id
    folder.mkdir(parents=True)
    code = 1 if outcome == "failed" else 0
    (folder / "outcome.json").write_text(json.dumps({"exit_code": code, "error": None, "sealed": "namespace"}))
    nodeid = f"tests/test_it.py::test_{piece.number}"
    events: list[dict[str, Any]] = [
        {"event": "collected", "nodeids": [nodeid]},
        {"event": "test", "nodeid": nodeid, "outcome": outcome, "text": "what went wrong"},
        {"event": "finished", "exitstatus": code},
    ]
    (folder / "tests.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    assert piece.cell.shard is not None
    facts = ShardFacts(
        shard=piece.cell.shard, whole=piece.cell.whole_id, partition="p", tests=tests, own=1, known=0, estimated=1.0,
        estimated_whole=2.0,
    )  # fmt: skip
    left.write(folder, facts)
    piece.by = 1


def tried(piece: Piece, **more: Any) -> Try:
    known = {"number": 1, "service": "s", "slot": 0, "begun": 10.0, "node": "n1", "host": "engine-1", **more}
    return Try(piece=piece.number, cell=piece.cell.id, **known)


def finish(plan: Plan, found: list[Piece], **more: Any) -> tuple[list[tuple[ExitCode, str]], str]:
    plan.run_dir.mkdir(exist_ok=True)
    out = io.StringIO()
    screen = Screen(Console(file=out, width=200), live=False)
    ended = Ended(**{"broken": None, "began": 9.0, "seconds": 12.5, **more})
    outcomes = concluded.outcomes(plan, found, ended, screen, {})
    return [(each.exit_code, each.summary) for each in outcomes], out.getvalue()


def test_green_shards_are_a_green_cell(plan: Plan) -> None:
    found = pieces.of_plan(plan)
    for piece in found:
        delivered(plan, piece, "passed")
    outcomes, said = finish(plan, found, tries=[tried(piece, over=20.0) for piece in found])
    assert [code for code, _ in outcomes] == [ExitCode.PASS, ExitCode.PASS]
    assert "base 2/2  2 passed" in said
    assert "shards: 2 of 2 delivered, by 1 node" in said
    assert "PASS  base × local × library:toy in 12.5 s" in said
    told = json.loads((plan.run_dir / "swarm.json").read_text())
    assert [shard["attempts"][0]["over"] for shard in told["shards"]] == [11.0, 11.0]


def test_nodes_of_the_same_name_are_several(plan: Plan) -> None:
    found = pieces.of_plan(plan)
    for piece in found:
        delivered(plan, piece, "passed")
    _, said = finish(plan, found, tries=[tried(piece, over=20.0, node=f"n{piece.number}") for piece in found])
    assert "shards: 2 of 2 delivered, by 2 nodes" in said


def test_a_failure_is_shown_and_named_with_its_shard(plan: Plan) -> None:
    found = pieces.of_plan(plan)
    delivered(plan, found[0], "passed")
    delivered(plan, found[1], "failed")
    outcomes, said = finish(plan, found)
    assert [code for code, _ in outcomes] == [ExitCode.PASS, ExitCode.TESTS]
    assert "✗ tests/test_it.py::test_1" in said
    assert "what went wrong" in said
    assert "FAIL  base × local × library:toy in 12.5 s: 1 failed (shard 2/2)" in said


def test_a_shard_that_nobody_delivered_is_named_and_the_others_are_kept(plan: Plan) -> None:
    found = pieces.of_plan(plan)
    delivered(plan, found[0], "passed")
    found[1].lost = "attempt 1 its node engine-3 is down"
    lost = tried(found[1], dead="its node engine-3 is down")
    outcomes, said = finish(plan, found, tries=[tried(found[0], over=20.0), lost])
    assert [code for code, _ in outcomes] == [ExitCode.PASS, ExitCode.NOT_PROVEN]
    assert "shard 2/2 was never delivered: attempt 1 its node engine-3 is down" in said
    assert "shards: 1 of 2 delivered, by 1 node; 1 attempt failed" in said
    assert "NOT PROVEN" in said


def test_shards_that_are_green_and_do_not_add_up_are_not_proven(plan: Plan) -> None:
    found = pieces.of_plan(plan)
    for piece in found:
        delivered(plan, piece, "passed", tests=3)
    outcomes, said = finish(plan, found)
    assert {code for code, _ in outcomes} == {ExitCode.NOT_PROVEN}
    assert "the shards had 2 tests of 3" in said


@pytest.mark.parametrize(
    ("broken", "code", "says"),
    [
        (DockerError("the Docker engine is away", hint="start it"), ExitCode.DOCKER, "the Docker engine is away"),
        (Interrupted(signal.SIGINT), ExitCode.SIGINT, "stopped by SIGINT"),
        (Interrupted(signal.SIGTERM), ExitCode.SIGTERM, "stopped by SIGTERM"),
    ],
)
def test_what_ended_the_run_is_said_of_what_was_not_delivered(
    plan: Plan, broken: DockerError | Interrupted, code: ExitCode, says: str
) -> None:
    found = pieces.of_plan(plan)
    delivered(plan, found[0], "passed")
    outcomes, said = finish(plan, found, broken=broken)
    assert [found_ for found_, _ in outcomes] == [ExitCode.PASS, code]
    assert f"{says} (shard 2/2)" in said


def test_no_key_stays_in_the_log_of_a_task_that_failed(plan: Plan) -> None:
    live = replace(plan, cells=(replace(CELL, inference_mode=Mode.LIVE),))
    live = replace(live, options=replace(live.options, env=("TOY_KEY=sk-toy-0123456789",)))
    log = live.run_dir / "swarm" / "base.1.log"
    log.parent.mkdir(parents=True)
    log.write_text("KeyError: sk-toy-0123456789")
    found = pieces.of_plan(live)
    for piece in found:
        piece.lost = "it said sk-toy-0123456789"
    finish(live, found)
    assert "sk-toy" not in log.read_text()
    assert "sk-toy" not in (live.run_dir / "swarm.json").read_text()
