"""What the project is now: evidence must belong to exactly this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from stackproof import nox_sessions
from stackproof.evidence.live import NONE, LiveEvidence
from stackproof.verdict.accepted import Accepted
from stackproof.verdict.expected import Expectation


@dataclass(frozen=True, kw_only=True, slots=True)
class Current:
    """commit: None without Git. suites, recordings: digests by cell id. expected: by cell id, None where no file is.

    changes: files that make it dirty, as far as they are known. today: the day on which waivers are looked at. insist:
    cells that are wanted only where available are wanted here. base: the branch that this one goes to, None when nobody
    says. policy_changes: policy files that differ from it, None when that is not known. nox: sessions that people
    here start instead of our commands. claims, claim_tests: digests of the claims file and of the tests that serve its
    claims. accepted_types: type errors that are borne for now. live: smokes that other runs left. insist_live: there
    should be some, so that none counts.
    """

    commit: str | None
    dirty: bool
    policy: str
    today: date
    suites: Mapping[str, str] = field(default_factory=dict)
    recordings: Mapping[str, str] = field(default_factory=dict)
    expected: Mapping[str, Expectation | None] = field(default_factory=dict)
    insist: bool = False
    base: str | None = None
    policy_changes: tuple[str, ...] | None = None
    nox: frozenset[str] = nox_sessions.OURS
    claims: str | None = None
    claim_tests: str | None = None
    accepted_types: Mapping[Accepted, int] = field(default_factory=dict)
    live: LiveEvidence = NONE
    insist_live: bool = False
    changes: tuple[str, ...] = ()


def one(commit: str | None) -> str:
    """What evidence is of: a commit, or none that all of it shares."""
    return f"commit {short(commit)}" if commit else "no single commit"


def short(commit: str | None) -> str:
    """A commit as people read it."""
    return commit[:7] if commit else "no commit"
