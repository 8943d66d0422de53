"""Colour: of marks and verdicts, on a terminal of a person alone; the words are the same with and without it."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping

import pytest

from stackproof import console
from stackproof.errors import UsageError
from stackproof.folding import folded
from stackproof.painting import painted, span


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("line", "coloured", "style"),
    [
        ("✗ tests/test_a.py::test_a", "✗", "red"),
        ("● reference ready in 0.8 s", "●", "green"),
        ("  ? types   not proven: no mypy", "?", "yellow"),
        ("PASS  base × ollama × server:reference in 3.4 s", "PASS", "bold green"),
        ("NOTHING RAN  base × ollama", "NOTHING RAN", "bold yellow"),
        ("RELEASE VERDICT  FAIL     commit 4c1d9e2", "FAIL", "bold red"),
        ("LANE library  PASS     commit 4c1d9e2", "PASS", "bold green"),
    ],
)
def test_a_mark_and_a_verdict_are_coloured(line: str, coloured: str, style: str) -> None:
    found = span(line)
    assert found is not None
    start, end, named = found
    assert (line[start:end], named) == (coloured, style)
    assert re.sub(r"\x1b\[[\d;]*m", "", painted(line)) == line != painted(line)


@pytest.mark.parametrize(
    "line", ["", "33 passed", "PASSED tests/test_a.py", "FAILURES", "?x", "      ✗ deep", "a ✗ b", "~/project"]
)
def test_other_words_are_left_alone(line: str) -> None:
    assert span(line) is None
    assert painted(line) == line


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"CI": "true"}, {"TERM": "dumb"}])
def test_who_wants_no_colour_gets_none(environ: Mapping[str, str]) -> None:
    assert not console.is_plain(Terminal(), {"TERM": "xterm-256color"})
    assert console.is_plain(Terminal(), environ)
    assert console.is_plain(io.StringIO(), {})


def test_an_error_is_coloured_on_a_terminal_and_plain_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "CI", "GITHUB_ACTIONS", "GITLAB_CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    error = UsageError("unknown suite 'bsae'", hint="known suites: base")
    shown, plain = Terminal(), io.StringIO()
    console.show_error(error, stream=shown)
    console.show_error(error, stream=plain)
    assert plain.getvalue() == "✗ unknown suite 'bsae'\n  known suites: base\n"
    assert shown.getvalue() == "\x1b[31m✗\x1b[0m unknown suite 'bsae'\n  known suites: base\n"


def test_a_table_cuts_no_name_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr("sys.stdout", shown)
    monkeypatch.setenv("COLUMNS", "40")
    rows = [("bedrock", "AWS_BEARER_TOKEN_BEDROCK", "Amazon Bedrock, over its OpenAI-compatible address")]
    console.table(rows, head=("setup", "needs", "description"), environ={"TERM": "xterm"})
    lines = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in shown.getvalue().splitlines()]
    assert "…" not in shown.getvalue()
    assert max(map(len, lines)) <= 40
    assert lines[0].startswith("setup"), "it begins at the edge, and without an empty line"
    assert lines[-1].strip()


def test_prose_goes_on_below_its_beginning_and_no_word_is_cut() -> None:
    line = "  ? types    not proven: tests/integration/base/test_chat.py::test_two_turns was not run"
    assert folded(line, width=60, hanging=13) == [
        "  ? types    not proven:",
        "             tests/integration/base/test_chat.py::test_two_turns",
        "             was not run",
    ]
    assert folded(line, width=100, hanging=13) == [line]
    assert folded(line, width=40, hanging=13)[0] == "  ? types    not proven:"
    assert folded(line, width=40, hanging=13)[-1] == "      was not run", "the column has no room"
    assert folded(line, width=30, hanging=13) == [line], "no room is left"


def test_an_error_is_folded_on_a_terminal_and_what_comes_next_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "CI", "GITHUB_ACTIONS", "GITLAB_CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    shown = Terminal()
    hint = "stackproof run --inference-mode record-if-missing"
    console.show_error(UsageError("nothing is recorded for the one test of this suite", hint=hint), stream=shown)
    assert shown.getvalue().splitlines() == [
        "\x1b[31m✗\x1b[0m nothing is recorded for the one test",
        "  of this suite",
        f"  {hint}",
    ]
    monkeypatch.setenv("NO_COLOR", "1")
    uncoloured = Terminal()
    console.show_error(UsageError("nothing is recorded for the one test of this suite", hint=hint), stream=uncoloured)
    assert uncoloured.getvalue() == re.sub(r"\x1b\[\d*m", "", shown.getvalue())
    monkeypatch.setenv("CI", "1")
    log = Terminal()
    console.show_error(UsageError("nothing is recorded for the one test of this suite", hint=hint), stream=log)
    assert log.getvalue().splitlines()[0] == "✗ nothing is recorded for the one test of this suite"
