"""A fork gets replay and a verdict, and no secret; it never records, and none of it runs where a token may write."""

from __future__ import annotations

from typing import Any

import pytest

_NO_FORK = "!github.event.repository.fork"


def trusted(workflows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Those that run after one of a pull request, with the default branch's rights."""
    return {name: each for name, each in workflows.items() if "workflow_run" in each["on"]}


def test_schedules_do_nothing_in_a_fork(workflows: dict[str, dict[str, Any]]) -> None:
    scheduled = {name: each for name, each in workflows.items() if "schedule" in each["on"]}
    assert scheduled.keys() == {"live-smoke", "live-freshness"}
    for name, each in scheduled.items():
        assert [job for job, content in each["jobs"].items() if _NO_FORK not in content.get("if", "")] == [], name


def test_only_pull_requests_of_this_repository_record(workflows: dict[str, dict[str, Any]]) -> None:
    here = "github.event.pull_request.head.repo.full_name == github.repository"
    asked = " ".join(workflows["record"]["jobs"]["record"]["if"].split())
    assert asked == (
        f"${{{{ github.event_name == 'workflow_dispatch' || ({here} "
        "&& contains(github.event.pull_request.labels.*.name, 'record')) }}"
    )


def test_the_trusted_half_asks_again_where_the_pull_request_comes_from(workflows: dict[str, dict[str, Any]]) -> None:
    asked = workflows["record-apply"]["jobs"]["apply"]["if"]
    for part in (
        "workflow_run.event == 'pull_request'",
        "workflow_run.head_repository.full_name == github.repository",
        "workflow_run.conclusion == 'success'",
        "workflow_run.head_branch != github.event.repository.default_branch",
    ):
        assert f"github.event.{part}" in asked
    assert "||" not in asked


def test_trusted_workflows_follow_those_that_are_named_as_they_are(workflows: dict[str, dict[str, Any]]) -> None:
    names = {each["name"] for each in workflows.values()}
    found = trusted(workflows)
    assert found.keys() == {"record-apply", "recordings-comment"}
    for each in found.values():
        assert set(each["on"]["workflow_run"]["workflows"]) <= names


def test_a_trusted_workflow_installs_and_runs_only_what_the_default_branch_has(
    workflows: dict[str, dict[str, Any]],
) -> None:
    for name, each in trusted(workflows).items():
        for job in each["jobs"].values():
            for step in job["steps"]:
                settings = step.get("with", {})
                if "checkout@" in step.get("uses", ""):
                    # The head of the pull request lies beside, never in place of what runs.
                    assert ("ref" in settings) == ("path" in settings), name
                # No session of nox: its file could be the pull request's.
                assert "nox" not in step.get("run", ""), name


def test_nothing_of_the_pull_request_is_there_when_stackproof_is_installed(
    workflows: dict[str, dict[str, Any]],
) -> None:
    steps = workflows["record-apply"]["jobs"]["apply"]["steps"]
    places = [index for index, step in enumerate(steps) if "path" in step.get("with", {})]
    setup = next(index for index, step in enumerate(steps) if step.get("uses") == "$/.github/actions/setup")
    assert setup < min(places)


def test_a_patch_is_checked_before_anything_is_applied_and_pushed(workflows: dict[str, dict[str, Any]]) -> None:
    scripts = [step.get("run", "") for step in workflows["record-apply"]["jobs"]["apply"]["steps"]]
    ordered = ["head.sha == env.HEAD", "recordings apply ../patch/recordings.patch --check", "diff --git", "git push"]
    places = [next(index for index, script in enumerate(scripts) if part in script) for part in ordered]
    assert places == sorted(places)
    assert all("--recording-dir recordings" in line for script in scripts for line in script.splitlines()
               if "stackproof" in line)  # fmt: skip


@pytest.mark.parametrize("name", ["record-apply/tell", "recordings-comment/comment", "live-smoke/issue"])
def test_a_job_that_writes_for_people_has_no_checkout_and_no_other_right(
    jobs: dict[str, dict[str, Any]], name: str
) -> None:
    assert not any("checkout@" in step.get("uses", "") for step in jobs[name]["steps"])
    assert "contents" not in {what for what, level in jobs[name]["permissions"].items() if level == "write"}


def test_the_comment_is_made_of_git_and_takes_no_file_of_an_untrusted_run(workflows: dict[str, dict[str, Any]]) -> None:
    for job in workflows["recordings-comment"]["jobs"].values():
        for step in job["steps"]:
            assert "run-id" not in step.get("with", {})
    (diff,) = (step["run"] for step in workflows["recordings-comment"]["jobs"]["meaning"]["steps"]
               if "recordings diff" in step.get("run", ""))  # fmt: skip
    assert '"$BASE...$HEAD"' in diff
