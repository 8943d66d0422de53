"""A workflow as it is written: what its keys say, before anything is worked out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ci.rehearsal.document import Document, Path

_DIGEST = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One step of a job or of a composite action. number: from 0. path: the way to it in its document."""

    document: Document
    path: Path
    number: int
    id: str | None
    name: str | None
    uses: str | None
    run: str | None
    shell: str | None
    working_directory: str | None
    condition: str | bool | None
    inputs: Mapping[str, Any]
    env: Mapping[str, Any]
    continue_on_error: Any
    timeout: Any

    @property
    def title(self) -> str:
        """What it is called where its name is not worked out."""
        if self.name is None and self.uses is not None:
            action, sign, version = self.uses.partition("@")
            return f"{action}{sign}{version[:7] if len(version) == _DIGEST else version}"
        return self.name or f"Run {(self.run or '').strip().partition(chr(10))[0]}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """One job. uses: the workflow that it calls, in which case it has no steps. permissions None: the workflow's."""

    document: Document
    path: Path
    id: str
    name: str | None
    needs: tuple[str, ...]
    condition: str | bool | None
    env: Mapping[str, Any]
    outputs: Mapping[str, str]
    steps: tuple[Step, ...]
    matrix: Any
    fail_fast: Any
    shell: str | None
    working_directory: str | None
    environment: str | None
    permissions: Mapping[str, str] | None
    continue_on_error: Any
    timeout: Any
    uses: str | None
    inputs: Mapping[str, Any]
    secrets: Mapping[str, str] | str


@dataclass(frozen=True, kw_only=True, slots=True)
class Workflow:
    """A file. events: what starts it, with each event's own keys."""

    document: Document
    name: str
    events: Mapping[str, Mapping[str, Any]]
    env: Mapping[str, Any]
    permissions: Mapping[str, str] | None
    jobs: Mapping[str, Job]

    @property
    def file(self) -> str:
        """Its path in the repository."""
        return self.document.file


@dataclass(frozen=True, kw_only=True, slots=True)
class Action:
    """A composite action of the repository. inputs: name to its default, None where there is none."""

    document: Document
    inputs: Mapping[str, str | None]
    required: frozenset[str]
    outputs: Mapping[str, str]
    steps: tuple[Step, ...]
