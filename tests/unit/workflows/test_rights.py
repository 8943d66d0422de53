"""Tokens may do what their job does, secrets are where they are used, and no untrusted text is part of a program."""

from __future__ import annotations

import re
from typing import Any

# Everything that may write anything. What is not here may read the code and, where it says so, runs and pull requests.
_WRITES = {
    "live-freshness/issue": {"issues"},
    "live-smoke/issue": {"issues"},
    "record-apply/apply": {"contents"},
    "record-apply/tell": {"actions", "pull-requests"},
    "recordings-comment/comment": {"pull-requests"},
}
# Somebody who may not write here decides what these run.
_UNTRUSTED = ("pull_request",)
# Variables that a script makes itself.
_MADE = re.compile(r"(?:^|\s)([A-Za-z_]+)=|\bfor (\w+) in\b|\bread -\w+ (\w+) ?(\w*)")
_SECRET = re.compile(r"\bsecrets\s*(\.|\[)")


def test_no_workflow_has_a_right_that_a_job_did_not_ask_for(
    workflows: dict[str, dict[str, Any]], jobs: dict[str, dict[str, Any]]
) -> None:
    assert {name: each["permissions"] for name, each in workflows.items() if each["permissions"] != {}} == {}
    assert [name for name, job in jobs.items() if not isinstance(job.get("permissions"), dict)] == []


def test_writing_is_the_right_of_the_few_jobs_that_do_it(jobs: dict[str, dict[str, Any]]) -> None:
    writes = {
        name: {what for what, level in job["permissions"].items() if level == "write"} for name, job in jobs.items()
    }
    assert {name: found for name, found in writes.items() if found} == _WRITES
    levels = {level for job in jobs.values() for level in job["permissions"].values()}
    assert levels <= {"read", "write"}


def test_a_workflow_of_a_pull_request_reads_the_code_and_nothing_else(
    workflows: dict[str, dict[str, Any]], jobs: dict[str, dict[str, Any]]
) -> None:
    untrusted = {name for name, each in workflows.items() if any(event in each["on"] for event in _UNTRUSTED)}
    assert untrusted == {"record", "recordings", "replay"}
    rights = {name: job["permissions"] for name, job in jobs.items() if name.partition("/")[0] in untrusted}
    assert {name: found for name, found in rights.items() if found != {"contents": "read"}} == {}


def test_no_workflow_runs_a_pull_request_with_the_rights_of_its_target(workflows: dict[str, dict[str, Any]]) -> None:
    assert [name for name, each in workflows.items() if "pull_request_target" in each["on"]] == []


def test_secrets_are_named_only_in_the_environment_of_a_step_in_a_protected_job(
    texts: dict[str, str], jobs: dict[str, dict[str, Any]]
) -> None:
    named = sum(len(_SECRET.findall(text)) for text in texts.values())
    in_steps = 0
    for job in jobs.values():
        for step in job["steps"]:
            count = sum(len(_SECRET.findall(value)) for value in step.get("env", {}).values())
            assert not count or job.get("environment") == "live"
            in_steps += count
    assert named == in_steps
    assert not any("toJSON(secrets" in text or "secrets: inherit" in text for text in texts.values())


def test_no_expression_is_part_of_a_script(steps: list[tuple[str, dict[str, Any]]]) -> None:
    assert [(place, step["run"]) for place, step in steps if "${{" in step.get("run", "")] == []


def test_every_variable_of_a_script_is_given_to_it(
    steps: list[tuple[str, dict[str, Any]]], workflows: dict[str, dict[str, Any]]
) -> None:
    lacking = []
    for place, step in steps:
        script = step.get("run", "")
        made = {name for names in _MADE.findall(script) for name in names}
        given = {*step.get("env", {}), *workflows.get(place.partition("/")[0], {}).get("env", {}), *made}
        used = set(re.findall(r"\$\{?([A-Za-z_]+)", script))
        lacking += [(place, name) for name in used - given if not name.startswith(("GITHUB_", "RUNNER_"))]
    assert lacking == []


def test_a_checkout_leaves_no_token_behind(steps: list[tuple[str, dict[str, Any]]]) -> None:
    left = [place for place, step in steps if "checkout@" in step.get("uses", "")
            and step.get("with", {}).get("persist-credentials") != "false"]  # fmt: skip
    assert left == []


def test_scripts_end_at_the_first_command_that_fails(
    workflows: dict[str, dict[str, Any]], actions: dict[str, dict[str, Any]]
) -> None:
    # `shell: bash`, said out loud, is -e and pipefail; the default is not.
    assert {
        name: each.get("defaults")
        for name, each in workflows.items()
        if each.get("defaults") != {"run": {"shell": "bash"}}
    } == {}
    own = [step for each in actions.values() for step in each["runs"]["steps"] if "run" in step]
    assert {step["shell"] for step in own} == {"bash"}
