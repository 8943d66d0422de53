"""The verdict as in-toto Statements v1 about the commit: what the tests gave, and which properties were verified.

https://github.com/in-toto/attestation: spec/v1/statement.md, spec/predicates/test-result.md (v0.1) and svr.md (v0.1;
`policies` is what v0.2 added, and v0.1 lets pass). They are not signed: who wants proof of who made them wraps them in
a signed envelope. Field names with `stackproof_` are extensions that readers may pass over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from stackproof import __version__
from stackproof.evidence.outcomes import Outcome
from stackproof.verdict.records import State, Verdict
from stackproof.verdict.test_rows import TestRow

TEST_RESULT = "intoto/test-result.json"
SVR = "intoto/svr.json"
RELEASE = "STACKPROOF_RELEASE_PASS"
_STATEMENT = "https://in-toto.io/Statement/v1"
_UNSIGNED = {"stackproof_signed": False}


def can_be_made(verdict: Verdict) -> bool:
    """Whether there is a commit that statements could be about, with nothing that is not part of it."""
    return verdict.commit is not None and not verdict.dirty


def test_result(
    verdict: Verdict, rows: Iterable[TestRow], *, policy_file: Mapping[str, Any], url: str | None
) -> dict[str, Any]:
    """A statement with the test-result predicate. policy_file: a resource descriptor of the policy; url: of the CI run.

    NOT PROVEN is no PASSED, and there is no fourth word: it is FAILED here, and `stackproof_verdict` has ours. Failed
    are also the rules that are not green, so that their list is never empty beside FAILED. Skipped tests are in no
    list.
    """
    lists: dict[str, list[str]] = {"passedTests": [], "warnedTests": [], "failedTests": []}
    for row in rows:
        if (name := _list_of(row)) is not None:
            lists[name].append(f"{row.cell}: {row.name}")
    lists["failedTests"] += [f"rule: {rule.id}" for rule in verdict.rules if rule.counted is not State.PASS]
    predicate: dict[str, Any] = {
        "result": _result(verdict.state, warned=bool(lists["warnedTests"])),
        "configuration": [dict(policy_file)],
        **lists,
        "stackproof_verdict": verdict.state.value,
        **_UNSIGNED,
    }
    if url is not None:
        predicate["url"] = url
    return _statement(verdict, "https://in-toto.io/attestation/test-result/v0.1", predicate)


def svr(verdict: Verdict, *, policy_file: Mapping[str, Any]) -> dict[str, Any]:
    """A Simple Verification Result: the rules that are green, and STACKPROOF_RELEASE_PASS where the verdict is PASS."""
    green = [f"STACKPROOF_{rule.id}" for rule in verdict.rules if rule.state is State.PASS]
    predicate = {
        "verifier": {"id": f"pkg:pypi/stackproof@{__version__}", "policies": [dict(policy_file)]},
        "timeCreated": _timestamp(verdict),
        "properties": [*([RELEASE] if verdict.state is State.PASS else []), *green],
        "stackproof_verdict": verdict.state.value,
        **_UNSIGNED,
    }
    return _statement(verdict, "https://in-toto.io/attestation/svr/v0.1", predicate)


def run_url(environ: Mapping[str, str]) -> str | None:
    """The page of the CI run, as GitHub and GitLab say it."""
    server, repository = environ.get("GITHUB_SERVER_URL"), environ.get("GITHUB_REPOSITORY")
    if (run := environ.get("GITHUB_RUN_ID")) and server and repository:
        return f"{server}/{repository}/actions/runs/{run}"
    return environ.get("CI_JOB_URL") or None


def _statement(verdict: Verdict, kind: str, predicate: Mapping[str, Any]) -> dict[str, Any]:
    subject = [{"digest": {"gitCommit": verdict.commit}}]
    return {"_type": _STATEMENT, "subject": subject, "predicateType": kind, "predicate": dict(predicate)}


def _list_of(row: TestRow) -> str | None:
    match row.outcome:
        case Outcome.PASSED | Outcome.XFAILED:
            return "passedTests"
        case Outcome.FLAKY | Outcome.XPASSED:
            return "warnedTests"
        case Outcome.FAILED | Outcome.ERROR:
            return "warnedTests" if row.borne else "failedTests"
        case Outcome.SKIPPED:
            return None


def _result(state: State, *, warned: bool) -> str:
    match state:
        case State.PASS:
            return "WARNED" if warned else "PASSED"
        case State.FAIL | State.NOT_PROVEN:
            return "FAILED"


def _timestamp(verdict: Verdict) -> str:
    """When the last of the evidence was there, else the day of the verdict: the verdict itself has no clock."""
    for moment in (verdict.stopped, verdict.as_of):
        try:
            when = datetime.fromisoformat(moment or "")
        except ValueError:
            continue
        aware = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
        return aware.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return "1970-01-01T00:00:00Z"
