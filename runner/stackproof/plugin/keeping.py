"""What becomes of a test's provider calls: missed ones fail it, recorded ones are kept if it passed."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from stackproof.plugin.scopes import SHARED_JOURNAL, ScopeTracker, shared_scopes_used
from stackproof.recorder import scope as scopes
from stackproof.recorder.brain import Brain
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope

# A server learns that a stream was closed a moment after the test has ended.
_IN_FLIGHT = 5.0
_OPEN_TAKES = 0.5


@dataclass
class Kept:
    """Counts over a session: files written, files removed, and files of failing tests that were dropped."""

    written: int = 0
    removed: int = 0
    not_promoted: int = 0
    still_in_flight: list[str] = field(default_factory=list)


class Keeper:
    """Hooks that judge a test's calls when its teardown is over, and keep or drop what was recorded."""

    def __init__(self, brain: Brain, tracker: ScopeTracker) -> None:
        self._brain = brain
        self._tracker = tracker
        self._failed: dict[str, bool] = {}
        self._misses_read = 0
        self._misses: dict[tuple[str, int], list[str]] = {}
        self.kept = Kept()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """See each phase; at the end of teardown settle the test's account."""
        report = yield
        if call.when == "setup":
            self._failed[item.nodeid] = False
        if not report.passed:
            # Also a skip: nothing that a test did before it skipped is worth keeping.
            self._failed[item.nodeid] = True
        if call.when == "teardown":
            self._settle(item, report)
        return report

    def _settle(self, item: pytest.Item, report: pytest.TestReport) -> None:
        owner = self._tracker.scope_of(item.nodeid)
        failed = self._failed.pop(item.nodeid, True)
        self._brain.settle(_OPEN_TAKES if self._brain.settings.mode.records else 0.0)
        in_flight = self._brain.ledger.wait_for_calls(owner, _IN_FLIGHT) if self._brain.settings.mode.records else 0
        self._brain.ledger.end(owner)
        missed = self._missed_by(owner)
        if missed:
            text = "\n".join(missed)
            if report.passed and not failed:
                report.outcome = "failed"
                report.longrepr = text
            else:
                report.sections.append(("provider calls without a recording", text))
            failed = True
        if in_flight:
            self.kept.still_in_flight.append(item.nodeid)
            failed = True
        if self._brain.settings.mode.records:
            self._keep(owner, failed=failed)
        if failed and report.outcome != "skipped":
            self._fail_shared(item)

    def _keep(self, owner: Scope, *, failed: bool) -> None:
        if failed:
            self.kept.not_promoted += self._brain.store.drop(owner)
            return
        written, removed = self._brain.store.promote(owner, replace=self._brain.settings.mode is Mode.RECORD)
        self.kept.written += written
        self.kept.removed += removed

    def _fail_shared(self, item: pytest.Item) -> None:
        for name in shared_scopes_used(item, self._tracker.shared_of.get(item.nodeid, ())):
            self._brain.ledger.note(SHARED_JOURNAL, {"scope": name, "failed": True})

    def _missed_by(self, owner: Scope) -> list[str]:
        entries, self._misses_read = self._brain.ledger.read("misses", self._misses_read)
        for entry in entries:
            key = (str(entry.get("test_id")), int(entry.get("attempt") or 1))
            # A fixture's own attempt is not the test's: whoever set it up is told.
            if str(entry.get("scope")).startswith("fixture:"):
                key = (key[0], self._tracker.scope_of(key[0]).attempt)
            self._misses.setdefault(key, []).append(str(entry.get("message")))
        return list(dict.fromkeys(self._misses.pop((owner.name, owner.attempt), ())))


def promote_shared(brain: Brain, kept: Kept, *, any_passed: bool) -> None:
    """At the end of a session: keep the recordings of wider scopes of which no dependent failed."""
    if not brain.settings.mode.records:
        return
    replace = brain.settings.mode is Mode.RECORD
    entries, _ = brain.ledger.read(SHARED_JOURNAL)
    failed = {str(entry["scope"]) for entry in entries if entry.get("failed")}
    names = dict.fromkeys(str(entry["scope"]) for entry in entries if not entry.get("failed"))
    for name in names:
        owner = Scope(name=name)
        brain.ledger.wait_for_calls(owner, _IN_FLIGHT)
        if name in failed or name.partition("[")[0] in failed:
            kept.not_promoted += brain.store.drop(owner)
        else:
            _add(kept, brain.store.promote(owner, replace=replace))
    if any_passed:
        brain.ledger.wait_for_calls(scopes.STACK, _IN_FLIGHT)
        _add(kept, brain.store.promote(scopes.STACK, replace=replace))
        kept.written += brain.store.promote_models()


def _add(kept: Kept, counts: tuple[int, int]) -> None:
    kept.written += counts[0]
    kept.removed += counts[1]


def unused(brain: Brain, passed: Mapping[str, bool]) -> list[str]:
    """Recordings of passed tests, and of shared scopes that were set up, which nobody asked for in this run."""
    if brain.settings.mode is not Mode.REPLAY:
        return []
    calls, _ = brain.ledger.read("calls")
    used = {Path(str(call["file"])).name for call in calls if call.get("file")}
    entries, _ = brain.ledger.read(SHARED_JOURNAL)
    names = [nodeid for nodeid, ok in passed.items() if ok]
    failed = {str(entry["scope"]).partition("[")[0] for entry in entries if entry.get("failed")}
    names += [name for name in {str(entry["scope"]) for entry in entries} if name.partition("[")[0] not in failed]
    digests = {Scope(name=name).digest[:12] for name in names}
    left = []
    for folder, _, files in os.walk(brain.store.base):
        left += [
            str(Path(folder, name))
            for name in files
            if name.endswith(".json") and name[:12] in digests and name not in used
        ]
    return sorted(left)
