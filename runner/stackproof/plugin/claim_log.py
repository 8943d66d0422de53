"""Writes down, while the tests of claims run, which tests there are for each claim and what each of them observed.

`stackproof verify-release` loads it with `-p`, so that a pytest which some test starts for itself writes nothing here.
Every process of xdist that runs tests writes to the same file, whole lines at a time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from stackproof.faults.claim import Observation
    from stackproof.faults.claim_file import Claim

FILE_OPTION, FOLDER_OPTION = "--stackproof-claims-file", "--stackproof-claims-folder"
ONLY_OPTION = "--stackproof-claim"
NAME = "observations.jsonl"
TESTS = "tests.jsonl"


class ClaimLog:
    """Appends events to `NAME` in `folder`; `file` is the claims file that the tests are weighed by.

    only: names of claims; tests that serve none of them are not run. Empty for all tests.
    """

    def __init__(self, folder: Path, file: Path, only: Collection[str]) -> None:
        self.file = file
        self._path = folder / NAME
        self._only = frozenset(only)

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out the tests that were not asked for."""
        if self._only:
            out = [item for item in items if _serves(item) not in self._only]
            items[:] = [item for item in items if _serves(item) in self._only]
            config.hook.pytest_deselected(items=out)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Each process that runs tests says which claims they serve; with xdist they say the same, all of them."""
        if session.items:
            serves = {item.nodeid: name for item in session.items if (name := _serves(item)) is not None}
            self._write("serves", tests=serves)

    def observed(
        self, item: pytest.Item, claim: Claim, observation: Observation, machine: Mapping[str, object]
    ) -> None:
        """One observation of one test in its present attempt."""
        from stackproof.faults import claim as claims  # noqa: PLC0415
        from stackproof.faults import claim_events  # noqa: PLC0415

        self._write(
            "observed",
            claim=claim.name,
            test=item.nodeid,
            attempt=int(getattr(item, "execution_count", 1)),
            seed=observation.seed,
            expected={"events": [each.written for each in claim.events], "residue": dict(claim.residue)},
            observed={"events": claim_events.written(observation.events), "residue": dict(observation.residue)},
            held=not claims.compare(claim, observation),
            environment=dict(machine),
        )

    def _write(self, event: str, **facts: Any) -> None:
        line = json.dumps({"event": event, **facts}, ensure_ascii=True).encode() + b"\n"
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)


def _serves(item: pytest.Item) -> str | None:
    from stackproof.plugin.claiming import name_of  # noqa: PLC0415 - it imports this module

    try:
        return name_of(item)
    except ValueError:
        return None  # the test fails by it


LOG: pytest.StashKey[ClaimLog] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where to write, and which claims there are."""
    group = parser.getgroup("stackproof")
    group.addoption(FILE_OPTION, metavar="FILE", help="the claims file")
    group.addoption(ONLY_OPTION, action="append", default=[], metavar="NAME", help="run the tests of this claim alone")
    group.addoption(FOLDER_OPTION, metavar="FOLDER", help="where to write what the tests of claims observe")


def pytest_configure(config: pytest.Config) -> None:
    """Begin to write. With xdist the controller has the tests' outcomes, and its workers what they observe."""
    from stackproof.plugin.journal import Journal  # noqa: PLC0415

    folder = Path(config.getoption(FOLDER_OPTION))
    only = config.getoption(ONLY_OPTION)
    log = config.stash[LOG] = ClaimLog(folder, Path(config.getoption(FILE_OPTION)), only)
    config.pluginmanager.register(log, "stackproof-claim-log")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Outcomes(Journal(folder / TESTS)), "stackproof-claim-outcomes")


class Outcomes:
    """The outcome of every test, in the process that sees all reports."""

    def __init__(self, journal: Any) -> None:
        self._journal = journal

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Without xdist: the tests that are going to run."""
        if not getattr(session.config.option, "numprocesses", None):
            self._journal.collected([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """With xdist the workers collect, all the same tests."""
        self._journal.collected(ids)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A phase of a test."""
        self._journal.pytest_runtest_logreport(report)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """The session got to its end."""
        self._journal.write("finished", exitstatus=int(session.exitstatus))

    def pytest_unconfigure(self) -> None:
        """No more events."""
        self._journal.close()
