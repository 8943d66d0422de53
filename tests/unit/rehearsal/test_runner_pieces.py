"""What a runner does for a step: files, commands, masks, results, the legs of a matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ci.rehearsal import command_files, matrix
from ci.rehearsal.command_files import FileError, pairs
from ci.rehearsal.commands import CANARY, Commands
from ci.rehearsal.expressions import ExpressionError
from ci.rehearsal.masks import Masks
from ci.rehearsal.order import Result
from ci.rehearsal.results import JobEnd, LegEnd, of_jobs
from hypothesis import given, settings
from hypothesis import strategies as st


def test_names_and_values_are_read_in_both_forms() -> None:
    assert pairs("a=1\n\nb<<END\nx=y\n<<z\nEND\nc=p=q\nd=\n", "F") == {"a": "1", "b": "x=y\n<<z", "c": "p=q", "d": ""}


@pytest.mark.parametrize("sign", ["\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_only_a_newline_ends_a_line(tmp_path: Path, sign: str) -> None:
    given_ = command_files.make(tmp_path / "files")
    # Else a value would bring in names that no runner sees.
    Path(given_["GITHUB_OUTPUT"]).write_bytes(f"a=1{sign}b=2\n".encode())
    assert command_files.read(tmp_path / "files", pytest.fail).outputs == {"a": f"1{sign}b=2"}


@pytest.mark.parametrize(
    ("text", "said"),
    [("no sign", "no name=value"), ("a<<END\nx", "never comes again"), ("=x", "no name"), ("<<END\nEND", "no name")],
)
def test_a_file_that_the_runner_refuses_fails_the_step(text: str, said: str) -> None:
    with pytest.raises(FileError, match=said):
        pairs(text, "F")


_line = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=20)


@settings(deadline=None)
@given(st.lists(_line, max_size=5))
def test_any_lines_come_back_from_between_two_words(lines: list[str]) -> None:
    word = "W" * (1 + max((len(line) for line in lines), default=0))
    assert pairs(f"x<<{word}\n" + "".join(f"{line}\n" for line in lines) + f"{word}\n", "F") == {"x": "\n".join(lines)}


def test_what_belongs_to_the_runner_is_not_set(tmp_path: Path) -> None:
    given_ = command_files.make(tmp_path / "files")
    Path(given_["GITHUB_ENV"]).write_text("A=1\nGITHUB_SHA=x\nRUNNER_OS=y\n")
    Path(given_["GITHUB_PATH"]).write_text("/a\n\n/b\n")
    Path(given_["GITHUB_STEP_SUMMARY"]).write_bytes(b"x" * (command_files.SUMMARY_LIMIT + 1))
    wrong: list[str] = []
    written = command_files.read(tmp_path / "files", wrong.append)
    assert written.env == {"A": "1"}
    assert written.paths == ("/a", "/b")
    assert ["GITHUB_SHA" in wrong[0], "RUNNER_OS" in wrong[1], "drops all of it" in wrong[2]] == [True] * 3
    Path(given_["GITHUB_ENV"]).write_text("NODE_OPTIONS=x\n")
    with pytest.raises(FileError, match="NODE_OPTIONS"):
        command_files.read(tmp_path / "files", wrong.append)


def _obeyed(*lines: str) -> tuple[Commands, list[str], list[str]]:
    wrong: list[str] = []
    commands = Commands(masks=Masks(), wrong=wrong.append)
    seen = [commands.line(line) for line in lines]
    commands.end()
    return commands, seen, wrong


def test_annotations_are_kept_and_nothing_is_obeyed_while_commands_are_stopped() -> None:
    commands, _, wrong = _obeyed(
        "::error file=a.py,line=1,title=a%3A%3Ab::one%0Atwo",
        "::stop-commands::word",
        "::error::not",
        "::word::",
        "  ::notice::yes",
    )
    # A verdict says in the title what it is about.
    assert commands.annotations == [("error", "a::b: one\ntwo"), ("notice", "yes")]
    assert wrong == []


def test_what_is_masked_by_a_command_is_hidden_from_then_on() -> None:
    _, seen, _ = _obeyed("::add-mask::s3cret", "it is s3cret")
    assert seen == ["::add-mask::***", "it is ***"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"::error title={CANARY}::x", "others may write"),
        (f"title: ##[error]{CANARY}", "others may write"),
        ("::set-output name=a::b", "write to $GITHUB_OUTPUT"),
        ("::set-env name=a::b", "write to $GITHUB_ENV"),
        ("::add-mask::", "nothing to hide"),
        ("::stop-commands::w", "never taken back"),
    ],
)
def test_a_command_that_no_runner_should_be_given_is_told(line: str, said: str) -> None:
    (wrong,) = _obeyed(line)[2]
    assert said in wrong


@pytest.mark.parametrize("line", ["a ::error::x", "::Error::x", "::unknown::x", ":: error::x", "std::vector::push"])
def test_what_only_looks_like_a_command_is_text(line: str) -> None:
    commands, seen, wrong = _obeyed(line)
    assert (commands.annotations, seen, wrong) == ([], [line], [])


@settings(deadline=None)
@given(st.text(min_size=3).filter(lambda value: len(value.strip()) >= 3), st.text())
def test_a_secret_is_in_no_text_that_was_masked(value: str, around: str) -> None:
    masks = Masks()
    masks.add(value)
    if value not in "***" and "*" not in value:
        assert value not in masks.hide(f"{around}{value}{around}")


def test_lines_and_encodings_of_a_secret_are_hidden() -> None:
    masks = Masks()
    masks.add('key"one\nline two')
    assert (
        masks.hide('x line two y a2V5Im9uZQpsaW5lIHR3bw== key\\"one\\nline two key%22one%0Aline%20two')
        == "x *** y *** *** ***"
    )
    assert masks.holds("line two")
    assert not masks.holds("line three")


@pytest.mark.parametrize(
    ("written", "legs"),
    [
        ({"a": [1, 2], "b": ["x"]}, [{"a": 1, "b": "x"}, {"a": 2, "b": "x"}]),
        ({"a": [1, 2], "exclude": [{"a": 1}]}, [{"a": 2}]),
        ({"include": [{"lane": "x"}, {"lane": "y"}]}, [{"lane": "x"}, {"lane": "y"}]),
        ({"a": [1, 2], "include": [{"c": 3}, {"a": 1, "d": 4}]}, [{"a": 1, "c": 3, "d": 4}, {"a": 2, "c": 3}]),
        ({"a": [1], "include": [{"a": 2, "c": 3}]}, [{"a": 1}, {"a": 2, "c": 3}]),
        # The documentation's own example.
        (
            {
                "fruit": ["apple", "pear"],
                "animal": ["cat", "dog"],
                "include": [
                    {"color": "green"},
                    {"color": "pink", "animal": "cat"},
                    {"fruit": "apple", "shape": "circle"},
                    {"fruit": "banana"},
                    {"fruit": "banana", "animal": "cat"},
                ],
            },
            [
                {"fruit": "apple", "animal": "cat", "color": "pink", "shape": "circle"},
                {"fruit": "apple", "animal": "dog", "color": "green", "shape": "circle"},
                {"fruit": "pear", "animal": "cat", "color": "pink"},
                {"fruit": "pear", "animal": "dog", "color": "green"},
                {"fruit": "banana"},
                {"fruit": "banana", "animal": "cat"},
            ],
        ),
    ],
)
def test_a_matrix_has_the_legs_of_the_documentation(written: Any, legs: Any) -> None:
    assert matrix.legs(written) == legs


@pytest.mark.parametrize(
    "written", ["text", {"a": []}, {"include": []}, {"a": [1], "exclude": [{"a": 1}]}, {"a": list(range(257))}]
)
def test_a_matrix_without_legs_or_with_too_many_is_refused(written: Any) -> None:
    with pytest.raises(ExpressionError):
        matrix.legs(written)


def _end(name: str, *results: Result, needs: tuple[str, ...] = (), tolerated: bool = False) -> JobEnd:
    legs = tuple(LegEnd(job=name, name=name, result=one, tolerated=tolerated) for one in results)
    return JobEnd(id=name, needs=needs, legs=legs)


@pytest.mark.parametrize(
    ("results", "tolerated", "result"),
    [
        ((Result.SUCCESS, Result.SUCCESS), False, Result.SUCCESS),
        ((Result.SUCCESS, Result.FAILURE), False, Result.FAILURE),
        ((Result.CANCELLED, Result.SUCCESS), False, Result.CANCELLED),
        ((Result.CANCELLED, Result.FAILURE), False, Result.FAILURE),
        ((Result.SKIPPED,), False, Result.SKIPPED),
        ((Result.FAILURE,), True, Result.SUCCESS),
    ],
)
def test_a_job_is_as_good_as_its_worst_leg(results: tuple[Result, ...], tolerated: bool, result: Result) -> None:
    assert _end("a", *results, tolerated=tolerated).result is result


def test_success_and_failure_look_all_the_way_up() -> None:
    ends = {
        "a": _end("a", Result.SKIPPED),
        "b": _end("b", Result.SUCCESS, needs=("a",)),
        "c": _end("c", Result.FAILURE),
        "d": _end("d", Result.SUCCESS, needs=("c",)),
        "e": _end("e", Result.SUCCESS),
    }

    def said(*needs: str) -> list[Any]:
        functions = of_jobs(needs, ends)
        return [functions[name]([]) for name in ("success", "failure", "always", "cancelled")]

    assert said("b") == [False, False, True, False]
    assert said("d") == [False, True, True, False]
    assert said("e") == [True, False, True, False]
    assert said() == [True, False, True, False]
