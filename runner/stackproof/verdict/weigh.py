"""Weighs a run folder against what the project is now. Reads files and Git, runs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path

from stackproof import catalog, nox_sessions, options
from stackproof.errors import UsageError
from stackproof.evidence import digests, git, live
from stackproof.evidence.gather import gather
from stackproof.evidence.read import Evidence
from stackproof.option_values import truthy
from stackproof.verdict import accepted, expected, policy
from stackproof.verdict.current import Current
from stackproof.verdict.decide import decide
from stackproof.verdict.policy import Policy
from stackproof.verdict.records import Verdict


def weigh(project: Path, run_dir: Path, *, environ: Mapping[str, str], today: date) -> Verdict:
    """The verdict over `run_dir`, without running anything.

    UsageError when there is no such folder, or the policy or an expectation cannot be read.
    """
    if not run_dir.is_dir():
        raise UsageError(f"there is no run folder {run_dir}", hint="run folders lie in .stackproof/runs/")
    return weigh_evidence(project, gather([run_dir]), environ=environ, today=today)


def weigh_evidence(project: Path, evidence: Evidence, *, environ: Mapping[str, str], today: date) -> Verdict:
    """The verdict over evidence that was read already; UsageError when policy or an expectation cannot be read."""
    rules = policy.load(project)
    return decide(rules, evidence, current(project, rules, environ=environ, today=today))


def current(project: Path, rules: Policy, *, environ: Mapping[str, str], today: date) -> Current:
    """What the project is now, as far as the policy asks. Suites that do not exist have no digest."""
    suites = catalog.load(project).suites
    source = git.state(project)
    folder = recording_dir(project, environ)
    base = _base(environ)
    return Current(
        commit=source.commit,
        dirty=source.dirty,
        changes=source.changes,
        policy=digests.policy(project),
        today=today,
        suites={
            cell.id: digests.suite(project, suites[cell.suite].roots) for cell in rules.cells if cell.suite in suites
        },
        recordings={cell.id: digests.recordings(folder, cell.setup) for cell in rules.cells},
        expected={name: expected.load(project, name) for name in expected.names(rules)},
        insist=truthy(environ.get("CI")),
        base=base,
        policy_changes=git.changed(project, base, _policy_files(rules)) if base else None,
        nox=nox_sessions.of(project),
        claims=digests.file(project / rules.claims.file) if rules.claims else None,
        accepted_types=accepted.load(project) if rules.typecheck else {},
        claim_tests=digests.suite(project, rules.claims.tests) if rules.claims else None,
        live=live.elsewhere(project, environ) if rules.live else live.NONE,
        insist_live=live.names_some(environ),
    )


def _policy_files(rules: Policy) -> tuple[Path, ...]:
    """What says what is expected, the claims among it."""
    return (digests.POLICY, digests.EXPECTED, *((rules.claims.file,) if rules.claims else ()))


def _base(environ: Mapping[str, str]) -> str | None:
    """The branch that a change goes to, as GitHub and GitLab say it."""
    if name := environ.get("GITHUB_BASE_REF"):
        return f"origin/{name}"
    return environ.get("CI_MERGE_REQUEST_DIFF_BASE_SHA") or None


def recording_dir(project: Path, environ: Mapping[str, str]) -> Path:
    """The folder that holds the recordings of all setups, from the same cascade as that of a run."""
    return project / options.resolve({}, environ, project).recording_dir
