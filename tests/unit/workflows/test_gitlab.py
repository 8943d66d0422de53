"""GitLab runs the lanes of the same file, and what it fixes by hand agrees with it."""

from __future__ import annotations

import re
from typing import Any

import yaml

from stackproof.lanes import ci
from stackproof.lanes.records import Matrix, Trigger


def lanes(matrix: Matrix, trigger: Trigger) -> dict[str, Any]:
    """The jobs of the pipeline that `plan` makes."""
    made = yaml.safe_load(ci.as_gitlab(matrix.of(trigger), again="nox -s lane --"))
    return {name: job for name, job in made.items() if name != "variables"}


def test_every_trigger_of_the_file_is_one_of_the_pipeline(gitlab: dict[str, Any]) -> None:
    rules = gitlab["workflow"]["rules"]
    assert {each["variables"]["STACKPROOF_TRIGGER"] for each in rules} == {trigger.value for trigger in Trigger}
    # A merge train is a merge request too, so that it has to come first.
    assert rules[0]["variables"] == {"STACKPROOF_TRIGGER": "merge_group"}


def test_the_lanes_are_made_from_the_file_for_the_trigger_that_there_is(gitlab: dict[str, Any]) -> None:
    *_, last = gitlab["plan"]["script"]
    assert last == 'stackproof lane list --trigger "$STACKPROOF_TRIGGER" --format gitlab >lanes.yml'
    trigger = gitlab["lanes"]["trigger"]
    assert trigger["include"][0] == {"artifact": "lanes.yml", "job": "plan"}
    assert trigger["strategy"] == "depend"
    assert gitlab["lanes"]["variables"] == {name: f"${name}" for name in (ci.TRIGGER, ci.LANE)}
    assert "rules" not in gitlab["plan"]


def test_every_lane_of_a_trigger_is_a_job_with_its_report(matrix: Matrix) -> None:
    for trigger in Trigger:
        made = lanes(matrix, trigger)
        assert list(made) == [lane.name for lane in matrix.of(trigger)]
        for name, job in made.items():
            assert job["script"] == [f"nox -s lane -- {name}"]
            assert job["artifacts"]["reports"]["junit"].endswith("junit.xml")
            assert job["artifacts"]["when"] == "always"


def test_secrets_are_those_of_an_environment_and_no_file_names_them(
    matrix: Matrix, gitlab: dict[str, Any], gitlab_verdict: dict[str, Any]
) -> None:
    secrets = {secret for lane in matrix.lanes.values() for secret in lane.secrets}
    text = yaml.safe_dump([gitlab, gitlab_verdict])
    assert [secret for secret in secrets if secret in text] == []
    assert [name for name, job in {**gitlab, "end": gitlab_verdict}.items()
            if isinstance(job, dict) and "environment" in job] == []  # fmt: skip
    for trigger in Trigger:
        for name, job in lanes(matrix, trigger).items():
            environment = job.get("environment", {}).get("name")
            assert environment == matrix.lanes[name].environment
            assert bool(matrix.lanes[name].secrets) <= bool(environment), name


def test_the_verdict_waits_for_every_lane_runs_whatever_they_did_and_has_their_files(
    gitlab: dict[str, Any], gitlab_verdict: dict[str, Any]
) -> None:
    assert {"local": "ci/gitlab-verdict.yml"} in gitlab["lanes"]["trigger"]["include"]
    # The last stage; `needs` and `dependencies` would leave jobs out, whose names nobody knows here.
    assert gitlab_verdict["stage"] == ".post"
    assert not {"needs", "dependencies", "allow_failure", "when"} & gitlab_verdict.keys()
    (rule,) = gitlab_verdict["rules"]
    assert rule["when"] == "always"
    together = {trigger.value for trigger in Trigger if trigger.together}
    assert set(re.findall(r'\$STACKPROOF_TRIGGER == "(\w+)"', rule["if"])) == together
    assert gitlab_verdict["artifacts"]["when"] == "always"
    output = gitlab_verdict["artifacts"]["paths"][0].rstrip("/")
    assert gitlab_verdict["script"] == [f"stackproof verdict --output {output} .stackproof/runs/*/"]
    assert gitlab_verdict["artifacts"]["reports"]["junit"] == f"{output}/junit.xml"


def test_every_job_has_an_end(gitlab: dict[str, Any], gitlab_verdict: dict[str, Any]) -> None:
    jobs = {name: job for name, job in {**gitlab, "end": gitlab_verdict}.items()
            if isinstance(job, dict) and "script" in job}  # fmt: skip
    assert jobs.keys() >= {"plan", "lint", "tests", "end"}
    assert [name for name, job in jobs.items() if not re.fullmatch(r"\d+ minutes", job.get("timeout", ""))] == []


def test_nothing_may_fail_in_silence(gitlab: dict[str, Any]) -> None:
    assert [name for name, job in gitlab.items() if isinstance(job, dict) and "allow_failure" in job] == []
