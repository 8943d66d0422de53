"""Whether the test of a recording is still there. What nobody can tell for certain is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stackproof.recordings.collection import Collected
from stackproof.recordings.query import owner_of, suites_of

Collect = Callable[[str], Collected]


@dataclass(kw_only=True, slots=True)
class Existing:
    """Asks pytest as seldom as it can: once for all setups, and once more for a setup whose tests were not found.

    collect: setup → its tests, in its environment. Node ids may depend on that: a parameter may be a model's name.
    first: what one setup's collection found. None asks for files only.
    """

    project: Path
    suites: Mapping[str, tuple[str, ...]]
    collect: Collect
    first: Collected | None
    _of: dict[str, Collected] = field(default_factory=dict)
    _gone: dict[tuple[str, str], str | None] = field(default_factory=dict)

    def gone(self, setup: str, scope: str) -> str | None:
        """Why a scope has no test any more: a sentence about the recording; None where it has, or nobody knows."""
        key = (setup, scope)
        if key not in self._gone:
            self._gone[key] = self._why(setup, scope)
        return self._gone[key]

    def has(self, setup: str, nodeid: str) -> bool:
        """Whether pytest collects a test, in the environment of the setup if not in the first one."""
        if self.first is None:
            return False
        return nodeid in self.first.tests or nodeid in self._collected(setup).tests

    def _why(self, setup: str, scope: str) -> str | None:
        owner = owner_of(scope)
        file = owner.partition("::")[0]
        if not file:
            return None  # of the stack, or of a fixture that belongs to no file
        if not (self.project / file).exists():
            return f"{file} is gone"
        if scope.startswith("fixture:") or self.first is None or not suites_of(scope, self.suites):
            return None
        if not self.first.lacks(scope) or not (own := self._collected(setup)).lacks(scope):
            return None
        return "its test is gone" if not own.has_other_parameters(scope) else "its test has other parameters now"

    def _collected(self, setup: str) -> Collected:
        found = self._of.get(setup)
        if found is None:
            found = self._of[setup] = self.collect(setup)
        return found
