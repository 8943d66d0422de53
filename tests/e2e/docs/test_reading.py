"""The runner of pages itself: what it takes for a block, for a command, for the same output, and for a mistake."""

from __future__ import annotations

import pytest
from tests.e2e.docs.blocks import Block
from tests.e2e.docs.command_lines import wrong
from tests.e2e.docs.fold import difference, folded
from tests.e2e.docs.spoken import strange


def block(text: str, language: str = "console") -> Block:
    return Block(page="docs/page.md", line=1, language=language, text=text)


def test_commands_and_their_output_are_told_apart() -> None:
    steps = block("$ first --long \\\n    word\none\ntwo\n$ second 'of\n$ two lines'\n$ third").steps()
    assert [step.command for step in steps] == ["first --long \\\n    word", "second 'of\n$ two lines'", "third"]
    assert [step.output for step in steps] == [("one", "two"), (), ()]


def test_what_is_no_terminal_has_no_commands() -> None:
    assert block("$ not_a_command", "yaml").steps() == ()


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("PASS  base in 8.3 s", "PASS  base in 1 min 12 s"),
        ("● ready in 1.9 s at http://127.0.0.1:57527", "● ready in 420 ms at http://127.0.0.1:1026"),
        ("from  recordings/ollama, 329 files, 1953 kB", "from  recordings/ollama, 1 files, 2.1 MB"),
        ("commit b0ececa, 2026-11-30 08:44", "commit facade, 2027-01-01 00:00"),
        ("2.4 of 900 s", "0.0 of 900 s"),
        ("12.5 of 900 kB", "0 of 900 kB"),
        ("name      size", "name  size"),
        ("any … of it", "any part of it"),
    ],
)
def test_what_is_another_each_time_is_no_difference(shown: str, printed: str) -> None:
    assert difference([shown], [printed]) == ""


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("0 missed, 0 unused", "3 missed, 0 unused"),
        ("74 passed, 1 skipped", "74 passed, 0 skipped"),
        ("1 of 60 requests", "0 of 60 requests"),
        ("PASS  base", "FAIL  base"),
        ("messages[0].content   sent \"Hello\"", "messages[0].content   sent \"Hi\""),
        ("a word", "a word more"),
    ],
)  # fmt: skip
def test_what_is_not_the_same_is_found(shown: str, printed: str) -> None:
    assert folded(printed) in difference([shown], [printed])


def test_lines_that_are_left_out_are_said_to_be() -> None:
    printed = ["first", "second", "third", "last"]
    assert difference(["first", "…", "last"], printed) == ""
    assert difference(["…", "third", "…"], printed) == ""
    assert difference(["first", "last"], printed) != ""
    assert difference(["first", "…", "third"], printed) != ""
    assert difference(["…", "third", "second", "…"], printed) != ""


def test_progress_is_left_out_of_both() -> None:
    shown = ["base 10/75  10 passed  2.2 s", "base 75/75  75 passed  3.7 s"]
    printed = ["nox > Running", "base 1/75  1 passed  1 s", "types: still running, 15 s", "base 75/75  75 passed  9 s"]
    assert difference(shown, printed) == ""


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("stackproof rnu", "no command 'rnu' of stackproof"),
        ("stackproof recordings lits --json", "no command 'lits' of stackproof recordings"),
        ("LLM_KEY=… stackproof run --sutie base", "stackproof run: No such option"),
        ("nox -s integration -- --suite bsae", "nothing is called 'bsae' (--suite)"),
        ("stackproof run --stack-config docker:refrence", "nothing is called 'refrence' (--stack-config)"),
        ("stackproof lane list --format xml", "'xml' is no choice of --format"),
        ("stackproof lane show one two", "two is too much"),
        ("nox -s integartion", "no session 'integartion' in noxfile.py"),
        ("python -m ci.rehearsal --jbo plan", "ci.rehearsal has no --jbo"),
    ],
)
def test_a_command_that_is_misspelt_is_found(line: str, told: str) -> None:
    assert any(told in each for each in wrong(line)), list(wrong(line))


@pytest.mark.parametrize(
    "line",
    [
        "stackproof lane list [--trigger T] [--format text|json|github-matrix|gitlab]",
        "OPENAI_API_KEY=… stackproof run --setup gpt --inference-mode record -- -x --lf",
        "nox -s integration -- --suite base,messages --stack-config server:reference    # both",
        "stackproof plan --lane NAME --shards 3, stackproof lane run NAME --shard 1/3   in several jobs",
    ],
)
def test_a_form_of_a_command_is_understood(line: str) -> None:
    assert list(wrong(line)) == []


def test_words_that_nobody_says_are_found() -> None:
    assert strange("the shard has gone fishing with somebody's aunt in a small red boat") != []
    assert strange("recordings: recordings/ollama is left as it was") == []
