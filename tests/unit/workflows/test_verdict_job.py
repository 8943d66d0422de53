"""The one required check is green only where every part of a change ran, and ended well."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from typing import Any

import pytest

RESULTS = ("success", "failure", "cancelled", "skipped", "")


@pytest.fixture(scope="session")
def verdict(workflows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The job."""
    job: dict[str, Any] = workflows["replay"]["jobs"]["verdict"]
    return job


def passes(script: str, ends: list[str]) -> bool:
    """Whether the step is green for parts that ended so, run as the runner does."""
    environment = {"PATH": os.environ["PATH"], "PARTS": " ".join(ends)}
    command = ["bash", "-eo", "pipefail", "-c", script]
    return subprocess.run(command, env=environment, check=False, capture_output=True, timeout=120).returncode == 0


def upload_of(workflows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The step of a lane that hands over its evidence."""
    steps = workflows["replay"]["jobs"]["lane"]["steps"]
    (step,) = (step for step in steps if "upload-artifact@" in step.get("uses", ""))
    found: dict[str, Any] = step
    return found


def test_it_needs_every_other_job(verdict: dict[str, Any], workflows: dict[str, dict[str, Any]]) -> None:
    assert {*verdict["needs"], "verdict"} == workflows["replay"]["jobs"].keys()


def test_no_part_of_a_change_may_be_left_out_or_fail_in_silence(workflows: dict[str, dict[str, Any]]) -> None:
    for name, job in workflows["replay"]["jobs"].items():
        # A job with a condition may be skipped, and one that may fail counts as well.
        assert "if" not in job or name == "verdict", name
        assert "continue-on-error" not in job, name
        assert not any("continue-on-error" in step for step in job["steps"]), name


def test_it_runs_whatever_became_of_the_others(verdict: dict[str, Any]) -> None:
    # GitHub takes a required check that was skipped for one that passed.
    assert verdict["if"] == "${{ always() }}"
    assert verdict["name"] == "verdict"


def test_its_first_step_sees_the_result_of_every_part(verdict: dict[str, Any]) -> None:
    first = verdict["steps"][0]
    assert first["if"] == "${{ always() }}"
    assert re.findall(r"\$\{\{ needs\.([a-z]+)\.result \}\}", first["env"]["PARTS"]) == verdict["needs"]


def test_only_parts_that_all_succeeded_are_enough(verdict: dict[str, Any]) -> None:
    script, number = verdict["steps"][0]["run"], len(verdict["needs"])
    for place, bad in itertools.product(range(number), RESULTS):
        ends = ["success"] * number
        ends[place] = bad
        assert passes(script, ends) == (bad == "success"), ends
    assert not passes(script, ["skipped"] * number)
    assert not passes(script, [""] * number)


def test_evidence_of_every_lane_is_weighed_also_after_a_part_that_failed(
    verdict: dict[str, Any], workflows: dict[str, dict[str, Any]]
) -> None:
    # A pull request wants to know what failed, not only that something did.
    assert {step["if"] for step in verdict["steps"][1:]} == {"${{ !cancelled() }}"}
    (download,) = (step["with"] for step in verdict["steps"] if "download-artifact@" in step.get("uses", ""))
    assert upload_of(workflows)["with"]["name"] == download["pattern"].replace("*", "${{ matrix.name }}")
    # A single artifact that matches lies in no folder of its name (as of v5): one layout for one lane and for many.
    assert download["merge-multiple"] == "true"
    assert verdict["steps"][-2]["run"].endswith(f" {download['path']}/*/")


def test_a_lane_that_failed_hands_over_its_evidence(workflows: dict[str, dict[str, Any]]) -> None:
    upload = upload_of(workflows)
    assert upload["if"] == "${{ !cancelled() }}"
    assert upload["with"]["path"] == ".stackproof/runs/"
    assert upload["with"]["if-no-files-found"] == "error"


def test_the_page_is_kept_whatever_the_verdict_is(verdict: dict[str, Any]) -> None:
    kept = verdict["steps"][-1]
    assert (kept["with"]["name"], kept["if"]) == ("verdict", "${{ !cancelled() }}")
    assert f"--output {kept['with']['path'].rstrip('/')} " in verdict["steps"][-2]["run"]
