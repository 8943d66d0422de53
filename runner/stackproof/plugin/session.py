"""One pytest process with the recorder in it, from the first hook to the last."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import pytest

from stackproof import calls_told, secret_values
from stackproof.errors import ExitCode, StackproofError
from stackproof.evidence import jsonfile
from stackproof.live import scrub
from stackproof.plugin import at_edge, budgeting, debugging, faulting, hiding, keeping, no_room, opening, tally
from stackproof.plugin.coroutines import CoroutineScopes
from stackproof.plugin.journal import Journal
from stackproof.plugin.keeping import Keeper, Kept
from stackproof.plugin.lacking import Lacking
from stackproof.plugin.scopes import ScopeTracker, Suspender, swap
from stackproof.plugin.session_setup import SessionSetup
from stackproof.plugin.stack_key import STACK_KEY
from stackproof.recorder import debug, elsewhere, install, scope
from stackproof.recorder.patching import ForeignPatchError, UnsupportedVersionError
from stackproof.shards import elsewhere as elsewhere_of_shards
from stackproof.stack import start
from stackproof.stack.handle import StackHandle

# Exit codes of a session that was interrupted or broke (pytest's 2, 3), or could keep no more: what its fixtures asked
# for is not complete.
_CUT_SHORT = (int(pytest.ExitCode.INTERRUPTED), int(pytest.ExitCode.INTERNAL_ERROR), int(ExitCode.DISK))

OUTSIDE = "stackproof_outside"
"""Where a worker's input holds what `PluginSession.outside` gives."""


def _nothing() -> None:
    """Nothing is left to do: the session did not get to its end, or another ends the stack."""


