"""What a verdict is made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from stackproof.errors import ExitCode
from stackproof.evidence.times import NO_TIMES, Times
from stackproof.verdict.standing import Standing


class State(StrEnum):
    """The order of definition is from best to worst: FAIL wins over NOT PROVEN, which wins over PASS."""

    PASS = "PASS"  # noqa: S105 - a word, no password
    NOT_PROVEN = "NOT PROVEN"
    FAIL = "FAIL"

    @property
    def severity(self) -> int:
        """0 for the best."""
        return _SEVERITY[self]


_SEVERITY = {state: number for number, state in enumerate(State)}


def worst(states: Iterable[State]) -> State:
    """The worst of `states`; PASS when there are none, which is why no caller may ask about nothing."""
    return max(states, key=lambda state: state.severity, default=State.PASS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that was found. PASS findings are remarks: they are said and change nothing."""

    state: State
    text: str
    exit_code: ExitCode = ExitCode.TESTS  # which exit code a FAIL asks for


def failed(text: str, *, exit_code: ExitCode = ExitCode.TESTS) -> Finding:
    """Something is broken."""
    return Finding(state=State.FAIL, text=text, exit_code=exit_code)


def not_proven(text: str) -> Finding:
    """Something that was expected is missing, or does not fit."""
    return Finding(state=State.NOT_PROVEN, text=text)


def remark(text: str) -> Finding:
    """Something that people should know."""
    return Finding(state=State.PASS, text=text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One line of a verdict.

    proves, excludes: what a PASS of this rule says, and what it does not. evidence: files below the run folder.
    again: the command that produces this rule's evidence anew; more_again: others that it takes, too. blocking: False
    where the policy wants the rule only where it is available; then NOT PROVEN is said and does not count. good: the
    line of a green rule; lead: the line of a failed one, None where the first finding says it all. part_of: the rule
    whose line speaks for this one, too, while it is green; None where it has a line of its own in any case.
    """

    id: str
    title: str
    good: str
    findings: tuple[Finding, ...] = ()
    proves: str
    excludes: str
    evidence: tuple[str, ...] = ()
    again: str | None = None
    more_again: tuple[str, ...] = ()
    blocking: bool = True
    lead: str | None = None
    part_of: str | None = None

    @property
    def state(self) -> State:
        """The worst finding."""
        return worst(finding.state for finding in self.findings)

    @property
    def counted(self) -> State:
        """What the rule adds to the verdict."""
        return State.PASS if self.state is State.NOT_PROVEN and not self.blocking else self.state

    @property
    def noted(self) -> bool:
        """Green, with a remark."""
        return self.state is State.PASS and bool(self.findings)

    @property
    def summary(self) -> str:
        """One line: `good` when green, `lead` when failed, else the first finding of the worst state."""
        state = self.state  # found anew each time, over findings that may be thousands
        if state is State.PASS:
            return self.good
        if state is State.FAIL and self.lead is not None:
            return self.lead
        bad = [finding for finding in self.findings if finding.state is state]
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        said = "not proven: " if state is State.NOT_PROVEN else ""
        return f"{said}{bad[0].text}{more}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The answer to "may this be released?", with a line per rule.

    commit, dirty: the source that was weighed. policy: its digest. started, stopped: first and last of the evidence,
    UTC in ISO format, as far as clocks of several machines can say it; times: what it took. as_of: the day on which
    waivers were looked at. live: how each setup stands with its live smoke.
    """

    rules: tuple[Rule, ...]
    run_id: str | None = None
    commit: str | None = None
    dirty: bool = False
    policy: str | None = None
    started: str | None = None
    stopped: str | None = None
    as_of: str = ""
    live: tuple[Standing, ...] = ()
    times: Times = NO_TIMES

    @property
    def state(self) -> State:
        """FAIL if anything failed; else NOT PROVEN if anything expected is missing, no rule at all included."""
        return worst(rule.counted for rule in self.rules) if self.rules else State.NOT_PROVEN

    @property
    def shown(self) -> tuple[Rule, ...]:
        """The rules that have a line where people look first: not what is green and part of another."""
        return tuple(rule for rule in self.rules if rule.part_of is None or rule.state is not State.PASS)

    @property
    def exit_code(self) -> ExitCode:
        """0, 7, or for a FAIL the first of 1, 5, 6 that a finding asks for."""
        match self.state:
            case State.PASS:
                return ExitCode.PASS
            case State.NOT_PROVEN:
                return ExitCode.NOT_PROVEN
            case State.FAIL:
                asked = {
                    finding.exit_code for rule in self.rules for finding in rule.findings if finding.state is State.FAIL
                }
                order = (ExitCode.TESTS, ExitCode.STACK_START, ExitCode.RECORDINGS)
                return next((code for code in order if code in asked), ExitCode.TESTS)

    @property
    def again(self) -> tuple[str, ...]:
        """Commands for what is not green, each once."""
        bad = (rule for rule in self.rules if rule.state is not State.PASS)
        commands = (command for rule in bad for command in (rule.again, *rule.more_again))
        return tuple(dict.fromkeys(command for command in commands if command))
