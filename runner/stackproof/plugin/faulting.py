"""The faults of tests: planned before a test's first call, and looked for after its last one."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import PurePosixPath
from typing import Any

import pytest

from stackproof.errors import ExitCode, StackproofError, UsageError
from stackproof.faults import grammar, told
from stackproof.plugin.scopes import ScopeTracker
from stackproof.recorder.brain import Brain
from stackproof.recorder.inject import plan
from stackproof.recorder.inject.fault import INJECTED, Fault
from stackproof.recorder.inject.injector import keyed
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope

MARKER, OF = "fault", "of"
_TITLE = "faults of this test"


class NeverMetError(StackproofError):
    """A fault that was asked for happened to no call: what was to be tried was not tried."""

    exit_code = ExitCode.TESTS


class FaultKeeper:
    """Hooks that plan what the marks of a test ask for, and fail a test whose fault did not happen."""

    def __init__(self, brain: Brain, tracker: ScopeTracker) -> None:
        self._brain, self._tracker = brain, tracker
        self._for_all = {one.key: one.fault.spec for one in keyed("run", _for_all(brain))}
        self._own: dict[str, dict[str, str]] = {}
        self._good: dict[str, bool] = {}
        self._read = 0
        self._calls: dict[tuple[str, int], list[dict[str, Any]]] = {}

    @pytest.hookimpl
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Before any fixture is set up for it, and after what may skip it."""
        self._own.pop(item.nodeid, None)
        if item.get_closest_marker(MARKER) is None:
            return
        wrong: UsageError | None = None
        faults: tuple[Fault, ...] = ()
        of = None
        try:
            faults, of = faults_of(item), lender_of(item)
            _refuse(item.nodeid, self._brain.settings.mode, of)
        except UsageError as error:
            wrong = error
        if wrong is not None:
            hint = f"\n  {wrong.hint}" if wrong.hint else ""
            pytest.fail(f"{wrong.message}{hint}", pytrace=False)
        plan.write(self._brain.settings.run_dir, self._tracker.scope_of(item.nodeid), faults, of=of)
        self._own[item.nodeid] = {one.key: one.fault.spec for one in keyed("test", faults)}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """See each phase; after teardown nobody waits any more, and what did not happen will not."""
        own = self._own.get(item.nodeid, {})
        if not own and not self._for_all:
            return (yield)
        owner = self._tracker.scope_of(item.nodeid)
        if call.when == "teardown":
            plan.end(self._brain.settings.run_dir, owner)
        report = yield
        if call.when == "setup":
            self._good[item.nodeid] = True
        if report.failed or (report.skipped and not hasattr(report, "wasxfail")):
            self._good[item.nodeid] = False
        if report.failed and call.when == "call":
            # Likely what is behind it.
            report.sections.append((_TITLE, told.of_test({**self._for_all, **own}, self._calls_of(owner))))
        if call.when == "teardown":
            self._settle(report, own, owner, good=self._good.pop(item.nodeid, False))
        return report

    def _settle(self, report: pytest.TestReport, own: dict[str, str], owner: Scope, *, good: bool) -> None:
        calls = self._calls_of(owner)
        self._calls.pop((owner.name, owner.attempt), None)
        met = {call.get("planned") for call in calls if call.get("kind") == INJECTED}
        left = [spec for key, spec in own.items() if key not in met]
        if left and good and report.passed:
            report.outcome = "failed"
            report.longrepr = told.never_met(left, calls)

    def _calls_of(self, owner: Scope) -> list[dict[str, Any]]:
        entries, self._read = self._brain.ledger.read("calls", self._read)
        for entry in entries:
            self._calls.setdefault((str(entry.get("scope")), int(entry.get("attempt") or 1)), []).append(entry)
        return self._calls.get((owner.name, owner.attempt), [])


def faults_of(item: pytest.Item) -> tuple[Fault, ...]:
    """What the marks of a test ask for, the outermost first. UsageError names the test and what is wrong."""
    found = []
    for mark in reversed(list(item.iter_markers(MARKER))):
        if not mark.args:
            raise UsageError(f"{item.nodeid}: a mark 'fault' says no fault", hint='write @pytest.mark.fault("cut:3")')
        given = {name: value for name, value in mark.kwargs.items() if name != OF}
        found += [grammar.parse(text, where=item.nodeid, given=given) for text in mark.args]
    return tuple(found)


def lender_of(item: pytest.Item) -> str | None:
    """The node id of the test whose recorded answers a marked one gets (`of`); None where it has its own.

    UsageError where several are named, or one whose recordings lie in another folder.
    """
    marks = reversed(list(item.iter_markers(MARKER)))
    named = list(dict.fromkeys(str(mark.kwargs[OF]) for mark in marks if OF in mark.kwargs))
    if not named:
        return None
    module, _, _ = item.nodeid.partition("::")
    of = named[0] if named[0].partition("::")[0].endswith(".py") else f"{module}::{named[0]}"
    if len(named) > 1:
        raise UsageError(
            f"{item.nodeid}: its marks name several tests whose answers it gets: {' and '.join(named)}",
            hint=f'name one of them: {OF}="test_it"',
        )
    if PurePosixPath(of.partition("::")[0]).parent != PurePosixPath(module).parent:
        raise UsageError(
            f"{item.nodeid}: {of} is in another folder, where this test's answers are not looked for",
            hint=f"name a test of the same folder with {OF}",
        )
    return of


def never_met(brain: Brain, tests: int) -> NeverMetError | None:
    """At the end of a session: what was to happen to every test of the run, and happened to none."""
    planned = keyed("run", _for_all(brain))
    if not planned:
        return None
    entries, _ = brain.ledger.read("calls")
    met = {entry.get("planned") for entry in entries if entry.get("kind") == INJECTED}
    left = [one.fault.spec for one in planned if one.key not in met]
    return NeverMetError(told.never_met_in_run(left, tests)) if left else None


def _refuse(nodeid: str, mode: Mode, of: str | None) -> None:
    if mode is Mode.REPLAY:
        return
    if of is not None:
        # It has nothing of its own to record: a suite with such tests can be recorded as a whole.
        pytest.skip(f"{grammar.ONLY_IN_REPLAY}; the answers are recorded by {of}")
    raise UsageError(
        f"{nodeid}: {grammar.ONLY_IN_REPLAY}, and inference mode {mode.value!r} is another",
        hint=f'record another test, and say whose answers this one gets: {OF}="test_it"',
    )


def _for_all(brain: Brain) -> tuple[Fault, ...]:
    return tuple(Fault.from_data(item) for item in brain.settings.faults)
