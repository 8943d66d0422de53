"""What becomes of a test's provider calls: missed ones fail it, recorded ones are kept if it passed."""

from __future__ import annotations

import os
from collections.abc import Collection, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from stackproof.plugin import no_room
from stackproof.plugin.budgeting import Spending
from stackproof.plugin.journal import MISSES
from stackproof.plugin.scopes import SHARED_JOURNAL, ScopeTracker, shared_scopes_used
from stackproof.recorder import elsewhere, recording
from stackproof.recorder import scope as scopes
from stackproof.recorder.brain import Brain
from stackproof.recorder.inject.fault import INJECTED
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope
from stackproof.shards import elsewhere as elsewhere_of_shards

# A server learns that a stream was closed, and does what it put off until its answer was out, after the test has ended.
_IN_FLIGHT = 5.0
OPEN_TAKES = 0.5


@dataclass
class Kept:
    """Over a session: files written, removed, and dropped since their test failed; calls that never ended; numbers of
    the misses (lines of their journal) that a test was told of."""

    written: int = 0
    removed: int = 0
    not_promoted: int = 0
    still_in_flight: list[str] = field(default_factory=list)
    misses_told: list[int] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Missed:
    """A line of the misses' journal: its number from 0, whose call it was, what is told."""

    number: int
    scope: str
    message: str


class Keeper:
    """Hooks that judge a test's calls when its teardown is over, and keep or drop what was recorded."""

    def __init__(self, brain: Brain, tracker: ScopeTracker, spending: Spending | None = None) -> None:
        """spending: None where no call goes out."""
        self._brain = brain
        self._tracker = tracker
        self._spending = spending
        self._failed: dict[str, bool] = {}
        self._kept_back: dict[str, bool] = {}
        self._shared_failed: dict[str, set[str]] = {}
        self._unanswered: dict[tuple[str, int], set[str]] = {}
        self._calls_read = 0
        self._misses_read = 0
        self._misses_seen = 0
        self._misses: dict[tuple[str, int], list[_Missed]] = {}
        self.kept = Kept()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """See each phase; at the end of teardown settle the test's account."""
        report = yield
        if call.when == "setup":
            self._failed[item.nodeid] = self._kept_back[item.nodeid] = False
        if self._spending is not None:
            self._spending.judge(item, report)
        if report.failed:
            self._failed[item.nodeid] = True
        if not report.passed:
            # Also a skip: nothing that a test did before it skipped is worth keeping.
            self._kept_back[item.nodeid] = True
        if call.when == "teardown":
            self._settle(item, report)
        return report

    def _settle(self, item: pytest.Item, report: pytest.TestReport) -> None:
        owner = self._tracker.scope_of(item.nodeid)
        failed = self._failed.pop(item.nodeid, True)
        kept_back = self._kept_back.pop(item.nodeid, True)
        there = _elsewhere(self._brain, owner)
        self._brain.ledger.wait_for_serving(owner, _IN_FLIGHT)
        goes_out = self._brain.settings.mode.calls_out
        self._brain.settle(OPEN_TAKES if goes_out else 0.0, owner.name)
        in_flight = self._brain.ledger.wait_for_calls(owner, _IN_FLIGHT) if goes_out else 0
        self._brain.ledger.end(owner)
        in_flight += there.in_flight
        # What was refused since its body ended: now nothing more comes.
        stopped = self._spending is not None and self._spending.judge(item, report)
        kept_back = kept_back or stopped
        if there.problem:
            # What is not known must not be taken for nothing.
            if report.passed and not failed:
                report.outcome = "failed"
                report.longrepr = there.problem
            failed = True
        missed = self._missed_by(owner)
        if missed:
            text = "\n".join(dict.fromkeys(one.message for one in missed))
            self._tracker.shared_of.setdefault(item.nodeid, set()).update(
                one.scope for one in missed if one.scope.startswith("fixture:")
            )
            if report.passed and not failed:
                # Also where the test was skipped, or failed as expected: a missing recording is no reason for either.
                report.outcome = "failed"
                report.longrepr = text
            else:
                report.sections.append((MISSES, text))
            failed = True
        if in_flight:
            self.kept.still_in_flight.append(item.nodeid)
            failed = True
        if self._brain.settings.mode.records:
            self._keep(owner, failed=failed or kept_back)
        self._judge_shared(item, failed=failed or stopped)

    def _keep(self, owner: Scope, *, failed: bool) -> None:
        if failed:
            self.kept.not_promoted += self._brain.store.drop(owner)
            return
        settings = self._brain.settings
        with no_room.ending(Path(settings.run_dir), keep=no_room.waiting(settings)):
            replace = settings.mode is Mode.RECORD
            _add(self.kept, self._brain.store.promote(owner, replace=replace, prune=not self._left_unanswered(owner)))

    def _left_unanswered(self, owner: Scope) -> bool:
        """Whether an answer of this scope was not worth keeping and was not asked for again with success.

        Then what was recorded before stays: an expired key must not cost good files.
        """
        entries, self._calls_read = self._brain.ledger.read("calls", self._calls_read)
        note_unanswered(entries, self._unanswered)
        return bool(self._unanswered.pop((owner.name, owner.attempt), None))

    def _judge_shared(self, item: pytest.Item, *, failed: bool) -> None:
        """Tell wider scopes how a dependent fared; a later, better attempt takes a failure back."""
        names = self._shared_failed.pop(item.nodeid, set())
        if failed:
            names = shared_scopes_used(item, self._tracker.shared_of.get(item.nodeid, ()))
            self._shared_failed[item.nodeid] = names
        for name in names:
            self._brain.ledger.note(SHARED_JOURNAL, {"scope": name, "test": item.nodeid, "failed": failed})

    def untold(self, told: Collection[int]) -> list[str]:
        """At the end of a session: misses that no test was told of, since they came from none of them, or too late."""
        entries, _ = self._brain.ledger.read("misses")
        left = [str(entry.get("message")) for number, entry in enumerate(entries) if number not in told]
        return list(dict.fromkeys(left))

    def _missed_by(self, owner: Scope) -> list[_Missed]:
        entries, self._misses_read = self._brain.ledger.read("misses", self._misses_read)
        for entry in entries:
            key = (str(entry.get("test_id")), int(entry.get("attempt") or 1))
            # A fixture's own attempt is not the test's: whoever set it up is told.
            if str(entry.get("scope")).startswith("fixture:"):
                key = (key[0], self._tracker.scope_of(key[0]).attempt)
            missed = _Missed(number=self._misses_seen, scope=str(entry.get("scope")), message=str(entry.get("message")))
            self._misses.setdefault(key, []).append(missed)
            self._misses_seen += 1
        own = self._misses.pop((owner.name, owner.attempt), [])
        self.kept.misses_told += [missed.number for missed in own]
        return own


