"""What becomes of tests when the budget for real calls is used up: they are skipped, and so say that they did not run.

A test of which a call was refused has not failed: nobody knows what it would have done. Tests that are at work in other
processes go on until they call, too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stackproof.evidence import jsonfile
from stackproof.plugin.scopes import ScopeTracker
from stackproof.recorder import install
from stackproof.recorder.brain import Brain
from stackproof.recorder.budget import FACTS

REFUSED = "budget"
"""The kind of a refused call in the calls' journal."""


def write(brain: Brain) -> dict[str, Any]:
    """Leave what was spent so far in the cell's folder; the facts."""
    facts = brain.budget.facts()
    jsonfile.write(Path(brain.settings.run_dir, FACTS), facts)
    return facts


class Spending:
    """Hooks that skip what comes after the end of the budget, and an answer about each report."""

    def __init__(self, brain: Brain, tracker: ScopeTracker) -> None:
        self._brain = brain
        self._tracker = tracker
        self._read = 0
        self._refused: dict[str, str] = {}  # node id, or scope of a fixture → why
        self._stopped: set[str] = set()  # tests that were told so in this attempt

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Before any fixture is set up for it; nothing for a test that is not the suite's."""
        if install.active() is None:
            return
        self._stopped.discard(item.nodeid)
        self._brain.budget.begin()
        if (why := self._brain.budget.ended(before_test=True)) is not None:
            raise pytest.skip.Exception(why, _use_item_location=True)

    def judge(self, item: pytest.Item, report: pytest.TestReport) -> bool:
        """Turn the report of a phase in which a call was refused into a skip; whether the test was refused any."""
        if item.nodeid in self._stopped:
            why = None
        elif (why := self._why(item.nodeid)) is not None:
            self._stopped.add(item.nodeid)
        else:
            return False
        if why is not None or report.failed:
            path, line, _ = item.location
            report.outcome = "skipped"
            report.longrepr = (path, (line or 0) + 1, f"Skipped: {why or self._brain.budget.ended()}")
            vars(report).pop("wasxfail", None)  # it did not fail as expected: it was stopped
        return True

    def _why(self, nodeid: str) -> str | None:
        """Why a call of the test, or of a fixture that it uses, did not go out."""
        if self._brain.budget.ended() is None:
            return None
        entries, self._read = self._brain.ledger.read("calls", self._read)
        for entry in entries:
            if entry.get("kind") == REFUSED:
                for name in (entry.get("test_id"), entry.get("scope")):
                    self._refused.setdefault(str(name), str(entry.get("reason")))
        names = (nodeid, *self._tracker.shared_of.get(nodeid, ()))
        return next((self._refused[name] for name in names if name in self._refused), None)
