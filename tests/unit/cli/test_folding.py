"""Lines on a terminal that is too narrow for them: folded between words, and whole where they are copied."""

from __future__ import annotations

import pytest

from stackproof.folding import folded


def test_prose_goes_on_below_by_two_more_columns() -> None:
    text = "  make room there: runs in .stackproof/runs that are no longer needed may go"
    assert folded(text, width=60) == [
        "  make room there: runs in .stackproof/runs that are no",
        "    longer needed may go",
    ]
    assert folded(text, width=len(text)) == [text]


def test_a_command_is_never_broken_and_stands_alone_where_that_helps() -> None:
    command = "stackproof run --suite base --setup probe --stack-config x"
    assert folded(f"  again: {command}", width=66) == ["  again:", f"    {command}"]
    assert folded(f"  again: {command}", width=50) == [f"  again: {command}"]
    assert folded(f"  record what is missing, then verify again: A=1 {command}", width=66) == [
        "  record what is missing, then verify again:",
        f"    A=1 {command}",
    ]
    told = folded("– 3 were not observed and stay; `stackproof recordings check` says why", width=60)
    assert told == ["– 3 were not observed and stay;", "  `stackproof recordings check` says why"]


def test_no_line_is_a_mark_alone() -> None:
    test = "tests/integration/test_it.py::test_that_fails_with_a_message"
    assert folded(f"✗ {test}", width=60) == [f"✗ {test}"]
    assert folded(f"    nearest: recordings/probe/{'a' * 60}.json, same scope", width=60) == [
        f"    nearest: recordings/probe/{'a' * 60}.json,",
        "      same scope",
    ]


def test_what_pytest_marks_goes_on_behind_the_mark() -> None:
    assert folded("  E       AssertionError: what was answered is not what was asked for", width=60) == [
        "  E       AssertionError: what was answered is not what was",
        "            asked for",
    ]


def test_a_column_is_kept_while_there_is_room_beside_it() -> None:
    text = "  ✗ base × probe × library:tiny  1 passed, 2 failed, 1 skipped; first of all another one"
    wide, narrow = folded(text, width=80, hanging=33), folded(text, width=60, hanging=33)
    assert [len(line) - len(line.lstrip()) for line in wide] == [2, 33]
    assert [len(line) - len(line.lstrip()) for line in narrow] == [2, 6]


@pytest.mark.parametrize("width", [1, 20, 31])
def test_a_terminal_of_a_few_columns_breaks_lines_itself(width: int) -> None:
    text = "a line of some words that is wider"
    assert folded(text, width=width) == [text]


@pytest.mark.parametrize("width", [40, 60, 80, 100])
@pytest.mark.parametrize(
    "word", ["a", "tests/integration/test_it.py::test_a[x-1]", "–", "it's", "x" * 90, "'", "stackproof"]
)
def test_no_word_is_lost_or_cut(word: str, width: int) -> None:
    line = f"  {word} {'x' * 50} and {word} more words {word}"
    assert " ".join(folded(line, width=width)).split() == line.split()
