"""What a run says of coverage, what it refuses, and what the verdict's page shows of it."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from stackproof import options
from stackproof.errors import UsageError
from stackproof.evidence import coverage
from stackproof.measure import begin, package, told
from stackproof.verdict.page import covered

TOTAL = {"percent": 83.333, "files": 3, "num_statements": 24, "branch": True, "num_branches": 6}


def part(**facts: Any) -> dict[str, Any]:
    """Of `summary.json`: what one kind of process gave."""
    return {"processes": 1, "lost": 0, "lines": 5, "files": 1, "without": [], **facts}


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A run folder without a summary."""
    (tmp_path / "coverage").mkdir()
    return tmp_path


def summary(run_dir: Path, cells: object, total: object = TOTAL) -> coverage.Coverage:
    """What is read of a summary with this in it."""
    (run_dir / "coverage" / "summary.json").write_text(json.dumps({"schema": 1, "total": total, "cells": cells}))
    found = coverage.read(run_dir)
    assert found is not None
    return found


def test_the_line_has_the_number_and_where_it_comes_from(run_dir: Path) -> None:
    found = summary(run_dir, {"a": {"tests": part()}, "b": {"tests": part(lines=0), "stack": part(processes=3)}})

    (line,) = told.lines(found, run_dir / "coverage")

    assert line.startswith(
        "coverage: 83.3 % of 24 statements and 6 branches in 3 files; from 1 process of tests and 3 of stacks in "
        "2 cells   "
    )


@pytest.mark.parametrize(
    ("stack", "said"),
    [
        (part(processes=0, lost=2, lines=0), "c: its stack gave none: 2 processes ended before anything was written"),
        (part(processes=0, lines=0), "c: its stack gave none: no Python process of it was measured"),
        (
            part(processes=0, lines=0, without=["no coverage in /x/python"]),
            "c: its stack gave none: no coverage in /x/python",
        ),
        (part(lines=0), "c: its stack gave none: no line of what is measured ran in 1 process"),
        (part(lost=1), "c: 1 process of its stack ended before anything was written"),
        (part(without=["/x/python: old"]), "c: a process of its stack was not measured: /x/python: old"),
    ],
)
def test_what_is_not_in_the_number_is_said(run_dir: Path, stack: dict[str, Any], said: str) -> None:
    assert summary(run_dir, {"c": {"tests": part(lines=0), "stack": stack}}).gaps == (said,)


def test_where_no_line_ran_nobody_is_named(run_dir: Path) -> None:
    (line, _) = told.lines(summary(run_dir, {"a": {"tests": part(lines=0)}}), run_dir / "coverage")
    assert "in 3 files; from no process: none ran a line of it   " in line


def test_a_library_none_of_whose_lines_ran_is_said_too(run_dir: Path) -> None:
    assert "its tests gave none" in summary(run_dir, {"c": {"tests": part(lines=0)}}, total=None).gaps[0]
    assert [*told.lines(summary(run_dir, {}, total=None), run_dir)] == ["coverage: nothing was measured"]


@pytest.mark.parametrize("total", [{"percent": "83"}, {"percent": True}, [], {"percent": 1e999}, {}])
def test_a_summary_that_makes_no_sense_costs_nobody_the_page(run_dir: Path, total: object) -> None:
    found = summary(run_dir, {"c": 3, "d": {"tests": 4}}, total=total)

    assert found.total is None
    assert covered.of(run_dir)["total"] == ""


def test_the_page_shows_it_where_there_is_one(run_dir: Path) -> None:
    assert covered.of(run_dir) == {}
    summary(run_dir, {"c": {"tests": part()}}, total={**TOTAL, "branch": False})
    assert covered.of(run_dir) == {
        "total": "83.3 % of 24 statements in 3 files",
        "origin": "1 process of tests in 1 cell",
        "gaps": [],
        "more": 0,
    }


@pytest.mark.parametrize(
    ("version", "said"), [("", "which lacks it"), ("7.9.2", "which has version 7.9.2, and 7.10 is the oldest")]
)
def test_without_the_package_the_run_says_where_and_what_to_install(
    monkeypatch: pytest.MonkeyPatch, version: str, said: str
) -> None:
    def found(_: str) -> str:
        if not version:
            raise metadata.PackageNotFoundError
        return version

    monkeypatch.setattr("stackproof.measure.package.metadata.version", found)

    with pytest.raises(UsageError, match=f"the package coverage in {sys.executable}, {said}") as raised:
        package.require_here()
    assert raised.value.hint is not None
    assert f"{sys.executable} -m pip install 'coverage>=7.10'" in raised.value.hint


def test_another_python_is_asked_before_anything_starts(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "other")], check=True, timeout=300)
    python = tmp_path / "other" / "bin" / "python"

    with pytest.raises(UsageError, match=f"coverage in {python}, which lacks it"):
        package.require_at(python, {})
    package.require_at(Path(sys.executable), {})
    package.require_at(None, {})


@pytest.mark.parametrize("text", ["1", "true", "YES", "on"])
def test_the_variable_may_say_yes(tmp_path: Path, text: str) -> None:
    assert options.resolve({}, {"STACKPROOF_COVERAGE": text}, tmp_path).coverage == "configured"
    assert options.resolve({}, {"STACKPROOF_COVERAGE": "src"}, tmp_path).coverage == "src"
    assert options.resolve({}, {}, tmp_path).coverage is None


def test_processes_are_told_nothing_where_nobody_asks() -> None:
    given = {"PYTHONPATH": "/x", "A": "b"}

    assert begin.Measuring().into(given, "tests") == given
    assert begin.Measuring(folder=Path("/h")).into(given, "stack") == {
        "PYTHONPATH": "/h:/x",
        "A": "b",
        "STACKPROOF_MEASURE": "/h/stack.json",
    }
