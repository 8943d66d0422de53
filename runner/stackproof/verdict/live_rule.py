"""The rule for the live smoke of one setup: providers still answer, and as the recordings say, not too long ago."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from stackproof.errors import ExitCode
from stackproof.evidence.live import RESULT, VARIABLE
from stackproof.evidence.manifest import Damage
from stackproof.plaintext import counted
from stackproof.verdict.cell_rule import damage_words
from stackproof.verdict.policy_records import DriftRule, LivePolicy, Required
from stackproof.verdict.records import Finding, Rule, failed, not_proven, remark
from stackproof.verdict.standing import LiveState, Standing

AGAIN = "nox -s live_smoke --"


def live_rule(
    wanted: LivePolicy, found: Standing, *, problems: Iterable[str], damage: Iterable[Damage], insist: bool
) -> Rule:
    """problems: files that should have held evidence, and what is wrong with them. insist: absence counts wherever it
    is found.
    """
    findings = [*_state(found), *_drift(wanted.drift, found), *map(remark, found.remarks)]
    if found.smoke is not None and found.smoke.origin == RESULT.as_posix():
        findings += [not_proven(damage_words(each)) for each in damage if each.path == RESULT.as_posix()]
    # What is unreadable may be what is missing; beside something newer it changes nothing.
    findings += [(not_proven if found.is_absent else remark)(text) for text in problems]
    of_this_run = found.smoke is not None and found.smoke.origin == RESULT.as_posix()
    return Rule(
        id=f"live:{found.setup}",
        title=f"live {found.setup}",
        good=f"{found.words}: {_models(found)} at {found.called}; {_drift_words(found)}",
        findings=tuple(findings),
        proves=f"real calls to the providers of {found.setup} were answered to their end, at most "
        f"{wanted.max_age_days} days before the day of the verdict",
        excludes="what the answers say, models that were not called, whether the name of the host led to the provider, "
        "what providers do since, and whether this commit would call them alike where the smoke was of another; "
        "evidence that was made up: it is not signed",
        evidence=(RESULT.as_posix(),) if of_this_run else (),
        again=f"{AGAIN} --setup {found.setup}",
        blocking=wanted.required is Required.ALWAYS or insist or not found.is_absent,
    )


def _state(found: Standing) -> Iterator[Finding]:
    text = f"it {found.words}"
    match found.state:
        case LiveState.PASSED:
            return
        case LiveState.FAILED:
            yield failed(text)
        case LiveState.MISSING:
            yield not_proven(f"{text}; {VARIABLE} names where that of another machine lies")
        case (
            LiveState.BLOCKED
            | LiveState.STOPPED
            | LiveState.SKIPPED
            | LiveState.EMPTY
            | LiveState.ELSEWHERE
            | LiveState.STALE
            | LiveState.AHEAD
        ):
            yield not_proven(text)
        case _:
            assert_never(found.state)


def _drift(rule: DriftRule, found: Standing) -> Iterator[Finding]:
    """A field that is new breaks no client, so even where drift fails it is only said."""
    if found.smoke is None or found.is_absent:
        return
    if rule is DriftRule.FAIL and found.state is LiveState.PASSED and not found.is_compared:
        yield not_proven("its answers were not compared with the recordings")
    drift = found.drift
    if drift is None:
        return
    if drift.breaking:
        number = counted(drift.breaking, "breaking difference")
        text = f"drift: {number} from the recordings; drift.json of its cells has them"
        yield failed(text, exit_code=ExitCode.RECORDINGS) if rule is DriftRule.FAIL else remark(text)
    if drift.additive:
        yield remark(f"drift: {counted(drift.additive, 'field or event is', 'fields or events are')} new")
    if drift.unrecorded:
        yield remark(f"{counted(drift.unrecorded, 'call')} had no recording to be compared with")


def _models(found: Standing) -> str:
    return ", ".join(model.model for model in found.models)


def _drift_words(found: Standing) -> str:
    drift = found.drift
    if drift is None:
        return "not compared with recordings"
    return f"drift: {drift.breaking} breaking, {drift.additive} additive"
