"""Times of tests from run folders, from the file that a project keeps, and from reports of others."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.errors import UsageError
from stackproof.evidence import nodeids
from stackproof.shards import timings, timings_file
from stackproof.shards.timings_table import CellKey, CellTimes, Gathered

KEY = CellKey(suite="base", setup="ollama", stack="server:reference")


def leave(
    run: Path, tests: dict[str, tuple[float, str]], *, stack: str = "reference", took: float = 10, **result: object
) -> Path:
    """A cell of a run folder."""
    folder = run / "cells" / f"base-ollama-server-{stack}"
    folder.mkdir(parents=True)
    lines = [
        json.dumps({"event": "test", "nodeid": name, "outcome": outcome, "duration": seconds, "attempt": 1})
        for name, (seconds, outcome) in tests.items()
    ]
    (folder / "tests.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "cell.json").write_text(json.dumps({"options": {"workers": None}}))
    content = {
        "cell": {"suite": "base", "setup": "ollama", "stack": stack, "mode": "server"},
        "exit_code": 0,
        "started": "2026-01-02T10:00:00+00:00",
        "stopped": f"2026-01-02T10:00:{took:06.3f}+00:00",
        **result,
    }
    (folder / "result.json").write_text(json.dumps(content))
    return folder


def test_the_median_of_several_runs_counts_and_what_failed_does_not(tmp_path: Path) -> None:
    for number, seconds in enumerate((1.0, 9.0, 2.0)):
        leave(tmp_path / str(number), {"t.py::a": (seconds, "passed"), "t.py::b": (seconds, "failed")})
    found = timings.read([tmp_path])
    assert dict(found.tests("base", "ollama", "server:reference")) == {"t.py::a": 2.0}
    assert found.problems == ()


def test_a_cell_says_what_it_takes_beside_its_tests(tmp_path: Path) -> None:
    leave(tmp_path / "1", {"t.py::a": (3.0, "passed")}, took=10)
    assert timings.read([tmp_path]).start("base", "ollama", "server:reference") == 7.0
    assert timings.read([tmp_path]).start("other", "ollama", "server:reference") == 7.0
    assert timings.read([tmp_path]).start("base", "ollama", "server:other") is None


def test_what_the_first_test_spends_on_the_session_is_start_and_not_test(tmp_path: Path) -> None:
    folder = leave(tmp_path / "1", {"t.py::a": (3.0, "passed"), "t.py::b": (1.0, "passed")}, took=10)
    path = folder / "tests.jsonl"
    path.write_text(path.read_text().replace('"duration": 3.0', '"duration": 3.0, "session": 2.5'))
    found = timings.read([tmp_path])
    assert dict(found.tests("base", "ollama", "server:reference")) == {"t.py::a": 0.5, "t.py::b": 1.0}
    assert found.start("base", "ollama", "server:reference") == 8.5


@pytest.mark.parametrize("started", ["2026-01-02T10:00:00", "soon", 5, None])
def test_a_moment_that_is_none_says_nothing_of_the_start(tmp_path: Path, started: object) -> None:
    leave(tmp_path / "1", {"t.py::a": (3.0, "passed")}, started=started)
    found = timings.read([tmp_path])
    assert dict(found.tests("base", "ollama", "server:reference")) == {"t.py::a": 3.0}
    assert found.start("base", "ollama", "server:reference") is None


def test_tests_side_by_side_say_nothing_of_the_start(tmp_path: Path) -> None:
    folder = leave(tmp_path / "1", {"t.py::a": (3.0, "passed")})
    (folder / "cell.json").write_text(json.dumps({"options": {"workers": "4"}}))
    assert timings.read([tmp_path]).start("base", "ollama", "server:reference") is None


def test_what_this_cell_never_ran_is_taken_from_the_same_suite_elsewhere(tmp_path: Path) -> None:
    leave(tmp_path / "1", {"t.py::a": (1.0, "passed")})
    leave(tmp_path / "2", {"t.py::a": (5.0, "passed"), "t.py::b": (6.0, "passed")}, stack="ogx")
    found = timings.read([tmp_path])
    assert dict(found.tests("base", "ollama", "server:reference")) == {"t.py::a": 1.0, "t.py::b": 6.0}
    assert dict(found.tests("base", "gpt", "docker:new")) == {"t.py::a": 1.0, "t.py::b": 6.0}
    assert dict(found.tests("other", "ollama", "server:reference")) == {}


def test_reports_of_others_are_read_by_the_names_in_them(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(
        '<testsuite><testcase classname="tests.test_a.TestB" name="test_c[x/y]" time="1.5"/>'
        '<testcase classname="tests.test_a" name="test_d"/></testsuite>'
    )
    found = timings.read([tmp_path / "report.xml"])
    assert found.rows == {nodeids.row_key("tests/test_a.py::TestB::test_c[x/y]"): 1.5}
    assert timings.read([tmp_path]).rows == found.rows


@pytest.mark.parametrize("content", ["", "{", "[]", '{"kind": "timings", "schema": 99}', "\x00"])
def test_a_damaged_file_is_said_and_not_fatal(tmp_path: Path, content: str) -> None:
    path = tmp_path / "timings.json"
    path.write_text(content)
    found = timings.read([path])
    assert (found.count, len(found.problems)) == (0, 1)
    assert str(path) in found.problems[0]


def test_a_damaged_run_is_said_and_the_others_are_read(tmp_path: Path) -> None:
    (leave(tmp_path / "1", {"t.py::a": (1.0, "passed")}) / "result.json").write_text("{")
    folder = leave(tmp_path / "2", {"t.py::a": (2.0, "passed")})
    with (folder / "tests.jsonl").open("a") as file:
        file.write('{"event": "te')
    found = timings.read([tmp_path])
    assert dict(found.tests("base", "ollama", "server:reference")) == {"t.py::a": 2.0}
    assert [
        "result.json: it is damaged" in found.problems[0],
        "damaged from line 2 on (1 line)" in found.problems[1],
    ] == [
        True,
        True,
    ]


def test_a_path_that_is_not_there_is_refused_and_an_empty_folder_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no"):
        timings.read([tmp_path / "nothing"])
    assert timings.read([tmp_path]).problems[0].endswith("no run of stackproof and no JUnit report is in there")


NAMES = st.builds("{}.py::{}".format, st.sampled_from("abc"), st.text(min_size=1, max_size=8))


@given(st.dictionaries(NAMES, st.floats(0, 1e6), max_size=20), st.dictionaries(NAMES, st.floats(0, 1e6), max_size=5))
def test_the_file_holds_every_test_to_two_digits(
    tmp_path_factory: pytest.TempPathFactory, tests: dict[str, float], rows: dict[str, float]
) -> None:
    path = tmp_path_factory.mktemp("timings") / "timings.json"
    rows = {nodeids.row_key(name): seconds for name, seconds in rows.items()}
    text = timings_file.text({KEY: CellTimes(tests=tests, start=1.25)}, rows)
    path.write_text(text)
    gathered = Gathered()
    timings_file.gather(path, gathered)
    found = gathered.cells().get(KEY, CellTimes(tests={}))
    assert gathered.problems == []
    assert found.tests == {name: timings_file.rounded(seconds) for name, seconds in tests.items()}
    assert gathered.row_seconds() == {name: timings_file.rounded(seconds) for name, seconds in rows.items()}
    assert timings_file.text({KEY: CellTimes(tests=found.tests, start=1.25)}, gathered.row_seconds()) == text


@pytest.mark.parametrize("start", ["x", None, True, -1, 1e400, 10**400, math.nan])
def test_times_that_are_none_are_left_out(tmp_path: Path, start: object) -> None:
    path = tmp_path / "timings.json"
    tests = {"a": "1", "b": None, "c": True, "d": -1, "e": 1e400, "f": 2, "g": 10**400, "h": math.nan}
    stacks = {"server:reference": {"start": start, "tests": {"t.py": tests, "u.py": []}}}
    cell = {"base": {"ollama": stacks}}
    path.write_text(json.dumps({"schema": 1, "kind": "timings", "cells": cell}))
    found = timings.read([path])
    assert dict(found.tests("base", "ollama", "server:reference")) == {"t.py::f": 2}
    assert found.start("base", "ollama", "server:reference") is None
