"""Which recordings were asked for, and which were not although their test ran: judged from runs, never guessed.

A recording is used when any run that is kept asked for it, whichever stack it had. It is unused when its test passed
from recordings on every stack that it is known to run on (a skip on one leaves the judgement to the others), with
this very file in place, and nobody asked, or only runs from before the test was changed. Everything else was not
observed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from stackproof.evidence.outcomes import Outcome
from stackproof.recorder.inject.fault import INJECTED
from stackproof.recorder.mode import Mode
from stackproof.recorder.store import parse_name
from stackproof.recordings.observed import Observed
from stackproof.recordings.query import owner_of, suites_of

_RAN = (Outcome.PASSED, Outcome.XPASSED, Outcome.FLAKY)
_CALM = (*_RAN, Outcome.SKIPPED)


class Use(StrEnum):
    """What is known of the use of one recording."""

    USED = "used"
    UNUSED = "unused"
    UNOBSERVED = "not observed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """use, and why; the words begin as a sentence about the recording does. suites: those that its test is in."""

    use: Use
    why: str = ""
    suites: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class File:
    """One recording as far as its use is concerned. name: its path below the recording directory, with its setup.

    changed: seconds since the epoch at which the file came to be what it is, where it is.
    """

    name: str
    setup: str
    scope: str
    changed: float


@dataclass(kw_only=True, slots=True)
class Usage:
    """What all runs say together. Give it the newest run first.

    expected: suite × setup → the stacks that must have been observed before anything there is called unused. listed:
    suite, setup and stack of those that the release policy names, whether or not a run had them.
    digest: the digest of a setup's folder and of a suite's files as they are now, asked for only where times do not
    tell. recorded: whether a suite has a folder of recordings in a setup. tests: every test there is, None where that
    was not asked.
    """

    project: Path
    suites: Mapping[str, tuple[str, ...]]
    expected: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    listed: set[tuple[str, str, str]] = field(default_factory=set)
    recordings_digest: Callable[[str], str]
    suite_digest: Callable[[str], str]
    recorded: Callable[[str, str], bool]
    tests: frozenset[str] | None = None
    _asked: dict[str, Observed] = field(default_factory=dict)
    _recorded: dict[tuple[str, str, str], Observed] = field(default_factory=dict)
    _seen: dict[tuple[str, str, str], dict[str, tuple[Outcome, Observed]]] = field(default_factory=dict)
    _whole: dict[tuple[str, str, str], Observed] = field(default_factory=dict)
    _runs: dict[tuple[str, str, str], list[Observed]] = field(default_factory=dict)
    _fixtures: dict[tuple[str, str, str], frozenset[str]] = field(default_factory=dict)

    def take_in(self, observed: Iterable[Observed]) -> None:
        """Add runs, the newest first."""
        for one in observed:
            faulty = set()
            for call in one.calls():
                self._note(one, call.get("kind"), str(call.get("file") or ""))
                if call.get("kind") == INJECTED:
                    faulty.add(call.get("scope"))
            if one.mode is not Mode.REPLAY or one.suite not in self.suites:
                continue
            key = (one.suite, one.setup, one.stack)
            self.expected.setdefault(key[:2], set()).add(one.stack)
            self._runs.setdefault(key, []).append(one)
            if one.finished:
                seen = self._seen.setdefault(key, {})
                for nodeid, entry in one.log.tests.items():
                    if nodeid not in faulty:  # it went on in another way than when it was recorded
                        seen.setdefault(nodeid, (entry.outcome, one))
            if one.whole and key not in self._whole:
                self._whole[key] = one
                self._fixtures[key] = one.fixtures()

    def _note(self, one: Observed, kind: object, file: str) -> None:
        name = Path(file).name
        parsed = parse_name(name)
        if kind == "recorded" and parsed is None and name:
            self._asked.setdefault(f"{one.setup}/common/{name}", one)  # a list of models
        elif parsed is not None and (kind == "recorded" or "/" not in file):
            # Its number may have been closed up on the way into its place.
            self._recorded.setdefault((one.setup, parsed.scope, parsed.request), one)
        elif kind in ("replayed", INJECTED) and name:
            self._asked.setdefault(one.name_of(file), one)

    def judge(self, file: File) -> Judged:
        """What is known of one recording."""
        name = Path(file.name).name
        parsed = parse_name(name)
        suites = suites_of(file.scope, self.suites)
        asked = self._asked.get(file.name)
        if asked is None and parsed is not None:
            asked = self._recorded.get((file.setup, parsed.scope, parsed.request))
        is_test = "::" in file.scope and not file.scope.startswith("fixture:")
        if asked is not None:
            used = Judged(use=Use.USED, suites=suites)
            if not is_test or self._same_test(asked, file.scope):
                return used
            # The test that asked was another one; only a run with the new one can say that it does not.
            judged = self._judge(file, suites, self._by_test)
            return judged if judged.use is Use.UNUSED else used
        if parsed is None or not (is_test or file.scope.startswith("fixture:")):
            return Judged(use=Use.UNOBSERVED, why=_OF_THE_STACK, suites=suites)
        if not is_test:
            # A fixture of no file or folder, a session's, may serve every suite.
            suites = suites or _around(owner_of(file.scope), self.suites)
            if any(self.recorded(suite, file.setup) and not self._stacks(suite, file.setup) for suite in suites):
                return Judged(use=Use.UNOBSERVED, why=_NEVER, suites=suites)
            return self._judge(file, suites, self._by_fixture)
        return self._judge(file, suites, self._by_test)

    def lacking(self, suite: str, setup: str, changed: float) -> list[str]:
        """Stacks on which no whole run of the suite has been seen since `changed`; `?` where no stack is known."""
        stacks = sorted(self.expected.get((suite, setup), ())) or ["?"]
        return [
            stack
            for stack in stacks
            if not ((one := self._whole.get((suite, setup, stack))) and self._had(one, setup, changed))
        ]

    def runs(self, suite: str, setup: str, stack: str) -> list[Observed]:
        """The kept runs from recordings that make this stack one that must be seen, the newest first."""
        return self._runs.get((suite, setup, stack), [])

    def observed(self, setup: str, nodeid: str) -> bool:
        """Whether any run from recordings of the setup said what became of a test."""
        return any(nodeid in seen for (_, of, _), seen in self._seen.items() if of == setup)

    def _judge(
        self,
        file: File,
        suites: tuple[str, ...],
        one_cell: Callable[[File, tuple[str, str, str]], tuple[Use, str]],
    ) -> Judged:
        keys = [(suite, file.setup, stack) for suite in suites for stack in self._stacks(suite, file.setup)]
        told: dict[Use, str] = {}
        for key in keys:
            use, why = one_cell(file, key)
            told.setdefault(use, why)
        if Use.UNOBSERVED in told or not told:
            return Judged(use=Use.UNOBSERVED, why=told.get(Use.UNOBSERVED, _NEVER), suites=suites)
        if Use.UNUSED in told:
            return Judged(use=Use.UNUSED, why=told[Use.UNUSED], suites=suites)
        return Judged(use=Use.UNOBSERVED, why="its test was skipped on every stack", suites=suites)

    def _stacks(self, suite: str, setup: str) -> list[str]:
        return sorted(self.expected.get((suite, setup), ()))

    def _by_test(self, file: File, key: tuple[str, str, str]) -> tuple[Use, str]:
        """What one cell says; USED here means that it has nothing to say, since the test was skipped there."""
        seen = self._seen.get(key, {}).get(file.scope)
        if seen is None:
            return Use.UNOBSERVED, f"no run of {_cell(key)} that is kept had its test"
        outcome, one = seen
        if outcome is Outcome.SKIPPED:
            return Use.USED, ""
        if outcome not in _RAN:
            return Use.UNOBSERVED, f"its test {_ended(outcome)} in run {one.run} ({key[2]})"
        if not self._had(one, file.setup, file.changed):
            return Use.UNOBSERVED, f"it came after run {one.run} ({key[2]})"
        if not self._same_test(one, file.scope):
            return Use.UNOBSERVED, f"its test's file changed after run {one.run} ({key[2]})"
        return Use.UNUSED, f"its test passed in run {one.run} ({key[2]}) without asking for it"

    def _by_fixture(self, file: File, key: tuple[str, str, str]) -> tuple[Use, str]:
        one = self._whole.get(key)
        if one is None:
            return Use.UNOBSERVED, f"no whole run of {_cell(key)} is kept"
        where, outcomes = f"run {one.run} ({key[2]})", {entry.outcome for entry in one.log.tests.values()}
        doubts = (
            (not outcomes.issubset(_CALM), f"tests that may need it failed in {where}"),
            (not self._had(one, file.setup, file.changed), f"it came after {where}"),
            (not self._all_of(one, key[0]), f"{where} did not run every test of {key[0]}"),
        )
        for doubt, why in doubts:
            if doubt:
                return Use.UNOBSERVED, why
        if file.scope in self._fixtures[key]:
            return Use.UNUSED, f"its fixture was set up in {where} without asking for it"
        if Outcome.SKIPPED in outcomes:
            return Use.USED, ""  # its dependents may be those that were skipped
        return Use.UNUSED, f"no test of {where} set its fixture up"

    def _all_of(self, one: Observed, suite: str) -> bool:
        """Whether a run had each test of its suite that there is now; no marker and no pattern kept one from it."""
        if self.tests is None:
            return False
        return all(test in one.log.tests for test in self.tests if suite in suites_of(test, self.suites))

    def _had(self, one: Observed, setup: str, changed: float) -> bool:
        """Whether a run saw files as they are now: they are older than it, or their digest says so."""
        if one.local and changed < one.began:
            return True
        if one.recordings is None or (one.local and changed <= one.ended):
            return False
        return one.recordings == self.recordings_digest(setup)

    def _same_test(self, one: Observed, nodeid: str) -> bool:
        try:
            changed = (self.project / nodeid.partition("::")[0]).stat().st_ctime
        except OSError:
            return False
        if one.local and changed < one.began:
            return True
        return one.suite_digest is not None and one.suite_digest == self.suite_digest(one.suite)


_OF_THE_STACK = "no run that is kept asked for it; what is the stack's own goes when it is recorded anew"
_NEVER = "no run that is kept had its suite with this setup"


def _around(owner: str, suites: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Suites with a root below `owner`, a folder; all where it is empty."""
    return tuple(
        name
        for name, roots in suites.items()
        if not owner or any(root.startswith(f"{owner.rstrip('/')}/") for root in roots)
    )


def _cell(key: tuple[str, str, str]) -> str:
    return " × ".join(key)


def _ended(outcome: Outcome) -> str:
    return "failed" if outcome in (Outcome.FAILED, Outcome.ERROR) else f"ended as {outcome.value}"
