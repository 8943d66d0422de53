"""Which CI runs have no secrets because they are those of a fork."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stackproof.live import fork


def github(tmp_path: Path, head: str | None, *, event: str = "pull_request") -> dict[str, str]:
    path = tmp_path / "event.json"
    repo = None if head is None else {"full_name": head}
    path.write_text(json.dumps({"pull_request": {"head": {"repo": repo}, "base": {"repo": {"full_name": "o/r"}}}}))
    return {"GITHUB_EVENT_NAME": event, "GITHUB_EVENT_PATH": str(path)}


@pytest.mark.parametrize("head", ["somebody/r", None])
def test_a_pull_request_from_another_repository_is_of_a_fork(tmp_path: Path, head: str | None) -> None:
    assert fork.told(github(tmp_path, head)) == "a pull request from a fork gets no secrets"


def test_a_pull_request_of_the_repository_itself_is_not(tmp_path: Path) -> None:
    assert fork.told(github(tmp_path, "o/r")) is None


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"pull_request": 3}'])
def test_an_event_that_says_nothing_is_not(tmp_path: Path, content: str) -> None:
    environ = github(tmp_path, "somebody/r")
    Path(environ["GITHUB_EVENT_PATH"]).write_text(content)
    assert fork.told(environ) is None


def test_only_pull_requests_are_looked_at(tmp_path: Path) -> None:
    # It runs with the secrets of the base.
    assert fork.told(github(tmp_path, "somebody/r", event="pull_request_target")) is None
    assert fork.told({}) is None


def test_gitlab_says_it_with_two_projects() -> None:
    source, target = "CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "CI_MERGE_REQUEST_PROJECT_ID"
    assert fork.told({source: "2", target: "1"}) == "a merge request from a fork gets no secrets"
    assert fork.told({source: "1", target: "1"}) is None
    assert fork.told({target: "1"}) is None
