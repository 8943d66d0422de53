"""Tests that lack recordings: they missed in the newest run that had them, or are recorded in another setup only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from stackproof.recorder.mode import Mode
from stackproof.recordings.observed import Observed
from stackproof.recordings.query import suites_of

# Kinds of a miss that a recording would have answered; the others are about damage, secrets or the network.
_KINDS = frozenset({"nothing-recorded", "no-match", "exhausted", "incomplete", "stale-id"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Missing:
    """A test without all of its recordings. seen: a run missed them; else it is a guess from another setup."""

    setup: str
    test: str
    what: str
    seen: bool


def missed(observed: Iterable[Observed]) -> Iterator[Missing]:
    """From runs, the newest first: what each cell missed when it last had a test, unless it was recorded since."""
    judged: set[tuple[str, str, str]] = set()
    settled: set[tuple[str, str]] = set()
    told: set[tuple[str, str]] = set()
    for one in observed:
        if one.mode.records:
            passed = (nodeid for nodeid, entry in one.log.tests.items() if entry.outcome.passed)
            settled |= {(one.setup, nodeid) for nodeid in passed}
            continue
        if one.mode is not Mode.REPLAY:
            continue
        found: dict[str, str] = {}
        for miss in one.misses():
            if miss.get("kind") in _KINDS:
                found.setdefault(str(miss.get("test_id")), str(miss.get("message")).partition("\n")[0])
        for nodeid in one.log.tests:
            key = (one.cell, one.setup, nodeid)
            if key in judged or (one.setup, nodeid) in settled:
                continue
            judged.add(key)
            if nodeid in found and (one.setup, nodeid) not in told:
                told.add((one.setup, nodeid))
                what = f"{found[nodeid]}, in run {one.run} ({one.stack})"
                yield Missing(setup=one.setup, test=nodeid, what=what, seen=True)


@dataclass(kw_only=True, slots=True)
class Recorded:
    """Which tests have recordings, setup by setup; filled while files are walked over."""

    setups: dict[str, set[str]] = field(default_factory=dict)

    def note(self, setup: str, scope: str) -> None:
        """A recording of this scope."""
        if "::" in scope and not scope.startswith("fixture:"):
            self.setups.setdefault(scope, set()).add(setup)

    def elsewhere(self, suites: Mapping[str, tuple[str, ...]]) -> Iterator[Missing]:
        """Tests that are recorded in one setup of a suite and not in another one that has recordings of the suite."""
        of_suite: dict[str, set[str]] = {}
        for test, setups in self.setups.items():
            for suite in suites_of(test, suites):
                of_suite.setdefault(suite, set()).update(setups)
        for test, setups in self.setups.items():
            others = {setup for suite in suites_of(test, suites) for setup in of_suite[suite]}
            for setup in sorted(others - setups):
                what = f"it is recorded in {', '.join(sorted(setups))}, and not in {setup}"
                yield Missing(setup=setup, test=test, what=what, seen=False)
