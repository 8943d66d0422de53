"""Whether a CI run is one of a fork, which gets no secrets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from stackproof.evidence import jsonfile


def told(environ: Mapping[str, str]) -> str | None:
    """Why there are no secrets, as words for a reason; None where the CI system does not say that this is a fork.

    GitHub says it in the event's file only: the repository of the pull request's head is another than that of its base
    (https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows#pull_request).
    GitLab has both projects in variables (https://docs.gitlab.com/ci/variables/predefined_variables/).
    """
    if _github(environ):
        return "a pull request from a fork gets no secrets"
    source, target = (environ.get(f"CI_MERGE_REQUEST_{name}PROJECT_ID") for name in ("SOURCE_", ""))
    if source and target and source != target:
        return "a merge request from a fork gets no secrets"
    return None


def _github(environ: Mapping[str, str]) -> bool:
    path = environ.get("GITHUB_EVENT_PATH")
    if not path or environ.get("GITHUB_EVENT_NAME") != "pull_request":
        return False
    request = jsonfile.table(jsonfile.read(Path(path)) or {}, "pull_request")
    head, base = (jsonfile.table(jsonfile.table(request, end), "repo").get("full_name") for end in ("head", "base"))
    # A fork that was deleted meanwhile has no name any more.
    return bool(request) and head != base
