"""Text of others is text for every reader, and data stays what it is."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.unit.ci.runner import folded_by_gitlab, obeyed_by_github, rendered_by_github

from stackproof import console
from stackproof.ci import guard, kind
from stackproof.ci.guard import Guarded, defused
from stackproof.ci.kind import Kind
from stackproof.errors import UsageError

MARKS = [
    "::set-output name=a::b",
    "  \t::add-mask::x",
    "x\r::set-env name=PATH::y",
    "x\n::error file=a::b",
    "y ##[set-env name=a]b",
    "##[endgroup]",
    "::stop-commands::word",
    "\x1b[0Ksection_start:1:mine[collapsed=true]\r\x1b[0Ktitle",
    "section_end:1:mine\r\x1b[0K",
    "\x1b]0;title\x07\x1b[2J",
]


def sheet(reader: Kind) -> tuple[Guarded, io.StringIO]:
    file = io.StringIO()
    return Guarded(file, reader), file


@pytest.mark.parametrize("reader", [Kind.GITHUB, Kind.GITLAB])
@pytest.mark.parametrize("text", MARKS)
def test_no_mark_of_others_is_obeyed(text: str, reader: Kind) -> None:
    stream, file = sheet(reader)
    print(text, file=stream)
    print(f"✗ {text}", file=stream)
    written = file.getvalue()
    assert "\x1b" not in written
    assert "\r" not in written
    assert folded_by_gitlab(written) == []
    if reader is Kind.GITHUB:
        assert obeyed_by_github(written) == []
        assert rendered_by_github(written) == []


@given(st.lists(st.text("::#[]\r\n \tx\x1b", max_size=4), max_size=8))
@example([":", ":add-mask::x"])
@example([" ", ":", ":", "a::x"])
@example(["x#", "#", "[error]"])
@example([" " * 2000, "::a::x"])
@example(["\u3000::a::x"])
def test_no_pieces_come_together_to_one(pieces: list[str]) -> None:
    stream, file = sheet(Kind.GITHUB)
    for piece in pieces:
        stream.write(piece)
    assert obeyed_by_github(file.getvalue()) == []


@pytest.mark.parametrize("text", ["a::b", "tests/a.py::TestB::test_c", "std::vector\nx :: y", "## [link]", "été ●"])
def test_all_else_is_as_it_was(text: str) -> None:
    assert defused(text, Kind.GITHUB) == text
    assert defused(text, Kind.GITLAB) == text


@pytest.mark.parametrize("indent", [None, 2])
def test_data_keeps_its_value(indent: int | None) -> None:
    value = {"name": "##[error]x", "text": "\r\n::set-output name=a::b", "more": ["::debug::x"]}
    written = defused(json.dumps(value, indent=indent), Kind.GITHUB)
    assert json.loads(written) == value
    assert obeyed_by_github(written) == []


def test_what_only_looks_like_data_is_text() -> None:
    assert obeyed_by_github(defused("{\n::add-mask::x\n}", Kind.GITHUB)) == []
    assert obeyed_by_github(defused("{\r::add-mask::x\r}", Kind.GITHUB)) == []


def test_a_line_of_ours_is_obeyed_and_stands_alone() -> None:
    stream, file = sheet(Kind.GITHUB)
    stream.write("half")
    stream.command("::endgroup::")
    stream.write("::group::x\n")
    assert obeyed_by_github(file.getvalue()) == ["::endgroup::"]
    assert file.getvalue().splitlines()[1] == "::endgroup::"


def test_an_error_is_guarded_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    error = UsageError("there is no suite ##[error]x", hint="\r::set-output name=a::b\n::add-mask::x")
    with guard.guarded({"GITHUB_ACTIONS": "true"}):
        console.show_error(error)
    written = capsys.readouterr().err
    assert written.startswith("✗ there is no suite")
    assert obeyed_by_github(written) == []


@pytest.mark.parametrize("environ", [{}, {"CI": "true"}])
def test_nothing_changes_for_people_and_other_systems(environ: dict[str, str]) -> None:
    before = sys.stdout, sys.stderr
    with guard.guarded(environ):
        assert (sys.stdout, sys.stderr) == before


def test_a_file_gets_every_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "comment.md").open("w") as file:
        monkeypatch.setattr(sys, "stdout", file)
        with guard.guarded({"GITHUB_ACTIONS": "true"}):
            print("##[x] \x1b[1m")
    assert (tmp_path / "comment.md").read_text() == "##[x] \x1b[1m\n"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, Kind.NONE),
        ({"CI": "false"}, Kind.NONE),
        ({"CI": "1"}, Kind.OTHER),
        ({"CI": "true", "GITHUB_ACTIONS": "true"}, Kind.GITHUB),
        ({"GITLAB_CI": "true"}, Kind.GITLAB),
    ],
)
def test_a_system_is_known_by_its_own_variable(environ: dict[str, str], expected: Kind) -> None:
    assert kind.of(environ) is expected


@pytest.mark.parametrize("name", ["CI", "GITHUB_ACTIONS", "GITLAB_CI"])
def test_no_system_is_a_person_whatever_it_emulates(name: str) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    made = console.make(Terminal(), {name: "true", "FORCE_COLOR": "1", "TTY_COMPATIBLE": "1", "TERM": "xterm-256color"})
    assert not made.is_terminal
    assert console.make(Terminal(), {"TERM": "xterm-256color"}).is_terminal
