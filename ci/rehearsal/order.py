"""What a rehearsal is asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class Result(Enum):
    """How a job or a step ends; the words are GitHub's."""

    SUCCESS = "success"
    FAILURE = "failure"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """commit: what is rehearsed. event: what starts the workflows. fork: whether a pull request comes from one.

    inputs: of workflow_dispatch. secrets: their values. variables: the repository's. matrix: legs to keep, by key.
    ends: jobs that are not run but said to end so. jobs: only these and what they need; empty: all.
    timeout: seconds for a step at most. machine: variables that the runner image is to have. change: a patch that the
    pull request consists of. labels: of the pull request. seed: an environment whose
    packages every job has from the start. earlier: folders with artifacts, kept by an earlier run of a
    workflow, by its file's name.
    """

    project: Path
    commit: str
    event: str
    fork: bool
    cron: str | None
    inputs: Mapping[str, str]
    secrets: Mapping[str, str]
    variables: Mapping[str, str]
    matrix: Mapping[str, str]
    ends: Mapping[str, Result]
    jobs: tuple[str, ...]
    timeout: float | None
    machine: Mapping[str, str]
    change: Path | None
    labels: tuple[str, ...]
    seed: Path | None
    earlier: Mapping[str, Path]
    repository: str
    show: bool
