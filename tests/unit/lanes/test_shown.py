"""Lanes as people, machines and CI systems get them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from tests.unit.lanes.conftest import Desk

from stackproof.errors import ExitCode

RECORD = """\
  take:
    description: record
    triggers: [pull_request]
    label: record
    record: {cells: [{suite: desk, setup: local, stack: "server:desk", service: echo}]}
"""


def matrix_of(desk: Desk, capsys: pytest.CaptureFixture[str], *more: str) -> list[dict[str, Any]]:
    assert desk.command("lane", "list", "--format", "github-matrix", *more) == ExitCode.PASS
    (line,) = capsys.readouterr().out.splitlines()
    include: list[dict[str, Any]] = json.loads(line)["include"]
    return include


def test_a_list_says_when_each_lane_runs_and_what_it_does(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert desk.command("lane", "list") == ExitCode.PASS
    shown = capsys.readouterr().out
    assert re.search(r"^python +pull_request, merge_group +2 cells +30$", shown, re.MULTILINE)
    assert re.search(r"^far +schedule \(17 5 \* \* 1 UTC\), workflow_dispatch +real calls: far", shown, re.MULTILINE)
    assert "  1 secret  " in shown


def test_a_trigger_without_lanes_is_said(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert desk.command("lane", "list", "--trigger", "release") == ExitCode.PASS
    assert capsys.readouterr().out == "no lane runs at release\n"


@pytest.mark.parametrize("form", ["github-matrix", "gitlab"])
def test_a_trigger_without_lanes_makes_no_jobs_and_fails(
    desk: Desk, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    assert desk.command("lane", "list", "--trigger", "release", "--format", form) == ExitCode.USAGE
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "no lane runs at release" in shown.err


def test_the_matrix_for_github_is_one_line_with_what_a_job_needs(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    python, docker, checks = matrix_of(desk, capsys, "--trigger", "pull_request")
    assert python == {
        "lane": "python", "shard": "", "name": "python", "title": "python: 2 cells", "python": "3.11", "docker": False,
        "node": False, "timeout": 30, "environment": "", "label": "",
    }  # fmt: skip
    assert docker["docker"] is True
    assert checks["title"] == "checks: types, recordings"
    (far,) = matrix_of(desk, capsys, "--trigger", "schedule")
    assert far["environment"] == "live"


def test_names_of_lanes_can_be_parts_of_artifact_names(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    # What GitHub's upload-artifact refuses: " : < > | * ? \ / and line ends.
    assert all(re.fullmatch(r"[a-z0-9-]+", each["lane"]) for each in matrix_of(desk, capsys))


def test_a_lane_with_a_label_is_in_the_matrix_only_where_the_label_is(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.write("ci/matrix.yaml", (desk.folder / "ci/matrix.yaml").read_text() + RECORD)
    without = matrix_of(desk, capsys, "--trigger", "pull_request")
    assert "take" not in [each["lane"] for each in without]
    labelled = matrix_of(desk, capsys, "--trigger", "pull_request", "--label", "record")
    assert "take" in [each["lane"] for each in labelled]


@pytest.mark.parametrize("more", [(), ("--trigger", "pull_request"), ("--format", "github-matrix")])
def test_a_label_that_nothing_would_look_at_is_refused(
    desk: Desk, capsys: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    assert desk.command("lane", "list", "--label", "record", *more) == ExitCode.USAGE
    assert "no such matrix is asked for" in capsys.readouterr().err


def test_cells_that_wait_for_a_label_do_not_count_for_a_trigger(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert desk.command("lane", "check") == ExitCode.PASS
    text = (desk.folder / "ci/matrix.yaml").read_text()
    desk.write(
        "ci/matrix.yaml", text.replace("    description: in containers\n", "    description: d\n    label: big\n")
    )
    assert desk.command("lane", "check", "--trigger", "pull_request") == ExitCode.TESTS
    assert "no lane of pull_request runs desk × local × docker:desk\n" in capsys.readouterr().out


def test_a_cell_or_check_of_the_policy_that_no_lane_has_is_named(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (desk.folder / "ci/matrix.yaml").read_text()
    desk.write("ci/matrix.yaml", text.replace('["library:*", "server:desk"]', '["library:*"]').replace("types, ", ""))
    assert desk.command("lane", "check", "--trigger", "merge_group") == ExitCode.TESTS
    assert capsys.readouterr().out.splitlines() == [
        "no lane of merge_group runs desk × local × server:desk",
        "no lane of merge_group runs types",
    ]


def test_the_pipeline_for_gitlab_has_a_job_for_each_lane(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.write("ci/matrix.yaml", (desk.folder / "ci/matrix.yaml").read_text() + RECORD)
    assert desk.command("lane", "list", "--format", "gitlab") == ExitCode.PASS
    pipeline = yaml.safe_load(capsys.readouterr().out)
    assert set(pipeline) == {"variables", "python", "docker", "checks", "far", "take"}
    python = pipeline["python"]
    assert python["script"] == ["stackproof lane run python"]
    assert python["needs"] == []
    assert python["artifacts"]["reports"] == {"junit": ".stackproof/runs/*/junit.xml"}
    assert python["rules"][0] == {"if": '$STACKPROOF_TRIGGER == "pull_request"'}
    assert "tags" not in python
    assert pipeline["docker"]["tags"] == ["$STACKPROOF_DOCKER_TAG"]
    assert pipeline["variables"]["STACKPROOF_DOCKER_TAG"] == "docker"
    assert pipeline["far"]["environment"]["name"] == "live"
    assert pipeline["far"]["rules"][0] == {"if": '$STACKPROOF_TRIGGER == "schedule" && $STACKPROOF_LANE == "far"'}
    (rule,) = pipeline["take"]["rules"]
    assert rule["if"] == '$STACKPROOF_TRIGGER == "pull_request" && $CI_MERGE_REQUEST_LABELS =~ /(^|,)record(,|$)/'


def test_a_lane_in_full_names_secrets_and_shows_no_value(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.environ["FAR_API_KEY"] = "correct horse battery staple"
    assert desk.command("lane", "show", "far") == ExitCode.PASS
    shown = capsys.readouterr().out
    assert "  secret       FAR_API_KEY\n" in shown
    assert "  budget       5 requests, " in shown
    assert "correct horse" not in shown
    assert desk.command("lane", "show", "far", "--json") == ExitCode.PASS
    (lane,) = json.loads(capsys.readouterr().out)["lanes"]
    assert (lane["secrets"], lane["schedule"], lane["smoke"]["budget"]["max_requests"]) == (
        ["FAR_API_KEY"], "17 5 * * 1", 5,
    )  # fmt: skip


def test_an_unknown_lane_is_refused_with_the_nearest_name(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["lane", "show", "pyton"], ["lane", "run", "pyton"], ["plan", "--lane", "pyton"]):
        assert desk.command(*command) == ExitCode.USAGE
        assert "unknown lane 'pyton', did you mean 'python'?" in capsys.readouterr().err


def test_a_plan_has_the_cells_of_a_lane_in_every_form(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert desk.command("plan", "--lane", "python") == ExitCode.PASS
    text = capsys.readouterr().out
    assert text.startswith(
        "lane python: 2 steps, ci/matrix.yaml:3\n  desk × local × library:desk\n      stackproof run "
    )
    assert desk.command("plan", "--lane", "python", "--format", "github-matrix") == ExitCode.PASS
    (line,) = capsys.readouterr().out.splitlines()
    assert [each["id"] for each in json.loads(line)["include"]] == ["desk-local-library-desk", "desk-local-server-desk"]
    assert desk.command("plan", "--lane", "python", "--format", "gitlab") == ExitCode.PASS
    assert set(yaml.safe_load(capsys.readouterr().out)) == {"desk-local-library-desk", "desk-local-server-desk"}
    assert desk.command("plan", "--lane", "checks", "--format", "json") == ExitCode.PASS
    planned = json.loads(capsys.readouterr().out)
    assert (planned["cells"], planned["checks"]) == ([], ["types", "recordings"])


def test_a_plan_has_the_variables_of_the_run_in_which_an_empty_one_is_none(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.lanes(RECORD.replace("label: record", "label: record\n    env: {STACKPROOF_RECORDING_DIR: kept}"))
    for given in ({}, {"STACKPROOF_RECORDING_DIR": ""}):
        desk.environ.update(given)
        assert desk.command("plan", "--lane", "take") == ExitCode.PASS
        assert "--recording-dir kept" in capsys.readouterr().out


def test_a_lane_that_records_may_do_so_under_ci_and_says_how_by_hand(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.lanes(RECORD)
    desk.environ["CI"] = "true"
    assert desk.command("plan", "--lane", "take") == ExitCode.PASS
    command = capsys.readouterr().out.splitlines()[2]
    assert "--inference-mode record-if-missing --provider-service echo --allow-record-in-ci" in command
