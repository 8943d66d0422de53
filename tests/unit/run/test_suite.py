"""The command line of pytest."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof.options import RunOptions
from stackproof.run.suite import arguments, talks

PROJECT = Path("/project")
CELL = PROJECT / ".stackproof" / "runs" / "1" / "cells" / "c"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (RunOptions(), []),
        (RunOptions(pattern="two or three"), ["-k", "two or three"]),
        (RunOptions(workers="4"), ["-n", "4"]),
        (RunOptions(verbose=True), ["-v"]),
        (RunOptions(collect_only=True), ["--collect-only", "-q"]),
        (RunOptions(test_timeout=5.0), ["--timeout=5", "-o", "timeout_method=signal"]),
    ],
)
def test_options_become_arguments(options: RunOptions, expected: list[str]) -> None:
    command = arguments(options, ["tests/integration/base"], project=PROJECT, cell_dir=CELL)
    start = command.index("junit_family=xunit2") + 1
    assert command[start:] == [*expected, "tests/integration/base"]
    assert "--rootdir=/project" in command
    assert f"--junitxml={CELL}/junit.xml" in command
    assert command[1:5] == ["-m", "pytest", "-p", "stackproof"]


def test_what_the_caller_adds_comes_last() -> None:
    assert arguments(RunOptions(pytest_args=("-x", "--pdb")), ["t.py"], project=PROJECT, cell_dir=CELL)[-3:] == [
        "t.py",
        "-x",
        "--pdb",
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (RunOptions(), False),
        (RunOptions(pytest_args=("--lf",)), False),
        (RunOptions(pytest_args=("--pdb",)), True),
        (RunOptions(pytest_args=("-s",)), True),
        (RunOptions(verbose=True), True),
    ],
)
def test_pytest_gets_the_terminal_when_it_needs_it(options: RunOptions, expected: bool) -> None:
    assert talks(options) is expected


def test_another_python_and_the_stacks_warnings_come_before_what_the_caller_adds() -> None:
    words = arguments(
        RunOptions(pytest_args=("-W", "error")),
        ["tests"],
        project=Path("/p"),
        cell_dir=Path("/c"),
        python=Path("/venv/bin/python"),
        warnings=("default::DeprecationWarning",),
    )
    assert words[:3] == ["/venv/bin/python", "-m", "pytest"]
    assert [words[at + 1] for at, word in enumerate(words) if word == "-W"] == ["default::DeprecationWarning", "error"]
