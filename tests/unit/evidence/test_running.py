"""Which tests were being run when a session ended, from a file that is overwritten in place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.evidence import manifest, running, testlog
from stackproof.plugin.journal import Journal


class Session:
    """What pytest tells the journal."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "tests.jsonl"
        self.journal = Journal(self.path)

    def begins(self, *nodeids: str) -> None:
        for nodeid in nodeids:
            self.journal.pytest_runtest_logstart(nodeid)

    def ends(self, nodeid: str, outcome: Any = "passed") -> None:
        for when in ("setup", "call", "teardown"):
            self.journal.pytest_runtest_logreport(
                pytest.TestReport(
                    nodeid=nodeid,
                    location=("a.py", 0, nodeid),
                    keywords={},
                    outcome=outcome if when == "call" else "passed",
                    longrepr=None,
                    when=when,
                )
            )

    def running(self) -> tuple[str, ...]:
        return testlog.read(self.path).running


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def test_a_test_is_running_until_it_has_an_outcome(session: Session) -> None:
    session.begins("a")
    assert session.running() == ("a",)
    session.ends("a")
    assert session.running() == ()
    session.begins("b")
    assert session.running() == ("b",)


def test_tests_that_never_ended_are_running_whoever_ran_them(session: Session, tmp_path: Path) -> None:
    session.begins("a", "b", "c")
    session.ends("b")
    session.begins("d")
    assert sorted(session.running()) == ["a", "c", "d"]
    assert (tmp_path / running.NAME).stat().st_size == 3 * running.SIZE


def test_an_attempt_that_is_repeated_is_running_again(session: Session) -> None:
    session.begins("a")
    session.ends("a", outcome="rerun")
    assert session.running() == ("a",)
    session.ends("a")
    assert session.running() == ()
    session.begins("a")  # by a plugin that runs everything twice
    assert session.running() == ("a",)


def test_a_name_that_is_longer_than_a_record_is_found_among_the_collected(session: Session) -> None:
    long, longer = f"a.py::test[{'x' * 2000}]", f"a.py::test[{'x' * 2001}]"
    session.journal.collected([long, longer])
    session.begins(longer)
    assert session.running() == (longer,)
    session.ends(longer)
    assert session.running() == ()


def test_where_nothing_is_said_of_a_test_before_its_end_there_is_no_file(session: Session, tmp_path: Path) -> None:
    session.ends("a")
    session.journal.close()
    assert [path.name for path in tmp_path.iterdir()] == ["tests.jsonl"]
    assert session.running() == ()


def test_it_is_evidence(tmp_path: Path) -> None:
    cell = tmp_path / "run" / "cells" / "one"
    cell.mkdir(parents=True)
    Session(cell).begins("a")
    manifest.write(tmp_path / "run", run_id="1", project=tmp_path)
    assert manifest.verify(tmp_path / "run").files.keys() == {"cells/one/tests.jsonl", "cells/one/running"}


@given(st.text(), st.integers(min_value=1, max_value=10**9))
def test_every_record_has_the_same_size_and_is_one_line(nodeid: str, attempt: int) -> None:
    written = running.record(nodeid, attempt)
    assert (len(written), written.count(b"\n"), written[-1:]) == (running.SIZE, 1, b"\n")
    said = json.loads(written)
    assert said.get("nodeid", nodeid) == nodeid


@given(st.binary(max_size=64))
def test_any_bytes_name_tests_or_nothing(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("cell") / running.NAME
    path.write_bytes(data + b"\n" + running.record("a", 2))
    assert list(running.read(path, ())) == [("a", 2)]