class PluginSession:
    """Holds what belongs together in one process. A worker of xdist runs tests; its controller sees all reports."""

    def __init__(self, config: pytest.Config, opened: opening.Opened) -> None:
        self._config = config
        self._opened = opened
        self._worker = str(getattr(config, "workerinput", {}).get("workerid", ""))
        changed = {name: value for name, value in opened.variables.items() if os.environ.get(name) != value}
        self._outer = swap(changed)
        try:
            self._brain = install.install(opened.settings)
        except ForeignPatchError as error:
            swap(self._outer)
            raise StackproofError(str(error), hint="two recorders cannot share one transport: disable one") from error
        except UnsupportedVersionError as error:
            swap(self._outer)
            raise StackproofError(str(error), hint="upgrade it in the environment of the tests") from error
        self._tracker = ScopeTracker(self._brain, self._worker, at_edge.announcing(opened.cell_dir, self._worker))
        spends = opened.settings.mode.calls_out
        self._spending = budgeting.Spending(self._brain, self._tracker) if spends else None
        self._keeper = Keeper(self._brain, self._tracker, self._spending)
        self._journal = None if self._worker else Journal(opened.cell_dir / "tests.jsonl")
        if self._journal is not None:
            # For whoever looks after a run that was killed. Where providers are, nobody needs to know then.
            facts = replace(opened.settings, providers=(), command="", stack_url=None)
            (opened.cell_dir / "recorder.json").write_text(facts.to_json() + "\n", encoding="utf-8")
        self._finished = False
        self._last_of_all: Callable[[], None] = _nothing
        self.summary: list[str] = []

    @classmethod
    def open(cls, config: pytest.Config, *, workers: str | None) -> PluginSession:
        """Join the run that this process belongs to, or make one. Raises StackproofError."""
        if "STACKPROOF_RECORDER" in os.environ and "STACKPROOF_CHILD" in os.environ:
            return cls(config, opening.within_run(dict(os.environ)))
        opened = opening.alone(config.rootpath, dict(os.environ), workers)
        try:
            return cls(config, opened)
        except BaseException:
            opened.undo.close()
            raise

    def register(self) -> None:
        """Put the hooks and the way to the stack in place."""
        at_edge.refuse_parallel(self._config, self._opened.cell_dir)
        if (secrets := self._secrets) is not None:
            hiding.begin(self._config, secrets)
        self._config.stash[STACK_KEY] = self._stack
        register = self._config.pluginmanager.register
        register(self._tracker, "stackproof-scopes")
        register(CoroutineScopes(), "stackproof-coroutines")
        register(self._keeper, "stackproof-keeper")
        register(SessionSetup(), "stackproof-session-setup")
        if self._spending is not None:
            register(self._spending, "stackproof-spending")
        register(faulting.FaultKeeper(self._brain, self._tracker), "stackproof-faults")
        if (lacking := Lacking.of(os.environ)) is not None:
            register(lacking, "stackproof-lacking")
        if self._opened.settings.debug:
            register(debugging.StackTold(self._opened.cell_dir / debug.NAME), "stackproof-debugging")
        if self._opened.alone:  # in a run every collected test is the suite's, wherever it lies
            register(Suspender(self._opened.settings.integration_root, self.outside), "stackproof-suspender")
        if self._journal is not None:
            register(self._journal, "stackproof-journal")
        if self._opened.plain:
            self._stack()

    @property
    def _secrets(self) -> dict[str, str] | None:
        """What a provider may repeat, by variable; None where none is asked."""
        settings = self._opened.settings
        return secret_values.known(settings.secrets, os.environ) if secret_values.may_be_told(settings.mode) else None

    @property
    def outside(self) -> dict[str, str | None]:
        """Variables that tests of others must not see changed: name and what they had before, None for not set.

        Workers inherit variables that are set already; the controller, who knows, tells them.
        """
        told = getattr(self._config, "workerinput", {}).get(OUTSIDE, {})
        return {**self._outer, **told}

    def _stack(self) -> StackHandle:
        try:
            handle = self._opened.open_stack()
        except StackproofError as error:
            hint = f"\n{error.hint}" if error.hint else ""
            pytest.exit(f"stackproof: {error.message}{hint}", returncode=int(error.exit_code))
        if handle.app is not None:
            handle.app.watch_request = self._watch_request
        return handle

    def _watch_request(self) -> Callable[[], None]:
        """A library stack serves its requests in this process; a server's middleware does the same for its own."""
        owner = scope.current()
        if owner is None:
            return lambda: None
        token = self._brain.ledger.begin_serving(owner)
        return lambda: self._brain.ledger.done(token)

    def collected(self, nodeids: Sequence[str]) -> None:
        """The tests that are going to run."""
        if self._journal is not None:
            self._journal.collected(nodeids)

    def finish(self, exitstatus: int) -> int | None:
        """The tests are over; returns the exit status to use instead, if any. A worker leaves its counts behind."""
        if self._finished:
            return None
        self._finished = True
        with self._while_there_is_room():
            return self._finish(exitstatus)

    def _while_there_is_room(self) -> contextlib.AbstractContextManager[None]:
        return no_room.ending(self._opened.cell_dir, keep=no_room.waiting(self._brain.settings))

    def _finish(self, exitstatus: int) -> int | None:
        kept = self._keeper.kept
        if self._brain.settings.mode.calls_out:
            # What wider fixtures left open: nobody will read it on.
            self._brain.settle(keeping.OPEN_TAKES)
        if self._journal is None:
            self._brain.ledger.note("kept", asdict(kept))
            return None
        self._add_workers(kept)
        passed = self._journal.passed
        used_up = self._brain.budget.ended()
        interrupted = exitstatus in _CUT_SHORT or used_up is not None
        there = elsewhere.fetch(self._brain.settings.run_dir)
        keeping.promote_shared(
            self._brain, kept, any_passed=any(passed.values()), interrupted=interrupted, stack_lives=True
        )
        others = elsewhere_of_shards.read(self._opened.cell_dir)
        unused, undecided = keeping.unused(self._brain, passed, others), keeping.undecided(self._brain, others)
        if any(passed.values()) and self._ends_the_stack:
            self._last_of_all = functools.partial(self._keep_rest, interrupted=interrupted, unused=unused)
        facts = tally.count(self._brain, kept, unused, undecided)
        self._journal.write("calls", **facts)
        self.summary = [*tally.missed(self._journal.missed), *tally.lines(facts, self._brain.settings.mode)]
        untold = self._keeper.untold(kept.misses_told)
        self.summary += untold
        if there.problem:
            self.summary.append(there.problem)
        if self._spending is not None:
            self._brain.budget.stop()
            spent = budgeting.write(self._brain)
            self.summary += calls_told.spent(spent)
        if self._opened.settings.debug:
            self.summary += debug.where(self._opened.settings.run_dir, self._opened.settings.project)
        status = None
        lax = not self._brain.settings.strict
        if exitstatus == 0 and (untold or there.problem or not (lax or tally.tidy(facts))):
            status = int(ExitCode.RECORDINGS)
        if exitstatus == 0 and status is None and used_up is not None:
            status = int(ExitCode.NOT_PROVEN)
        if (never := faulting.never_met(self._brain, len(passed))) is not None:
            self.summary.append(never.message)
            if exitstatus == 0 and status is None:
                status = int(never.exit_code)
                # For the run around this session, since no test is at fault.
                jsonfile.write(self._opened.cell_dir / start.ERROR, start.error_facts(never))
        self._journal.write("finished", exitstatus=exitstatus if status is None else status)
        return status

    def _add_workers(self, kept: Kept) -> None:
        entries: list[dict[str, Any]]
        entries, _ = self._brain.ledger.read("kept")
        for entry in entries:
            for name, value in entry.items():
                setattr(kept, name, getattr(kept, name) + value)

    @property
    def _ends_the_stack(self) -> bool:
        """Whether the stack goes with this session; a run that has started a server ends it afterwards."""
        return self._opened.alone or self._opened.settings.stack_type == "library_client"

    def _keep_rest(self, *, interrupted: bool, unused: list[str]) -> None:
        with self._while_there_is_room():
            written, removed = keeping.promote_rest_of_stack(self._brain, interrupted=interrupted)
        if self._journal is not None and (written or removed):
            kept = replace(self._keeper.kept)
            kept.written += written
            kept.removed += removed
            self._journal.write("calls", **tally.count(self._brain, kept, unused))

    def close(self) -> None:
        """Stop the stack, keep what it called on its way out, take the recorder out, give the environment back."""
        secrets = self._secrets
        try:
            self._opened.undo.close()
            self._last_of_all()
        finally:
            install.uninstall(self._brain)
            if self._journal is not None:
                self._journal.close()
            if self._opened.alone and secrets is not None and not self._worker:
                scrub.folder(self._opened.cell_dir, secrets)  # a run does it by itself, once everything has ended
            swap(self._outer)
