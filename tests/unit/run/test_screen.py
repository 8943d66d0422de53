"""What a person sees where there is no terminal, character by character."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from stackproof.catalog.records import SetupSpec, StackMode, StackSpec, SuiteSpec
from stackproof.ci import kind
from stackproof.ci.kind import Kind
from stackproof.ci.log import Log
from stackproof.errors import ExitCode
from stackproof.evidence.outcomes import Outcome
from stackproof.evidence.testlog import TestEntry
from stackproof.plan import Cell
from stackproof.recorder.mode import Mode
from stackproof.run import screen
from stackproof.run.judge import Judgement
from stackproof.run.namespace import Seal
from stackproof.run.progress import Progress
from stackproof.run.screen import Screen
from stackproof.run.steps import Steps

HERE = Path("stack.yaml")


def cell(mode: Mode = Mode.REPLAY) -> Cell:
    return Cell(
        suite=SuiteSpec(name="base", description="", roots=("tests",), default_setup="ollama", source=HERE),
        setup=SetupSpec(name="ollama", description="", source=HERE),
        stack=StackSpec(name="reference", description="", folder=HERE, modes=(StackMode.SERVER,), source=HERE),
        mode=StackMode.SERVER,
        inference_mode=mode,
        service=None,
        paths=("tests",),
    )


class Sheet:
    """A screen and what it printed; the clock stands until it is moved."""

    def __init__(self, steps: Steps | None = None) -> None:
        self.file = io.StringIO()
        self.now = 50.0
        self.screen = Screen(Console(file=self.file, width=60), live=False, clock=lambda: self.now, steps=steps)

    def lines(self) -> list[str]:
        return self.file.getvalue().splitlines()


def test_a_ready_stack_is_one_line_however_narrow_the_terminal() -> None:
    sheet = Sheet()
    sheet.screen.ready(
        {"name": "reference", "url": "http://127.0.0.1:41873", "seconds": 0.84, "log": "/runs/7f3c2a/stack.log"}
    )
    assert sheet.lines() == [
        "● reference ready in 0.8 s at http://127.0.0.1:41873   log /runs/7f3c2a/stack.log",
    ]


def test_where_a_log_is_stays_in_one_piece_on_a_terminal_that_is_too_narrow() -> None:
    file = io.StringIO()
    terminal = Screen(Console(file=file, width=60), live=True)
    event = {"name": "reference", "url": "http://127.0.0.1:41873", "seconds": 0.84}
    terminal.ready({**event, "log": "/runs/7f3c2a/stack.log"})
    terminal.ready({**event, "log": "/s.log"})
    terminal.ready(event)
    assert file.getvalue().splitlines() == [
        "● reference ready in 0.8 s at http://127.0.0.1:41873",
        "  log /runs/7f3c2a/stack.log",
        "● reference ready in 0.8 s at http://127.0.0.1:41873",
        "  log /s.log",
        "● reference ready in 0.8 s at http://127.0.0.1:41873",
    ]


def test_progress_is_a_line_for_each_tenth_at_most_one_a_second_and_one_after_15_quiet_seconds() -> None:
    sheet, progress = Sheet(), Progress()
    sheet.screen.begin(cell())
    progress.note({"event": "collected", "nodeids": [f"t{n}" for n in range(20)]})
    for number in range(4):
        sheet.now += 0.5
        progress.note({"event": "test", "nodeid": f"t{number}", "outcome": "passed"})
        sheet.screen.progress(cell(), progress)
    sheet.now += 20
    sheet.screen.progress(cell(), progress)
    sheet.now += 1
    progress.note({"event": "test", "nodeid": "t4", "outcome": "skipped", "reason": "needs a vision model"})
    sheet.screen.progress(cell(), progress)
    sheet.screen.end(cell(), progress)
    assert sheet.lines() == [
        "base 2/20  2 passed  1.0 s",
        "base 4/20  4 passed  2.0 s",
        "base 4/20  4 passed  22.0 s",
        "base 5/20  4 passed, 1 skipped (needs a vision model)  23.0 s",
    ]


def test_provider_calls_say_what_kept_the_world_away() -> None:
    sheet = Sheet()
    calls = {"replayed": 41, "recorded": 0, "missed": 0, "unused": 0, "late": 0}
    sheet.screen.calls(cell(), calls, "namespace", Seal(sealed=True))
    sheet.screen.calls(cell(), {**calls, "late": 2}, "tripwire", Seal(sealed=False, reason="no unshare"))
    sheet.screen.calls(cell(), calls, "none", Seal(sealed=False))
    sheet.screen.calls(cell(Mode.RECORD), {**calls, "recorded": 3}, "none", Seal(sealed=False))
    sheet.screen.calls(cell(), None, "none", Seal(sealed=False))
    numbers = "provider calls: 41 replayed, 0 recorded, 0 missed, 0 unused"
    assert sheet.lines() == [
        f"{numbers}; sealed (network namespace)",
        f"{numbers}, 2 late; guarded in Python only: child processes and C extensions are not (no unshare)",
        f"{numbers}; not sealed",
        "provider calls: 41 replayed, 3 recorded, 0 missed, 0 unused",
    ]


def test_calls_that_were_observed_are_told_with_retries_and_what_workers_shared() -> None:
    sheet = Sheet()
    calls = {"observed": 12, "missed": 0, "replayed": 0, "retries": 0}
    sheet.screen.calls(cell(Mode.VERIFY), calls, "none", Seal(sealed=False))
    sheet.screen.calls(cell(Mode.VERIFY), {**calls, "retries": 1, "replayed": 2}, "none", Seal(sealed=False))
    sheet.screen.recordings(cell(Mode.VERIFY), calls, "recordings")
    sheet.screen.recordings(cell(), calls, "recordings")
    assert sheet.lines() == [
        "provider calls: 12 observed, 0 missed",
        "provider calls: 12 observed, 0 missed, 2 answered with what another worker observed, 1 retry",
        "recordings: recordings/ollama is left as it was",
    ]


def test_what_was_spent_is_told_with_its_limits() -> None:
    sheet = Sheet()
    spent = {"requests": [1, None], "tokens": [0, None], "seconds": [1.5, None], "unknown": 0, "refused": 0}
    sheet.screen.spent({**spent, "requests": [0, None]})
    sheet.screen.spent(spent)
    sheet.screen.spent({**spent, "tokens": [1, None], "unknown": 1})
    sheet.screen.spent({**spent, "unknown": 2})
    sheet.screen.spent({**spent, "requests": [20, 20], "tokens": [0, 900], "seconds": [61.25, 60], "refused": 2})
    assert sheet.lines() == [
        "spent: 1 request, 0 tokens",
        "spent: 1 request, 1 token (1 answer did not say)",
        "spent: 1 request, tokens unknown (2 answers did not say)",
        "budget: 20 of 20 requests, 0 of 900 tokens, 61.2 of 60 s, 2 calls refused",
    ]


def test_answers_that_were_not_kept_are_told_with_their_reason() -> None:
    sheet = Sheet()
    why = "status 401 (kept with --record-errors)"
    calls = {"recorded": 0, "written": 0, "removed": 0, "refused": 7, "dropped": [why]}
    sheet.screen.recordings(cell(Mode.RECORD), calls, "recordings")
    (line,) = sheet.lines()
    assert line.endswith(f"in recordings/ollama; 7 answers not kept: {why}")


def test_answers_that_stayed_encoded_are_told() -> None:
    sheet = Sheet()
    calls = {"recorded": 3, "written": 3, "removed": 0, "encoded": ["br", "zstd", "br"]}
    sheet.screen.recordings(cell(Mode.RECORD), calls, "recordings")
    sheet.screen.recordings(cell(Mode.RECORD), {**calls, "encoded": ["br"]}, "recordings")
    many, one = sheet.lines()
    assert many.endswith("; 3 answers kept as br and zstd, for want of a package that reads it")
    assert one.endswith("; 1 answer kept as br, for want of a package that reads it")


def test_a_miss_is_shown_once_in_place_of_the_failure_behind_it() -> None:
    sheet = Sheet()
    miss = {"test_id": "t.py::test_a", "message": "no recording for POST /v1/chat\n  nearest: [x]"}
    entries = [
        TestEntry(nodeid="t.py::test_a", outcome=Outcome.FAILED, text="a long traceback"),
        TestEntry(nodeid="t.py::test_b", outcome=Outcome.FAILED, text="E   assert [bold]1[/bold] == 2"),
    ]
    sheet.screen.failures(entries, [miss, miss], Path("pytest.log"))
    assert sheet.lines() == [
        "✗ t.py::test_b",
        "  E   assert [bold]1[/bold] == 2",
        "✗ t.py::test_a",
        "  no recording for POST /v1/chat",
        "    nearest: [x]",
    ]


def test_the_last_line_is_the_result_and_what_is_not_green_can_be_had_again() -> None:
    sheet = Sheet()
    sheet.screen.conclusion(cell(), Judgement(exit_code=ExitCode.PASS), 3.42, "stackproof run")
    failed = Judgement(exit_code=ExitCode.TESTS, reason="2 failed")
    sheet.screen.conclusion(cell(), failed, 3.42, "stackproof run --setup ollama")
    unready = Judgement(
        exit_code=ExitCode.STACK_START, reason="reference exited with code 3", hint="last lines\n  boom"
    )
    sheet.screen.conclusion(cell(), unready, 0.4, "stackproof run")
    assert sheet.lines() == [
        "PASS  base × ollama × server:reference in 3.4 s",
        "FAIL  base × ollama × server:reference in 3.4 s: 2 failed",
        "  again: stackproof run --setup ollama",
        "✗ reference exited with code 3",
        "  last lines",
        "    boom",
        "  again: stackproof run",
    ]


def test_a_cell_that_has_not_come_to_its_tests_gives_a_sign_of_life_every_15_seconds() -> None:
    sheet, progress = Sheet(), Progress()
    sheet.screen.begin(cell())
    for _ in range(40):
        sheet.now += 1
        sheet.screen.progress(cell(), progress)
    assert sheet.lines() == ["base: no test has a result yet, 15 s", "base: no test has a result yet, 30 s"]


def test_a_cell_that_is_one_step_of_many_says_which() -> None:
    sheet = Sheet(Steps(names=["other", "base × ollama × server:reference"], clock=lambda: 0.0))
    sheet.screen.step(cell())
    assert sheet.lines() == ["[1/2] base × ollama × server:reference"]
    alone = Sheet()
    alone.screen.step(cell())
    assert alone.lines() == []


def test_what_comes_after_the_last_test_and_before_the_first_one_gives_a_sign_of_life() -> None:
    sheet, progress = Sheet(), Progress()
    sheet.screen.begin(cell())
    progress.note({"event": "collected", "nodeids": ["a"]})
    progress.note({"event": "test", "nodeid": "a", "outcome": "passed"})
    for _ in range(3):
        sheet.now += 15
        sheet.screen.progress(cell(), progress)
    assert sheet.lines() == [
        "base: every test has a result, it ends, 15 s",
        "base: every test has a result, it ends, 30 s",
        "base: every test has a result, it ends, 45 s",
    ]


def test_a_cell_that_is_prepared_for_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    @contextlib.contextmanager
    def alive(what: str, _console: Console) -> Iterator[None]:
        told.append(what)
        yield

    monkeypatch.setattr(screen, "alive", alive)
    with Sheet().screen.preparing(cell()):
        assert told == ["base × ollama × server:reference: being prepared"]


def test_a_cell_is_folded_up_to_its_failures_and_its_conclusion() -> None:
    sheet = Sheet()
    said: list[str] = []
    folded = Screen(Console(file=sheet.file, width=60), live=False, log=Log(Kind.GITHUB, said.append))
    entry = TestEntry(nodeid="a::b", outcome=Outcome.FAILED, text="E   1 == 2")
    folded.step(cell())
    folded.line("inside")
    folded.failures([], [], Path("log"))
    assert said == ["::group::base × ollama × server:reference"]
    folded.failures([entry], [], Path("log"))
    assert said[1:] == ["::endgroup::"]
    folded.step(cell())
    folded.conclusion(cell(), Judgement(exit_code=ExitCode.PASS), 1.0, "again")
    assert said[2:] == ["::group::base × ollama × server:reference", "::endgroup::"]
    assert sheet.lines() == ["inside", "✗ a::b", "  E   1 == 2", "PASS  base × ollama × server:reference in 1.0 s"]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_narrow_terminal_has_lines_folded_between_words_and_commands_whole(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(kind, "of", lambda _: Kind.NONE)
    monkeypatch.setenv("COLUMNS", "60")
    file = _Terminal()
    shown = Screen(Console(file=file, width=60, no_color=True, color_system=None), live=False)
    failed = TestEntry(
        nodeid="t.py::test_a", outcome=Outcome.FAILED,
        text="E       AssertionError: what was answered is not what was asked for by anybody",
    )  # fmt: skip
    command = "stackproof run --suite base --setup ollama --file t.py --pattern test_b --inference-mode record"
    miss = {"test_id": "t.py::test_b", "message": f"✗ t.py::test_b\n  no recording for POST /v1/chat/completions of "
            f"ollama (call 1 of this request)\n    record it: {command}"}  # fmt: skip
    shown.failures([failed], [miss], tmp_path / "pytest.log")
    assert file.getvalue().splitlines() == [
        "✗ t.py::test_a",
        "  E       AssertionError: what was answered is not what was",
        "            asked for by anybody",
        "✗ t.py::test_b",
        "  no recording for POST /v1/chat/completions of ollama (call",
        "    1 of this request)",
        f"    record it: {command}",
    ]