def _elsewhere(brain: Brain, owner: Scope) -> elsewhere.Told:
    """What a stack that does not see the run's folder has done for a scope is in there afterwards."""
    inflight = _IN_FLIGHT if brain.settings.mode.calls_out else 0.0
    return elsewhere.fetch(brain.settings.run_dir, scope=owner.digest, serving=_IN_FLIGHT, inflight=inflight)


def note_unanswered(entries: Iterable[Mapping[str, Any]], into: dict[tuple[str, int], set[str]]) -> None:
    """From lines of the calls' journal: (scope, attempt) → requests whose last answer was not worth keeping."""
    for entry in entries:
        requests = into.setdefault((str(entry.get("scope")), int(entry.get("attempt") or 1)), set())
        if entry.get("kind") == "dropped":
            requests.add(str(entry.get("request")))
        elif entry.get("kind") == "recorded":
            requests.discard(str(entry.get("request")))


def promote_shared(brain: Brain, kept: Kept, *, any_passed: bool, interrupted: bool, stack_lives: bool = False) -> None:
    """At the end of a session: keep the recordings of wider scopes of which no dependent failed.

    After an interrupted session nothing is removed: what would have been asked for later is not known. Nor of a stack
    that is still there: `promote_rest_of_stack` does it when it is not.
    """
    if not brain.settings.mode.records:
        return
    replace = brain.settings.mode is Mode.RECORD
    entries, _ = brain.ledger.read(SHARED_JOURNAL)
    failed = _failed_shared(entries)
    unanswered: dict[tuple[str, int], set[str]] = {}

    def promote(owner: Scope) -> None:
        if brain.store.was_promoted(owner):
            return  # in the run that is looked at afterwards: what is left of it came too late
        if _elsewhere(brain, owner).problem:
            return  # how complete it is cannot be known
        brain.ledger.wait_for_serving(owner, _IN_FLIGHT)
        brain.ledger.wait_for_calls(owner, _IN_FLIGHT)
        note_unanswered(brain.ledger.read("calls")[0], unanswered)
        whole = not interrupted and not any(left for (name, _), left in unanswered.items() if name == owner.name)
        # A stack that was not started, since no picked test needs it, has not asked for less.
        whole = whole and (owner != scopes.STACK or (not stack_lives and bool(brain.store.staged(owner))))
        unanswered.clear()
        _add(kept, brain.store.promote(owner, replace=replace, prune=whole))

    for name in dict.fromkeys(str(entry["scope"]) for entry in entries if "test" not in entry):
        if _is_among(name, failed):
            kept.not_promoted += brain.store.drop(Scope(name=name))
        else:
            promote(Scope(name=name))
    if any_passed:
        promote(scopes.STACK)
        kept.written += brain.store.promote_models()


