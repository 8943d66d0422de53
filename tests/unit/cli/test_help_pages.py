"""What every `--help` has in common, so that who knows one page knows them all."""

from __future__ import annotations

import re

import click
import pytest

from stackproof.cli import main, tree

NODES = {" ".join(["stackproof", *node.path]): node for node in tree.walk(main.cli)}
OPTIONS = {
    f"{path} {param.opts[-1]}": (param, node.context)
    for path, node in NODES.items()
    for param in node.command.params
    if isinstance(param, click.Option)
}


@pytest.mark.parametrize("path", NODES)
def test_a_page_begins_with_a_sentence_and_fits_a_terminal(path: str) -> None:
    node = NODES[path]
    first, _, _ = (node.command.help or "").strip().partition("\n\n")
    assert re.fullmatch(r"[A-Z][^:]*.*\.", " ".join(first.split()))
    assert first.count(". ") == 0
    assert "RUN" not in first
    lines = node.command.get_help(node.context).splitlines()
    assert max(map(len, lines)) <= 80, max(lines, key=len)
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
