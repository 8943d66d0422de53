"""How a setup stands with its live smoke on a day: what the newest one said, and whether it is too old to say it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import assert_never

from stackproof.evidence.live import SUITE, DriftCounts, LiveFacts, LiveModelFacts, LiveOutcome, newest_first
from stackproof.plaintext import counted
from stackproof.verdict.current import short


class LiveState(StrEnum):
    """What is known of a setup. EMPTY: it says that it passed and did nothing. ELSEWHERE: it passed at an address
    that is not the provider's own, or does not say where. AHEAD: its clock is, or was, wrong.
    """

    PASSED = "passed"
    FAILED = "failed"
    BLOCKED = "blocked"
    STOPPED = "stopped"
    SKIPPED = "skipped"
    EMPTY = "empty"
    ELSEWHERE = "elsewhere"
    STALE = "stale"
    AHEAD = "ahead"
    MISSING = "missing"


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """smoke: the one that decides, None where there is none. outcome: its outcome for this setup, whatever its age.
    limit: days that it may be old. age: whole days, None without a smoke. remarks: what else was seen, as sentences.
    """

    setup: str
    state: LiveState
    limit: int
    smoke: LiveFacts | None = None
    outcome: LiveOutcome | None = None
    age: int | None = None
    remarks: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[LiveModelFacts, ...]:
        """The models that were called."""
        return () if self.smoke is None else self.smoke.of(self.setup)

    @property
    def called(self) -> str:
        """The hosts that were called, for people."""
        return ", ".join(dict.fromkeys(host for model in self.models for host in model.called))

    @property
    def drift(self) -> DriftCounts | None:
        """Over all models; None where that of one of them is not known."""
        found = [model.drift for model in self.models if model.drift is not None]
        if not found or len(found) < len(self.models):
            return None
        return DriftCounts(
            breaking=sum(each.breaking for each in found),
            additive=sum(each.additive for each in found),
            note=sum(each.note for each in found),
            unrecorded=sum(each.unrecorded for each in found),
        )

    @property
    def is_compared(self) -> bool:
        """Whether of each model an answer had a recording to be compared with, as far as the counts tell."""
        return all(model.drift is not None and model.answered > model.drift.unrecorded for model in self.models)

    @property
    def is_absent(self) -> bool:
        """Whether nobody has asked: there is no evidence, or only of smokes that were skipped."""
        return self.state is LiveState.MISSING or self.outcome is LiveOutcome.SKIPPED

    @property
    def sentence(self) -> str:
        """All of it, for people."""
        return f"live smoke of {self.setup} {self.words}"

    @property
    def words(self) -> str:  # noqa: PLR0911 - one for each state
        """The sentence without its subject."""
        limit = f"(limit {self.limit})"
        match self.state:
            case LiveState.PASSED:
                return f"passed {self._when}"
            case LiveState.FAILED | LiveState.BLOCKED | LiveState.STOPPED | LiveState.SKIPPED:
                return f"{_VERBS[self.state]} {self._when}{self._reasons}"
            case LiveState.EMPTY:
                return f"says that it passed {self._when}, and no test of it did"
            case LiveState.ELSEWHERE:
                said = f"called {self.called}, which its setup does not name" if self.called else "does not say where"
                return f"passed {self._when}, but {said}"
            case LiveState.STALE:
                last = "" if self.outcome is None else f": the last one {_VERBS[self.outcome]} on {self._day}"
                return f"did not run for {counted(self.age or 0, 'day')} {limit}{last}"
            case LiveState.AHEAD:
                said = _VERBS[self.outcome or LiveOutcome.PASSED]
                return f"says that it {said} on {self._day}, which is to come: a clock is wrong"
            case LiveState.MISSING:
                return "has not run, as far as there is evidence"
            case _:
                assert_never(self.state)

    @property
    def _when(self) -> str:
        ago = {0: "today", 1: "yesterday"}.get(self.age or 0, f"{self.age} days ago")
        commit = f", at commit {short(self.smoke.commit)}" if self.smoke is not None and self.smoke.commit else ""
        return f"{ago} ({self._day}{commit})"

    @property
    def _day(self) -> str:
        return "" if self.smoke is None else self.smoke.stopped.date().isoformat()

    @property
    def _reasons(self) -> str:
        found = {model.reason for model in self.models if model.outcome is self.outcome and model.reason}
        if not found and self.smoke is not None and self.smoke.ended_by is not None:
            found = {f"its budget of {self.smoke.ended_by} was used up"}
        return f": {'; '.join(sorted(found))}" if found else ""


_VERBS: dict[str, str] = {
    "passed": "passed",
    "failed": "failed",
    "blocked": "was blocked",
    "stopped": "was stopped by its budget",
    "skipped": "was skipped",
}


def standing(
    setup: str, smokes: Iterable[LiveFacts], *, today: date, limit: int, hosts: Collection[str] = ()
) -> Standing:
    """How `setup` stands `today` (UTC). The newest smoke decides; one that was skipped asked nobody, and does not.

    hosts: that count as its provider's own, beside those that the setup names.
    A smoke that ended after today is not trusted: it never makes anything green, and where it was bad it counts.
    """
    mine = [smoke for smoke in newest_first(smokes) if smoke.of(setup)]
    ahead = [smoke for smoke in mine if smoke.stopped.date() > today]
    past = [smoke for smoke in mine if smoke.stopped.date() <= today]
    asked = [smoke for smoke in past if outcome_of(smoke, setup) is not LiveOutcome.SKIPPED]
    bad = [smoke for smoke in ahead if outcome_of(smoke, setup) not in (LiveOutcome.PASSED, LiveOutcome.SKIPPED)]
    if bad or (ahead and not past):
        deciding = (bad or ahead)[0]
        return Standing(
            setup=setup, state=LiveState.AHEAD, limit=limit, smoke=deciding, outcome=outcome_of(deciding, setup)
        )
    if not past:
        return Standing(setup=setup, state=LiveState.MISSING, limit=limit)
    deciding = (asked or past)[0]
    outcome, age = outcome_of(deciding, setup), (today - deciding.stopped.date()).days
    return Standing(
        setup=setup,
        state=_state(deciding, setup, outcome, hosts, is_old=age > limit),
        limit=limit,
        smoke=deciding,
        outcome=outcome,
        age=age,
        remarks=tuple(_remarks(deciding, setup, past, ahead)),
    )


def outcome_of(smoke: LiveFacts, setup: str) -> LiveOutcome:
    """The worst of its models. What went wrong with the smoke and with none of its models went wrong with all."""
    mine = max((model.outcome for model in smoke.of(setup)), key=lambda outcome: outcome.severity)
    told = any(model.outcome is not LiveOutcome.PASSED for model in smoke.models)
    return mine if told else max(mine, smoke.outcome, key=lambda outcome: outcome.severity)


def _state(smoke: LiveFacts, setup: str, outcome: LiveOutcome, hosts: Collection[str], *, is_old: bool) -> LiveState:
    match outcome:
        case LiveOutcome.FAILED:
            return LiveState.FAILED  # it does not get better by waiting
        case _ if is_old:
            return LiveState.STALE
        case LiveOutcome.PASSED:
            return _passed(smoke.of(setup), hosts)
        case LiveOutcome.BLOCKED:
            return LiveState.BLOCKED
        case LiveOutcome.STOPPED:
            return LiveState.STOPPED
        case LiveOutcome.SKIPPED:
            return LiveState.SKIPPED
        case _:
            assert_never(outcome)


def _passed(models: tuple[LiveModelFacts, ...], hosts: Collection[str]) -> LiveState:
    if any(not model.tests.get("passed") or model.answered < 1 for model in models):
        return LiveState.EMPTY
    return LiveState.PASSED if all(_is_own(model, hosts) for model in models) else LiveState.ELSEWHERE


def _is_own(model: LiveModelFacts, hosts: Collection[str]) -> bool:
    return bool(model.called) and (model.own_address or set(model.called) <= set(hosts))


def _remarks(deciding: LiveFacts, setup: str, past: list[LiveFacts], ahead: list[LiveFacts]) -> Iterator[str]:
    if past[0] is not deciding:
        yield f"a newer one, of {past[0].stopped.date()}, was skipped"
    if ahead:
        yield f"one that says that it ended on {ahead[0].stopped.date()}, which is to come, was not trusted"
    if deciding.arguments or deciding.suite not in (None, SUITE):
        ran = f"suite {deciding.suite or SUITE}" + f" with {' '.join(deciding.arguments)}" * bool(deciding.arguments)
        yield f"it ran {ran}, so perhaps not every test of {SUITE}"
    if refused := sum(model.refused for model in deciding.of(setup)):
        asked = sum(model.requests or 0 for model in deciding.of(setup))
        yield f"{counted(asked, 'request')}, {refused} of them refused or without an answer"
    if deciding.dirty:
        yield "it ran with changes that were not committed"
