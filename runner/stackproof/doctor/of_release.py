"""Whether anything decides on a release: a policy, the tests that it expects, and a workflow that runs them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from stackproof.doctor.finding import Finding, odd, ok, some
from stackproof.doctor.place import Place
from stackproof.errors import StackproofError
from stackproof.verdict import expected, policy
from stackproof.verdict.check import check

_WORKFLOWS = (
    ".github/workflows/*.yml", ".github/workflows/*.yaml", ".gitlab-ci.yml", ".circleci/config.yml",
    "azure-pipelines.yml", "Jenkinsfile", ".buildkite/pipeline.yml", ".woodpecker.yml", ".drone.yml",
    "bitbucket-pipelines.yml", ".travis.yml",
)  # fmt: skip
_RUNS_US = re.compile(r"\bstackproof\b|\bnox\b", re.IGNORECASE)
_ABSENT = " is missing: "
_UPDATE = "`stackproof policy update`, after a run that you have looked at"


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseFacts:
    """policy: there is one. error: why it cannot be read. complaints: what `stackproof policy check` would say.

    gone: tests that it expects, and no file of the project defines. workflows: all; running: those that run us.
    """

    policy: bool
    error: str | None = None
    hint: str | None = None
    complaints: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    workflows: tuple[str, ...] = ()
    running: tuple[str, ...] = ()


def look(place: Place) -> ReleaseFacts:
    """Read policy, expected tests and workflows, and look for the tests in their files."""
    project, known = place.project, place.chosen.known
    files = [path for pattern in _WORKFLOWS for path in sorted(project.glob(pattern))]
    running = [path for path in files if _RUNS_US.search(_text(path))]
    there = (project / policy.PATH).is_file()
    error: StackproofError | None = None
    complaints: list[str] = []
    gone: list[str] = []
    if there and known is not None:
        try:
            complaints = check(project, known, datetime.fromtimestamp(place.now, UTC).date())
            gone = sorted(_gone(project))
        except StackproofError as found:
            error = found
    return ReleaseFacts(
        policy=there,
        error=None if error is None else error.message,
        hint=None if error is None else error.hint,
        complaints=tuple(complaints),
        gone=tuple(gone),
        workflows=tuple(place.short(path) for path in files),
        running=tuple(place.short(path) for path in running),
    )


def judge(facts: ReleaseFacts) -> Iterator[Finding]:
    """Would anybody notice if the tests failed?"""
    name = policy.PATH.as_posix()
    if not facts.policy:
        yield odd("release.policy", name, "is not there, so no verdict can be given", "`stackproof init` writes one")
    elif facts.error is not None:
        yield odd("release.policy", name, f"cannot be used: {facts.error}", facts.hint or "correct it")
    else:
        absent = [line.partition(_ABSENT)[0] for line in facts.complaints if _ABSENT in line]
        if absent:
            many = len(absent) > 1
            yield odd("release.unexpected", some(absent), f"{'are' if many else 'is'} missing", _UPDATE)
        for line in facts.complaints:
            if _ABSENT not in line:
                yield odd("release.stale", "policy", f": {line}", "correct it; `stackproof policy check` says it again")
        if facts.gone:
            said = f"expects tests that are in no file: {some(facts.gone)}"
            yield odd("release.expected", f"{expected.FOLDER.as_posix()}/", said, _UPDATE)
        if not facts.complaints and not facts.gone:
            yield ok("release.policy", name, "is in order, with the tests that it expects")
    if facts.running:
        yield ok(
            "release.workflow",
            some(facts.running),
            "runs Stackproof, or nox" if len(facts.running) == 1 else "run Stackproof, or nox",
        )
    else:
        has = "has" if len(facts.workflows) == 1 else "have"
        there = f"{some(facts.workflows)} {has} no word of it" if facts.workflows else "there is no workflow"
        yield odd(
            "release.workflow",
            "CI",
            f"runs no Stackproof: {there}",
            "`stackproof init --ci github` writes a workflow, or `--ci gitlab`",
        )


def _gone(project: Path) -> Iterator[str]:
    """Expected node ids whose file is not there, or defines nothing of that name."""
    texts: dict[str, str] = {}
    for name in expected.names(policy.load(project)):
        found = expected.load(project, name)
        for nodeid in found.nodeids if found is not None else ():
            file, *parts = nodeid.partition("[")[0].split("::")
            text = texts.setdefault(file, _text(project / file))
            # What other runners, or plugins, collect has names that are no function's.
            if not text or (file.endswith(".py") and parts and not re.search(rf"\b{re.escape(parts[-1])}\b", text)):
                yield nodeid


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
