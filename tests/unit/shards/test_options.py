"""The options of shards: what goes together, what is refused, and what a plan makes of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stackproof import catalog, options, plan, plan_text
from stackproof.errors import UsageError
from stackproof.plan import Plan

SUITES = """
suites:
  base: {description: of pytest, roots: [tests/integration/base], default_setup: local, together: [module]}
  odd:
    description: of another runner
    roots: [tests/integration/odd]
    default_setup: local
    runner: {name: jest, folder: tests/integration/odd, command: [node, "{junit}"]}
"""
STACK = 'description: a server\nmodes: [server]\ncommand: ["true"]\nreadiness: {path: /health}\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("stacks/toy", "tests/integration/base", "tests/integration/odd", "ci"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "tests" / "suites.yaml").write_text(SUITES)
    (tmp_path / "stacks" / "setups.yaml").write_text("local: {description: no provider, env: {}}\n")
    (tmp_path / "stacks" / "toy" / "stack.yaml").write_text(STACK)
    (tmp_path / "ci" / "timings.json").write_text('{"schema": 1, "kind": "timings", "cells": {}}')
    return tmp_path


def planned(project: Path, environ: dict[str, str] | None = None, **given: object) -> Plan:
    chosen = options.resolve({"stack_config": "server:toy", **given}, environ or {}, project)
    return plan.make(chosen, catalog.load(project), project, "abc123")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"shards": 3}, "--shards: only --engine swarm runs all shards of a run"),
        ({"shards": 3, "dry_run": True}, "--shards: only --engine swarm runs all shards of a run"),
        ({"engine": "swarm"}, "--engine swarm needs --shards, the number of tasks"),
        ({"engine": "swarm", "shards": 3, "shard": "1/3"}, "--shard is one part of a run, and --engine swarm"),
        (
            {"shards": 3, "shard": "1/3", "dry_run": True, "format": "gitlab"},
            "--shard is one part of a run, and --shards",
        ),
        ({"engine": "swarm", "shards": 3, "inference_mode": "record"}, "recordings are made on one machine"),
        ({"engine": "moon"}, "'moon' is not one of local, swarm"),
        ({"shards": 0, "engine": "swarm"}, "0 is not a whole number of at least 1"),
        ({"together": ("modul",)}, "--together: 'modul' is none of module, file, class and fixture:NAME"),
        ({"together": ("fixture:",)}, "--together: 'fixture:' is none of"),
        ({"shard": "1/3", "pytest_args": ("-x", "--lf")}, "--shard: --lf picks from what this machine ran before"),
        ({"shard": "1/3", "pytest_args": ("--stepwise",)}, "--shard: --stepwise picks from what this machine ran"),
        ({"shard": "1/3", "pytest_args": ("--sw-skip",)}, "--shard: --sw-skip picks from what this machine ran"),
        ({"engine": "swarm", "shards": 3, "pytest_args": ("--lf",)}, "--shards: --lf picks from what this machine ran"),
        ({"shard": "auto"}, "--shard auto: no variable of a CI system says"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(project: Path, given: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        options.resolve(given, {}, project)
    assert said in caught.value.message
    assert caught.value.hint or "--engine" in said or "not" in said


def test_times_that_are_not_there_are_missed_before_anything_starts(project: Path) -> None:
    with pytest.raises(UsageError, match=r"--timings: there is no ci/nothing\.json"):
        planned(project, shard="1/3", timings=("ci/nothing.json",))
    assert planned(project, timings=("ci/nothing.json",)).cells  # nobody divides anything


def test_a_cell_of_a_shard_is_named_by_it(project: Path) -> None:
    (cell,) = planned(project, shard="2/3").cells
    assert (cell.id, cell.whole_id) == ("base-local-server-toy.2of3", "base-local-server-toy")
    assert cell.title == "base × local × server:toy · shard 2/3"


def test_it_is_run_again_as_the_same_shard_wherever_that_is(project: Path) -> None:
    environ = {"CIRCLE_NODE_INDEX": "1", "CIRCLE_NODE_TOTAL": "3"}
    made = planned(project, environ, shard="auto", timings=("ci/timings.json",), together=("fixture:x",))
    (cell,) = made.cells
    again = plan.again(cell, made.options)
    assert "--shard 2/3 --timings ci/timings.json --together fixture:x" in again
    assert "shard  2/3, balanced by ci/timings.json, module and fixture:x together" in "\n".join(plan_text.lines(made))
    assert "CIRCLE_NODE_INDEX and CIRCLE_NODE_TOTAL" in "\n".join(plan_text.lines(made))


def test_a_run_on_a_swarm_says_so_beside_what_runs(project: Path) -> None:
    lines = list(plan_text.lines(planned(project, engine="swarm", shards=3)))
    assert "  stack  server:toy                     --stack-config" in lines
    assert "  swarm  in 3 shards                    --engine, --shards" in lines


def test_a_suite_of_another_runner_is_whole_in_one_shard_and_absent_in_the_others(project: Path) -> None:
    made = [planned(project, suite="odd", shard=f"{index}/5") for index in range(1, 6)]
    (owner,) = [each for each in made if each.cells]
    (cell,) = owner.cells
    assert (cell.id, cell.shard) == ("odd-local-server-toy", None)
    assert "--shard" not in plan.again(cell, owner.options)
    assert f"jest cannot be divided, all of it is shard {owner.options.shard}'s" in "\n".join(plan_text.lines(owner))
    for each in made:
        if each is not owner:
            assert [str(shard) for _, shard in each.elsewhere] == [owner.options.shard]
            assert f"it is shard {owner.options.shard}'s" in "\n".join(plan_text.lines(each))


def test_plans_for_a_ci_system_have_all_shards_and_each_whole_cell_once(project: Path) -> None:
    made = planned(project, suite="base,odd", shards=3, dry_run=True, format="github-matrix")
    ids = [cell.id for cell in made.cells]
    assert ids == [*(f"base-local-server-toy.{index}of3" for index in (1, 2, 3)), "odd-local-server-toy"]
    jobs = json.loads(plan_text.as_github_matrix(made))["include"]
    assert [job["shard"] for job in jobs] == [*({"index": index, "total": 3} for index in (1, 2, 3)), None]
    assert jobs[1]["command"].endswith("--shard 2/3")
    assert "--shards" not in jobs[1]["command"]


def test_facts_say_what_is_part_of_what(project: Path) -> None:
    facts = plan_text.facts(planned(project, suite="base,odd", shard="1/9"))
    (cell,) = [each for each in facts["cells"] if each["suite"] == "base"]  # type: ignore[attr-defined]
    assert (cell["whole"], cell["shard"]) == ("base-local-server-toy", {"index": 1, "total": 9})


def test_a_suite_says_itself_what_stays_together(project: Path) -> None:
    made = planned(project, shard="1/2", together=("class",))
    assert made.together(made.cells[0]) == ("module", "class")
    (project / "tests" / "suites.yaml").write_text(SUITES.replace("[module]", "[modules]"))
    with pytest.raises(UsageError, match=r"tests/suites.yaml:3: .*'modules' is none of module, file, class"):
        catalog.load(project)
