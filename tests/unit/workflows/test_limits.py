"""Nothing runs for ever, nothing runs twice for nothing, and schedules keep away from crowded minutes."""

from __future__ import annotations

from typing import Any


def test_every_job_has_an_end(jobs: dict[str, dict[str, Any]]) -> None:
    assert [name for name, job in jobs.items() if "timeout-minutes" not in job] == []
    told = [minutes for job in jobs.values() if isinstance(minutes := job["timeout-minutes"], int)]
    assert max(told) <= 90


def test_every_workflow_says_what_becomes_of_an_older_run(workflows: dict[str, dict[str, Any]]) -> None:
    for name, each in workflows.items():
        assert set(each["concurrency"]) == {"group", "cancel-in-progress"}, name
        assert name.partition("/")[0] in each["concurrency"]["group"], name


def test_a_newer_push_ends_a_replay_and_nothing_ends_one_in_the_merge_queue(
    workflows: dict[str, dict[str, Any]],
) -> None:
    replay = workflows["replay"]["concurrency"]
    assert replay["cancel-in-progress"] == "${{ github.event_name == 'pull_request' }}"
    # Without the number of a pull request each run is alone in its group, so that none waits or is dropped.
    assert replay["group"].endswith("${{ github.event.pull_request.number || github.run_id }}")


def test_what_spends_money_or_writes_is_never_ended_half_way(workflows: dict[str, dict[str, Any]]) -> None:
    for name in ("live-smoke", "live-freshness", "record-apply", "release"):
        assert workflows[name]["concurrency"]["cancel-in-progress"] == "false", name


def test_a_fork_shares_no_group_with_a_branch_of_this_repository(workflows: dict[str, dict[str, Any]]) -> None:
    after = {name: each["concurrency"]["group"] for name, each in workflows.items() if "workflow_run" in each["on"]}
    assert after.keys() == {"record-apply", "recordings-comment"}
    for name, group in after.items():
        run = "github.event.workflow_run"
        assert group == f"{name}-${{{{ {run}.head_repository.full_name }}}}-${{{{ {run}.head_branch }}}}"


def test_schedules_start_at_odd_minutes(workflows: dict[str, dict[str, Any]]) -> None:
    crons = [entry["cron"] for each in workflows.values() for entry in each["on"].get("schedule") or ()]
    assert len(crons) >= 2
    assert len(set(crons)) == len(crons)
    for cron in crons:
        assert int(cron.split()[0]) % 2 == 1, cron


def test_artifacts_have_names_that_every_system_takes_and_an_end(steps: list[tuple[str, dict[str, Any]]]) -> None:
    kept = [step["with"] for _, step in steps if "upload-artifact@" in step.get("uses", "")]
    assert kept
    for each in kept:
        name = each["name"].replace("${{ matrix.name }}", "lane-1of2").replace("${{ github.run_attempt }}", "1")
        assert name.replace("-", "").isalnum(), name
        assert each["if-no-files-found"] in ("error", "warn"), name
        assert 1 <= each["retention-days"] <= 90, name
        # Whatever lies below a name that begins with a dot is left out unless it is asked for.
        assert not each["path"].startswith(".") or each["include-hidden-files"] == "true", name