def promote_rest_of_stack(brain: Brain, *, interrupted: bool) -> tuple[int, int]:
    """When the stack is gone: keep what it called on its way out; (files written, files removed).

    It is then that what it no longer asks for is known, and goes.
    """
    if not brain.settings.mode.records:
        return 0, 0
    unanswered: dict[tuple[str, int], set[str]] = {}
    note_unanswered(brain.ledger.read("calls")[0], unanswered)
    whole = not interrupted and not any(left for (name, _), left in unanswered.items() if name == scopes.STACK_NAME)
    # One that was not started, since no picked test needs it, has not asked for less.
    whole = whole and (brain.store.was_promoted(scopes.STACK) or bool(brain.store.staged(scopes.STACK)))
    return brain.store.promote_rest(scopes.STACK, replace=brain.settings.mode is Mode.RECORD, prune=whole)


def _failed_shared(entries: Iterable[Mapping[str, Any]]) -> set[str]:
    """Wider scopes that a test failed with, and did not pass with later."""
    failed: set[tuple[str, str]] = set()
    for entry in entries:
        pair = (str(entry["scope"]), str(entry.get("test")))
        if entry.get("failed"):
            failed.add(pair)
        else:
            failed.discard(pair)
    return {name for name, _ in failed}


def _is_among(name: str, failed: Collection[str]) -> bool:
    """Whether a scope, or its fixture with a parameter that is not known, is one of the failed."""
    return name in failed or name.partition("[")[0] in failed


def _add(kept: Kept, counts: tuple[int, int]) -> None:
    kept.written += counts[0]
    kept.removed += counts[1]


def unused(brain: Brain, passed: Mapping[str, bool], others: Collection[str] = ()) -> list[str]:
    """Recordings of passed tests, and of shared scopes that were set up, which nobody asked for in this run.

    others: where tests of other shards lie; of scopes that are theirs too `undecided` tells.
    """
    names, shared = _names(brain, passed)
    return _unused(brain, [*names, *(name for name in shared if not elsewhere_of_shards.has(name, others))])


def undecided(brain: Brain, others: Collection[str]) -> list[str]:
    """Recordings of shared scopes that nobody asked for here, and tests of other shards may ask for."""
    if not others:
        return []
    _, shared = _names(brain, {})
    return _unused(brain, [name for name in shared if elsewhere_of_shards.has(name, others)])


def _names(brain: Brain, passed: Mapping[str, bool]) -> tuple[list[str], list[str]]:
    """Scopes whose recordings are to be used: of tests, and of wider fixtures.

    A test into which a fault was put goes on in another way than when it was recorded: it need not ask for all.
    """
    entries, _ = brain.ledger.read(SHARED_JOURNAL)
    calls, _ = brain.ledger.read("calls")
    faulty = {str(call.get("scope")) for call in calls if call.get("kind") == INJECTED}
    failed = _failed_shared(entries)
    shared = sorted({str(entry["scope"]) for entry in entries})
    return (
        [nodeid for nodeid, ok in passed.items() if ok and nodeid not in faulty],
        [name for name in shared if not _is_among(name, failed)],
    )


def _unused(brain: Brain, names: Iterable[str]) -> list[str]:
    """Of the recordings of these scopes those that nobody asked for.

    A recording that says which stack made it is that stack's to use: another may ask for the same in other words.
    """
    if brain.settings.mode is not Mode.REPLAY:
        return []
    calls, _ = brain.ledger.read("calls")
    used = {Path(str(call["file"])).name for call in calls if call.get("file")}
    digests = {Scope(name=name).digest[:12] for name in names}
    stack = brain.settings.provenance.get("stack")
    left = []
    for folder, _, files in os.walk(brain.store.base):
        left += [
            str(Path(folder, name))
            for name in files
            if name.endswith(".json")
            and name[:12] in digests
            and name not in used
            and not recording.is_of_another(str(Path(folder, name)), stack)
        ]
    return sorted(left)
