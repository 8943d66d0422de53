"""Lanes are named in ci/matrix.yaml; GitHub's workflows run each at its triggers, with its secrets and schedule."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from stackproof.lanes import ci
from stackproof.lanes.records import Check, Lane, Matrix, Trigger

_TOGETHER = ("pull_request", "merge_group", "push")
_SECRET = re.compile(r"\$\{\{ secrets\.([A-Z0-9_]+) \}\}")


def smokes(matrix: Matrix) -> dict[str, Lane]:
    """The live lanes."""
    return {name: lane for name, lane in matrix.lanes.items() if lane.smoke is not None}


@pytest.fixture(scope="session")
def live(workflows: dict[str, dict[str, Any]], matrix: Matrix) -> dict[str, dict[str, Any]]:
    """The job of each live lane."""
    jobs: dict[str, dict[str, Any]] = workflows["live-smoke"]["jobs"]
    return {name: job for name, job in jobs.items() if name != "issue"}


def test_every_trigger_of_every_lane_starts_a_workflow_that_runs_it(
    matrix: Matrix, workflows: dict[str, dict[str, Any]]
) -> None:
    assert [(lane.name, trigger.value) for lane in matrix.lanes.values() for trigger in lane.triggers
            if not _runs(lane, trigger, workflows)] == []  # fmt: skip


def test_what_runs_for_every_change_is_planned_from_the_file(workflows: dict[str, dict[str, Any]]) -> None:
    replay = workflows["replay"]
    assert set(replay["on"]) == {*_TOGETHER, "workflow_dispatch"}
    (plan,) = (step for step in replay["jobs"]["plan"]["steps"] if step.get("id") == "lanes")
    # By hand it is what a pull request gets.
    assert plan["env"]["TRIGGER"] == (
        "${{ github.event_name == 'workflow_dispatch' && 'pull_request' || github.event_name }}"
    )
    assert '--trigger "$TRIGGER" --format github-matrix' in plan["run"]
    lane = replay["jobs"]["lane"]
    assert lane["strategy"]["matrix"] == "${{ fromJSON(needs.plan.outputs.lanes) }}"
    assert lane["strategy"]["fail-fast"] is False or lane["strategy"]["fail-fast"] == "false"
    (run,) = (step for step in lane["steps"] if "run" in step)
    assert run["env"] == {"LANE": "${{ matrix.lane }}", "SHARD": "${{ matrix.shard }}"}
    assert lane["name"] == "lane ${{ matrix.name }}"


@pytest.mark.parametrize(("shard", "words"), [("", []), ("2/3", ["--shard", "2/3"])])
def test_a_job_of_the_matrix_runs_its_lane_and_its_shard_of_it(
    workflows: dict[str, dict[str, Any]], tmp_path: Path, shard: str, words: list[str]
) -> None:
    (run,) = (step for step in workflows["replay"]["jobs"]["lane"]["steps"] if "run" in step)
    (tmp_path / "nox").write_text("#!/usr/bin/env bash\nprintf '%s\\n' \"$@\"\n", encoding="utf-8")
    (tmp_path / "nox").chmod(0o755)
    environment = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "LANE": "library", "SHARD": shard}
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", run["run"]],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.splitlines() == ["-s", "lane", "--", "library", *words]


def test_the_plan_has_every_key_that_the_workflow_reads(workflows: dict[str, dict[str, Any]], matrix: Matrix) -> None:
    asked = [replace(lane, shards=2) for lane in matrix.unasked(Trigger.PULL_REQUEST)]
    lanes = json.loads(ci.as_github_matrix(asked))["include"]
    used = set(re.findall(r"matrix\.([a-z_]+)", json.dumps(workflows["replay"]["jobs"]["lane"])))
    assert used
    assert [entry["lane"] for entry in lanes if not used <= entry.keys()] == []


def test_what_runs_for_every_change_has_no_secret_and_no_environment(matrix: Matrix) -> None:
    ordinary = [lane for lane in matrix.lanes.values() if any(trigger.value in _TOGETHER for trigger in lane.triggers)]
    assert len(ordinary) >= 5
    assert [lane.name for lane in ordinary if lane.secrets or lane.environment] == []


def test_every_live_lane_is_a_job_and_no_job_is_another(live: dict[str, dict[str, Any]], matrix: Matrix) -> None:
    assert list(live) == list(smokes(matrix))


def test_a_live_job_has_exactly_the_secrets_of_its_lane_and_its_environment(
    live: dict[str, dict[str, Any]], matrix: Matrix
) -> None:
    for name, lane in smokes(matrix).items():
        named = {key: found[1] for step in live[name]["steps"] for key, value in step.get("env", {}).items()
                 if (found := _SECRET.fullmatch(value))}  # fmt: skip
        assert named == {secret: secret for secret in lane.secrets}, name
        assert live[name].get("environment") == lane.environment, name
        assert live[name]["timeout-minutes"] == lane.timeout, name


def test_a_live_job_has_the_variables_of_its_lane(live: dict[str, dict[str, Any]], matrix: Matrix) -> None:
    for name, lane in smokes(matrix).items():
        given = {key: value for key, value in _call(live[name])["env"].items() if not _SECRET.fullmatch(value)}
        wanted = {key: f"${{{{ vars.{key} }}}}" for key in lane.variables}
        wanted |= {key: f"'{value}'" for key, value in lane.env.items()}
        models = wanted["STACKPROOF_LIVE_MODEL"].removeprefix("${{ ").removesuffix(" }}")
        wanted["STACKPROOF_LIVE_MODEL"] = f"${{{{ inputs.models || {models} }}}}"
        assert given == wanted, name


def test_a_live_job_runs_at_the_schedule_of_its_lane_and_when_it_is_asked_for(
    live: dict[str, dict[str, Any]], matrix: Matrix, workflows: dict[str, dict[str, Any]]
) -> None:
    started = workflows["live-smoke"]["on"]
    assert {each["cron"] for each in started["schedule"]} == {
        lane.schedule for lane in smokes(matrix).values() if lane.schedule
    }
    assert started["workflow_dispatch"]["inputs"]["lane"]["options"] == list(smokes(matrix))
    for name, lane in smokes(matrix).items():
        asked = f"inputs.lane == '{name}'"
        when = f"(github.event.schedule == '{lane.schedule}' || {asked})" if lane.schedule else asked
        assert live[name]["if"] == f"${{{{ !github.event.repository.fork && {when} }}}}"


def test_a_live_job_asks_for_what_its_lane_does_within_its_budget(
    live: dict[str, dict[str, Any]], matrix: Matrix, workflows: dict[str, dict[str, Any]]
) -> None:
    inputs = workflows["live-smoke"]["on"]["workflow_dispatch"]["inputs"]
    variables = workflows["live-smoke"]["env"]
    for name, lane in smokes(matrix).items():
        assert lane.smoke is not None
        words = shlex.split(_call(live[name])["run"])
        assert words[:4] == ["nox", "-s", "live_smoke", "--"]
        assert ("--require" in words, "--strict" in words) == (lane.smoke.require, lane.smoke.strict), name
        assert _after(words, "--setup") == list(lane.smoke.setups), name
        assert _after(words, "--provider-service") == [each for each in [lane.smoke.provider_service] if each], name
        most = lane.smoke.budget
        limits = {"requests": most.max_requests, "tokens": most.max_tokens, "seconds": f"{most.max_seconds:g}"}
        for what, limit in limits.items():
            variable = f"MAX_{what.upper()}"
            assert _after(words, f"--max-{what}") == [f"${variable}"], name
            # A schedule has no inputs: what it falls back on is what is offered by hand.
            assert inputs[f"max-{what}"]["default"] == str(limit), name
            assert variables[variable] == f"${{{{ inputs.max-{what} || '{limit}' }}}}"


def test_a_freshness_lane_has_a_schedule_of_its_own(workflows: dict[str, dict[str, Any]], matrix: Matrix) -> None:
    (lane,) = (lane for lane in matrix.lanes.values() if Check.FRESHNESS in lane.checks)
    fresh = workflows["live-freshness"]
    assert [each["cron"] for each in fresh["on"]["schedule"]] == [lane.schedule]
    assert [step["run"] for step in fresh["jobs"]["freshness"]["steps"] if "run" in step] == [
        f"stackproof lane run {lane.name}"
    ]
    evidence = [step["uses"] for step in fresh["jobs"]["freshness"]["steps"] if "uses" in step]
    assert "$/.github/actions/live-evidence" in evidence


def test_a_lane_with_a_label_runs_where_the_pull_request_has_it(
    workflows: dict[str, dict[str, Any]], matrix: Matrix
) -> None:
    (lane,) = (lane for lane in matrix.lanes.values() if lane.label)
    job = workflows["record"]["jobs"]["record"]
    assert f"contains(github.event.pull_request.labels.*.name, '{lane.label}')" in job["if"]
    assert f"nox -s lane -- {lane.name}" in [step.get("run") for step in job["steps"]]
    assert job["timeout-minutes"] == lane.timeout
    assert not lane.secrets
    assert lane.name not in [each.name for each in matrix.unasked(Trigger.PULL_REQUEST)]


def test_a_release_is_one_verdict_over_all_of_it(workflows: dict[str, dict[str, Any]], matrix: Matrix) -> None:
    (lane,) = matrix.of(Trigger.RELEASE)
    release = workflows["release"]
    assert release["on"] == {"push": {"tags": ["v*"]}, "workflow_dispatch": None}
    job = release["jobs"]["release"]
    assert [step["run"] for step in job["steps"] if "run" in step] == ["nox -s verify_release"]
    assert job["timeout-minutes"] == lane.timeout
    assert "$/.github/actions/live-evidence" in [step.get("uses") for step in job["steps"]]


def _runs(lane: Lane, trigger: Trigger, workflows: Mapping[str, dict[str, Any]]) -> bool:
    """Whether some workflow that the trigger starts has this lane."""
    if lane.smoke is not None:
        return trigger.value in workflows["live-smoke"]["on"] and lane.name in workflows["live-smoke"]["jobs"]
    if Check.FRESHNESS in lane.checks:
        return trigger.value in workflows["live-freshness"]["on"]
    if lane.record is not None:
        return trigger.value in workflows["record"]["on"]
    if Trigger.RELEASE in lane.triggers:
        return trigger is Trigger.RELEASE or trigger.value in workflows["release"]["on"]
    return trigger.value in workflows["replay"]["on"]


def _call(job: dict[str, Any]) -> dict[str, Any]:
    (found,) = (step for step in job["steps"] if "run" in step)
    step: dict[str, Any] = found
    return step


def _after(words: list[str], option: str) -> list[str]:
    """Every value of an option."""
    return [value for word, value in pairwise(words) if word == option]
