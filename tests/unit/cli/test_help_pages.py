"""What every `--help` has in common, so that who knows one page knows them all."""

from __future__ import annotations

import re

import click
import pytest

from stackproof.cli import main, tree
from stackproof.cli.cli_words import CommandGroup
from stackproof.cli.help_pages import in_words

NODES = {" ".join(["stackproof", *node.path]): node for node in tree.walk(main.cli)}
OPTIONS = {
    f"{path} {param.opts[-1]}": (param, node.context)
    for path, node in NODES.items()
    for param in node.command.params
    if isinstance(param, click.Option)
}


@pytest.mark.parametrize("path", NODES)
def test_a_page_begins_with_a_sentence_and_fits_a_terminal(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    node = NODES[path]
    first, _, _ = (node.command.help or "").strip().partition("\n\n")
    assert re.fullmatch(r"[A-Z][^:]*.*\.", " ".join(first.split()))
    assert first.count(". ") == 0
    assert "RUN" not in first
    lines = node.command.get_help(node.context).splitlines()
    assert max(map(len, lines)) <= 80, max(lines, key=len)
    # A word that goes on in the next line cannot be searched for.
    options = [line for line in lines[lines.index("Options:") if "Options:" in lines else 0 :] if line.startswith(" ")]
    assert not [line for line in options if re.search(r"\w-$", line)]
    assert not re.search(r"\[(\d+<=)?x[<>]=", "\n".join(lines)), "a range is told in words"
    assert node.context.help_option_names == ["-h", "--help"]


@pytest.mark.parametrize("path", OPTIONS)
def test_an_option_is_told_in_sentences_and_its_default_last(path: str) -> None:
    param, context = OPTIONS[path]
    record = param.get_help_record(context)
    assert record is not None
    left, right = record
    said = re.sub(r"\s+\[.*\]$", "", right)
    assert said.endswith(".")
    assert said[0].isupper() or said.startswith(("--", "`"))
    assert "(default" not in said
    assert "[default" not in right
    assert "INTEGER" not in left
    if param.multiple:
        assert "epeated" in said
        assert "Repeatable" not in said
    if isinstance(param.type, click.Choice):
        choices = [str(choice) for choice in param.type.choices]
        assert f" {'|'.join(choices)}" in left or f": {', '.join(choices)}." in said or "as of --only" in said


def test_json_is_the_same_everywhere() -> None:
    told = {param.help for path, (param, _) in OPTIONS.items() if path.endswith(" --json")}
    assert told == {"Print JSON and nothing else."}


@pytest.mark.parametrize("path", NODES)
def test_several_values_are_written_with_one_mark(path: str) -> None:
    node = NODES[path]
    assert "..." not in " ".join(node.command.collect_usage_pieces(node.context)).replace("[ARGS]...", "")


def test_a_page_is_as_wide_as_the_terminal_and_never_wider_than_100(monkeypatch: pytest.MonkeyPatch) -> None:
    node = NODES["stackproof run"]
    monkeypatch.setenv("COLUMNS", "300")
    assert 90 < max(map(len, node.command.get_help(node.context).splitlines())) <= 100


def test_every_command_of_the_root_has_its_place_below_a_heading() -> None:
    root = NODES["stackproof"]
    assert isinstance(root.command, CommandGroup)
    listed = [name for names in root.command.sections.values() for name in names]
    assert sorted(listed) == root.command.list_commands(root.context)
    assert "Commands:" not in root.command.get_help(root.context)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("How many.  [x>=1]", "How many. At least 1."),
        ("How many. Default: 2.  [0<=x<=10]", "How many. From 0 to 10. Default: 2."),
        ("How old. Default: 50.  [x>=0]", "How old. Default: 50."),
        ("Which [of them].", "Which [of them]."),
    ],
)
def test_a_range_is_a_sentence(text: str, told: str) -> None:
    assert in_words(text) == told
