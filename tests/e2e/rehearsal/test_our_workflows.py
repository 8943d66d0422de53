"""This project's own workflows, in the ways that cost little: no lane is run, nobody is called.

The job's Python has the packages of this environment from the start. What is left of the package index is what it takes
to install the project itself.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Protocol

import pytest
from ci.rehearsal import origin

_ROOT = Path(__file__).parents[3]
_MODEL = "STACKPROOF_LIVE_MODEL=openai/gpt-5-mini"


class _Rehearse(Protocol):
    def __call__(self, *words: str) -> Any: ...


@pytest.fixture
def rehearse(tmp_path: Path, rehearsed_at: Any) -> _Rehearse:
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    if sys.version_info[:2] != (3, 11) or not list(pyenv.glob("3.11.*")):
        pytest.skip(
            "a job's interpreter is made of one below ~/.pyenv/versions: this environment has to be of 3.11, too"
        )
    words = ("--seed", sys.prefix, "--machine", "NOX_DEFAULT_VENV_BACKEND")
    extra = {"NOX_DEFAULT_VENV_BACKEND": "none"}
    return lambda *more: rehearsed_at(_ROOT, tmp_path / "scratch", *more, *words, extra=extra)


def test_every_workflow_is_sound_as_it_is_written(tmp_path: Path, rehearsed_at: Any) -> None:
    done = rehearsed_at(_ROOT, tmp_path / "scratch", "--list")
    assert (done.code, done.findings) == (0, []), done.errors


@pytest.mark.timeout(900)
def test_the_plan_has_lanes_and_a_lane_that_is_cancelled_fails_the_verdict(rehearse: _Rehearse) -> None:
    ends = ("--end", "lane=cancelled", "--end", "lint=success", "--end", "tests=success")
    done = rehearse("replay.yml", "--job", "verdict", *ends, "--expect", "verdict=failure")
    assert done.code == 0, done.errors
    plan = next(leg for leg in done.told["workflows"][0]["jobs"] if leg["job"] == "plan")
    lanes = json.loads(plan["outputs"]["lanes"])["include"]
    assert all(lane["lane"] and lane["timeout"] for lane in lanes)
    assert lanes
    assert done.why("verdict").startswith("Every part ended well: exit code 1")


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("workflow", "job", "words", "secrets"),
    [
        ("live-smoke.yml", "live-openai", ("--cron", "17 5 * * 1", "--var", _MODEL), ["OPENAI_API_KEY"]),
        ("live-freshness.yml", "freshness", (), []),
    ],
)
def test_a_schedule_that_has_nothing_to_go_by_fails_and_opens_one_issue(
    rehearse: _Rehearse, workflow: str, job: str, words: tuple[str, ...], secrets: list[str]
) -> None:
    done = rehearse(workflow, "--event", "schedule", "--job", "issue", *words, "--expect", f"{job}=failure")
    assert done.code == 0, done.errors
    assert done.told["absent_secrets"] == secrets
    assert [issue["state"] for issue in done.told["issues"]] == ["OPEN"]


@pytest.mark.timeout(900)
def test_recordings_come_from_one_run_and_are_pushed_by_the_other(
    rehearse: _Rehearse, tmp_path: Path, rehearsed_git: Any
) -> None:
    clone, made = tmp_path / "clone", tmp_path / "made"
    made.mkdir()
    there = origin.make(_ROOT, "HEAD", None, made)
    rehearsed_git(tmp_path, "clone", "--quiet", "--no-checkout", str(there.folder), str(clone))
    rehearsed_git(clone, "checkout", "--quiet", "--detach", there.head)
    recording = next(iter(sorted((clone / "recordings").rglob("*-*.json"))))
    recording.unlink()
    kept = tmp_path / "kept" / "recordings-patch"
    kept.mkdir(parents=True)
    words = [sys.executable, "-m", "stackproof", "recordings", "patch", "--output", str(kept / "recordings.patch")]
    subprocess.run(words, cwd=clone, check=True, capture_output=True, timeout=300)
    given = ("--end", "record=success", "--earlier", f"record.yml={kept.parent}", "--label", "record")
    done = rehearse("record.yml", "record-apply.yml", *given, "--commit", there.commit)
    assert done.code == 0, done.errors
    assert (done.results["apply"], done.results["tell"]) == ("success", "success")
    assert len(done.told["pushed"]) == 1
    assert len(done.told["comments"]) == 1
    assert ["workflow", "run"] in [asked[:2] for asked in done.told["gh"]]
