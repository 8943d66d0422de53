"""Shards of a cell, in runs of their own."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.evidence.gather import gather
from stackproof.evidence.outcomes import Outcome
from stackproof.verdict.records import State, Verdict
from stackproof.verdict.weigh import weigh_evidence

if TYPE_CHECKING:
    from tests.unit.verdict.conftest import Project


LIBRARY = "base-ollama-library-reference"


TITLE = "base × ollama × library:reference"


FILE = "tests/integration/base/test_chat.py"


ONE, TWO, VISION = f"{FILE}::test_one", f"{FILE}::test_two[x]", f"{FILE}::test_vision"


GOOD = {ONE: Outcome.PASSED, TWO: Outcome.PASSED, VISION: Outcome.SKIPPED}


BAD = {**GOOD, ONE: Outcome.FAILED}


def weigh(project: Project, *folders: Path) -> Verdict:
    return weigh_evidence(project.folder, gather(folders), environ={}, today=date(2026, 12, 1))


def found(verdict: Verdict, rule: str = f"cell:{LIBRARY}", state: State | None = None) -> list[str]:
    (one,) = [each for each in verdict.rules if each.id == rule]
    return [each.text for each in one.findings if state in (None, each.state)]


def doubts(verdict: Verdict) -> list[str]:
    return found(verdict, state=State.NOT_PROVEN)


@pytest.fixture
def beside(project: Project) -> Path:
    """The other cell and the checks, in a run of their own."""
    run = project.run()
    run.cell("server:reference")
    run.checks()
    run.finish()
    return run.folder


def shard(project: Project, which: str, tests: Mapping[str, Outcome] = GOOD, **more: Any) -> Path:
    """One shard, in a run of its own."""
    run = project.run()
    run.cell("library:reference", tests, shard=which, **more)
    run.finish()
    return run.folder


@pytest.fixture
def three(project: Project) -> list[Path]:
    """All three shards of the library's cell."""
    return [shard(project, f"{index}/3") for index in (1, 2, 3)]


def rewritten(project: Project, run: Path) -> None:
    """Make the manifest fit what is there."""
    from stackproof.evidence import manifest

    manifest.write(run, run_id=run.name, project=project.folder)
