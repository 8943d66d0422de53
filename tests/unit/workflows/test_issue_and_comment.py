"""The scripts that keep one issue and one comment, run by bash, with a program in the place of `gh`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

# What it is asked is kept in a file; a list is what another file holds, put through `--jq` as gh does.
_GH = """#!{python}
import json, os, pathlib, subprocess, sys
here = pathlib.Path(__file__).parent
words = sys.argv[1:]
with (here / "asked.jsonl").open("a") as file:
    file.write(json.dumps(words) + "\\n")
if words[:2] == ["run", "download"] and words[2] in (here / "empty").read_text().split():
    sys.exit("no artifact matches")
if "--jq" in words:
    given = (here / "answer.json").read_text()
    told = subprocess.run(["jq", "--raw-output", words[words.index("--jq") + 1]], input=given, text=True, check=True,
                          capture_output=True)
    sys.stdout.write(told.stdout)
"""

pytestmark = pytest.mark.skipif(shutil.which("jq") is None, reason="jq, which the runners have, is not here")


@dataclass(frozen=True, kw_only=True, slots=True)
class Gh:
    """A program called gh, and what it was asked."""

    folder: Path

    def run(self, step: dict[str, Any], answer: object, *, empty: str = "", **given: str) -> list[list[str]]:
        """Run a step's script as the runner does; what gh was asked for."""
        (self.folder / "answer.json").write_text(json.dumps(answer), encoding="utf-8")
        (self.folder / "empty").write_text(empty, encoding="utf-8")
        (self.folder / "asked.jsonl").write_text("", encoding="utf-8")
        environment = {
            "PATH": f"{self.folder}{os.pathsep}{os.environ['PATH']}",
            "RUNNER_TEMP": str(self.folder),
            **given,
        }
        assert step["env"].keys() >= {name for name in given if name != "GITHUB_ENV"}
        subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            env=environment,
            cwd=self.folder,
            check=True,
            timeout=300,
            capture_output=True,
        )
        return [json.loads(line) for line in (self.folder / "asked.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def gh(tmp_path: Path) -> Gh:
    """In the place of the real one."""
    program = tmp_path / "gh"
    program.write_text(_GH.replace("{python}", sys.executable), encoding="utf-8")
    program.chmod(0o755)
    return Gh(folder=tmp_path)


@pytest.fixture(scope="session")
def tracking(actions: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The step that keeps issues."""
    (step,) = actions["tracking-issue"]["runs"]["steps"]
    found: dict[str, Any] = step
    return found


def issue(number: int, job: str) -> dict[str, Any]:
    return {"number": number, "body": f"<!-- stackproof: {job} -->\nIt ended with failure: …"}


def ended(**jobs: str) -> str:
    return json.dumps({name.replace("_", "-"): {"result": result, "outputs": {}} for name, result in jobs.items()})


TITLE = {"LABEL": "live-smoke", "TITLE": "Live smoke fails:", "RUN": "https://example.org/runs/1"}


def test_a_failure_opens_one_issue_with_a_label_and_its_marker(gh: Gh, tracking: dict[str, Any]) -> None:
    asked = gh.run(tracking, [], RESULTS=ended(live_openai="failure", live_gemini="skipped"), **TITLE)
    assert [words[:2] for words in asked] == [["issue", "list"], ["label", "create"], ["issue", "create"]]
    made = asked[-1]
    assert made[made.index("--title") + 1] == "Live smoke fails: live-openai"
    assert made[made.index("--label") + 1] == "live-smoke"
    body = made[made.index("--body") + 1]
    assert body.startswith("<!-- stackproof: live-openai -->\nIt ended with failure: https://example.org/runs/1\n")


@pytest.mark.parametrize("result", ["failure", "cancelled"])
def test_the_next_failure_adds_to_the_issue_that_is_open(gh: Gh, tracking: dict[str, Any], result: str) -> None:
    there = [issue(3, "live-gemini"), issue(4, "live-openai")]
    asked = gh.run(tracking, there, RESULTS=ended(live_openai=result), **TITLE)
    assert asked[1:] == [
        ["issue", "comment", "4", "--body", f"It ended with {result} again: https://example.org/runs/1"]
    ]


def test_success_closes_the_issue_of_that_job_alone(gh: Gh, tracking: dict[str, Any]) -> None:
    there = [issue(3, "live-gemini"), issue(4, "live-openai")]
    asked = gh.run(tracking, there, RESULTS=ended(live_openai="success"), **TITLE)
    assert asked[1:] == [["issue", "close", "4", "--comment", "Well again: https://example.org/runs/1"]]


def test_success_without_an_issue_and_jobs_that_were_skipped_write_nothing(gh: Gh, tracking: dict[str, Any]) -> None:
    asked = gh.run(tracking, [], RESULTS=ended(live_openai="success", live_gemini="skipped"), **TITLE)
    assert [words[:2] for words in asked] == [["issue", "list"]]
    assert gh.run(tracking, [], RESULTS=ended(live_gemini="skipped"), **TITLE) == []


@pytest.fixture(scope="session")
def comment(actions: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The step that writes a comment."""
    (step,) = actions["comment"]["runs"]["steps"]
    found: dict[str, Any] = step
    return found


def test_a_comment_is_written_once_and_then_changed(gh: Gh, comment: dict[str, Any]) -> None:
    text = gh.folder / "meaning.md"
    text.write_text("## Recordings\n\n`$(touch x)` ${{ secrets.X }}\n", encoding="utf-8")
    given = {"REPOSITORY": "owner/name", "ABOUT": "recordings", "NUMBER": "7", "FILE": str(text)}
    other = {
        "id": 1,
        "user": {"login": "somebodys[bot]", "type": "Bot"},
        "body": "<!-- stackproof: recordings -->\nnot ours",
    }
    first = gh.run(comment, [other], **given)
    assert first[-1][:4] == ["api", "--method", "POST", "repos/owner/name/issues/7/comments"]
    written = (gh.folder / "comment.md").read_text(encoding="utf-8")
    assert written == "<!-- stackproof: recordings -->\n" + text.read_text(encoding="utf-8")
    ours = {**other, "id": 2, "user": {"login": "github-actions[bot]", "type": "Bot"}}
    second = gh.run(comment, [other, ours, {**ours, "id": 3}], **given)
    assert second[-1][:4] == ["api", "--method", "PATCH", "repos/owner/name/issues/comments/2"]
    assert len(second) == 2


def test_evidence_of_live_smokes_comes_from_that_workflow_on_the_default_branch_alone(
    gh: Gh, actions: dict[str, dict[str, Any]], workflows: dict[str, dict[str, Any]]
) -> None:
    get, tell = actions["live-evidence"]["runs"]["steps"]
    asked = gh.run(get, [{"databaseId": 12}, {"databaseId": 11}], empty="12", BRANCH="main")
    lists = [words for words in asked if words[:2] == ["run", "list"]]
    for words, event in zip(lists, ["schedule", "workflow_dispatch"], strict=True):
        # Not of pull requests: a fork's branch may be called main, and its run is then listed as one of that branch.
        assert words[2:8] == ["--workflow", "live-smoke.yml", "--branch", "main", "--event", event]
    # A run that kept nothing is no reason to give up.
    assert [words[:3] for words in asked[1:3]] == [["run", "download", "12"], ["run", "download", "11"]]
    assert asked[-1][-1] == ".stackproof/live-evidence/11"
    assert (gh.folder / ".stackproof" / "live-evidence").is_dir()
    jobs = {name: job for name, job in workflows["live-smoke"]["jobs"].items() if name != "issue"}
    for name, job in jobs.items():
        # Of two artifacts of one name gh takes that of the first attempt, and what was tried again would not be seen.
        assert job["steps"][-1]["with"]["name"] == f"{name}-${{{{ github.run_attempt }}}}"
    assert tell["run"] == 'echo "STACKPROOF_LIVE_EVIDENCE=.stackproof/live-evidence" >>"$GITHUB_ENV"'
