"""How far a release is, and that something which prints nothing shows that it lives."""

from __future__ import annotations

import io
import os
import time
from pathlib import Path

import pytest
from rich.console import Console

from stackproof.evidence import jsonfile
from stackproof.evidence import steps as step_times
from stackproof.run import steps
from stackproof.run.steps import Steps, Telling


class Clock:
    """Stands until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_each_step_says_which_it_is_and_since_when() -> None:
    clock = Clock()
    whole = Steps(names=[f"cell {number}" for number in range(1, 10)] + ["types"], clock=clock)
    assert whole.begin("cell 1") == "[ 1/10] cell 1"
    clock.now += 131
    assert whole.begin("cell 2") == "[ 2/10] cell 2   2 min 11 s so far"
    clock.now += 9
    whole.end()
    whole.end()
    assert whole.took == {"cell 1": 131.0, "cell 2": 9.0}


def test_what_is_left_is_said_where_the_last_release_knows_every_step_ahead() -> None:
    clock = Clock()
    whole = Steps(names=["a", "b", "types"], before={"b": 30.0, "types": 90.0}, clock=clock)
    assert whole.begin("a") == "[1/3] a"
    clock.now += 5
    assert whole.begin("b") == "[2/3] b   5 s so far, about 2 min 0 s to go"


def test_a_step_that_ended_early_does_not_hide_what_is_new() -> None:
    whole = Steps(names=["a", "new"], before={"a": 30.0}, clock=Clock())
    assert "to go" not in whole.begin("a")


def test_the_newest_release_beside_this_one_says_what_steps_take(tmp_path: Path) -> None:
    assert steps.last(tmp_path / "run") == {}
    for age, name in enumerate(("newest", "older")):
        step_times.write(tmp_path / name, {"a": float(age + 1)})
        os.utime(tmp_path / name / "steps.json", (1000 - age, 1000 - age))
    step_times.write(tmp_path / "run", {"a": 99.0})
    assert steps.last(tmp_path / "run") == {"a": 1.0}


def test_a_file_that_says_something_else_is_not_believed(tmp_path: Path) -> None:
    jsonfile.write(
        tmp_path / "other/steps.json", {"schema": 1, "seconds": {"a": "long", "b": -1, "c": 2, "d": float("inf")}}
    )
    assert steps.last(tmp_path / "run") == {"c": 2.0}
    jsonfile.write(tmp_path / "other/steps.json", {"schema": 9, "seconds": {"c": 2}})
    assert steps.last(tmp_path / "run") == {}


def test_what_prints_nothing_gives_a_sign_of_life_and_stops_with_its_end() -> None:
    file = io.StringIO()
    console = Console(file=file, width=200)
    deadline = time.monotonic() + 60
    with steps.alive("types", console, every=0.02):
        while file.getvalue().count("\n") < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
    lines = file.getvalue().splitlines()
    assert len(lines) >= 2
    assert all(line.startswith("types: still running, ") and line.endswith(" s") for line in lines)
    time.sleep(0.06)
    assert file.getvalue().splitlines() == lines


def test_a_terminal_gets_a_clock_that_leaves_nothing_behind() -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=80, legacy_windows=False)
    with steps.alive("types", console):
        time.sleep(0.15)
    shown = file.getvalue()
    assert "types" in shown
    assert "0:00:00" in shown
    assert shown.endswith("\x1b[2K")


def test_a_check_is_told_and_an_error_in_it_goes_on() -> None:
    said: list[str] = []
    telling = Telling(console=Console(quiet=True), say=said.append, steps=Steps(names=["types"]))

    def interrupted() -> None:
        with telling.step("types"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert said == ["[1/1] types"]
    assert telling.steps.place == "[1/1]"


def test_steps_side_by_side_each_have_their_own_time() -> None:
    clock = Clock()
    whole = Steps(names=["a", "b", "types"], before={"a": 1.0, "b": 1.0, "types": 1.0}, clock=clock)
    assert whole.open("a") == "[1/3] a"
    clock.now += 2
    assert whole.open("b") == "[2/3] b   2 s so far"
    clock.now += 3
    whole.close("a")
    whole.close("a")
    clock.now += 4
    assert whole.begin("types") == "[3/3] types   9 s so far, about 1 s to go"
    assert whole.took == {"a": 5.0, "b": 7.0}
