"""The examples in `--help`: each command has one, and what stands there can be typed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest

from stackproof import catalog, options
from stackproof.catalog.records import Catalog
from stackproof.cli import examples, main, tree
from stackproof.cli.cli_words import PYTEST_ARGS, given
from stackproof.cli.example_table import EXAMPLES
from stackproof.cli.main import Surroundings
from stackproof.cli.sentences import SENTENCES
from stackproof.lanes import read as lanes
from stackproof.option_table import BY_NAME

ROOT = Path(__file__).parents[3]
NODES = {" ".join(node.path): node for node in tree.walk(main.cli)}
COMMANDS = sorted({line for path in NODES for line in examples.commands(path)})


def parsed(line: str) -> Iterator[click.Context]:
    """The contexts of a command line, from `stackproof` down, as click makes them before anything is invoked."""
    words = shlex.split(line)
    while "=" in words[0]:
        words.pop(0)
    assert words.pop(0) == "stackproof"
    around = Surroundings(environ={}, project=ROOT)
    context = main.cli.make_context("stackproof", words, obj=around)
    yield context
    while isinstance(context.command, click.Group):
        rest = [*context._protected_args, *context.args]
        if not rest:
            assert context.command.invoke_without_command
            return
        name, command, rest = context.command.resolve_command(context, rest)
        assert command is not None
        context = command.make_context(name, rest, parent=context)
        yield context


@pytest.fixture(name="known", scope="module")
def _known() -> Catalog:
    return catalog.load(ROOT)


@pytest.fixture(name="lane_names", scope="module")
def _lane_names(known: Catalog) -> list[str]:
    return list(lanes.load(ROOT, known=known).lanes)


@pytest.mark.parametrize("path", NODES)
def test_every_command_shows_an_example_at_the_end_of_its_help(path: str) -> None:
    node = NODES[path]
    shown = node.command.get_help(node.context).rpartition(f"\n{examples.HEADING}:\n")[2]
    assert [line.removeprefix("  ") for line in shown.splitlines()] == examples.of(path).splitlines()
    # A group shows what is in it; everything else shows itself.
    own = [" ".join(context.info_name or "" for context in parsed(line)) for line in examples.commands(path)]
    assert own
    assert all(f"{each} ".startswith(f"stackproof {path} " if path else "stackproof ") for each in own)


def test_no_example_is_left_of_a_command_that_is_gone() -> None:
    assert sorted(EXAMPLES) == sorted(NODES)


@pytest.mark.parametrize("path", EXAMPLES)
def test_examples_have_one_form_and_fit_a_terminal(path: str) -> None:
    lines = examples.of(path).splitlines()
    assert all(len(line) <= 76 for line in lines), max(lines, key=len)
    assert lines[0].startswith("# ")
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("#"):
            assert line[2:3].isupper()
            assert not line.endswith(".")
            assert not after.startswith("#")
            assert after
    assert len(examples.commands(path)) <= 3


@pytest.mark.parametrize("line", COMMANDS)
def test_example_is_a_command_line_that_its_command_takes(line: str, known: Catalog, lane_names: list[str]) -> None:
    (*_, context) = parsed(line)
    if context.command_path == "stackproof typecheck":
        # What mypy takes is mypy's affair.
        assert context.params["arguments"] in ((), ("--strict", "runner"))
    if options_of_a_run := {key: value for key, value in given_of(context).items() if key != "pytest_args"}:
        options.resolve(options_of_a_run, {}, ROOT)
    named(context, known, lane_names)


def given_of(context: click.Context) -> Mapping[str, object]:
    """What is given of the options of a run, for the commands that take them."""
    of_a_run = {"run", "edge", "up"}
    return given(context) if context.command.name in of_a_run else {}


def named(context: click.Context, known: Catalog, lane_names: list[str]) -> None:
    """Names of suites, setups, stacks, lanes and services are real ones."""
    for name, value in context.params.items():
        values = [
            part
            for item in (value if isinstance(value, tuple) else (value,))
            if isinstance(item, str)
            for part in item.split(",")
        ]
        for each in values:
            if name in ("setup", "setups"):
                known.setup(each)
            elif name == "suite":
                known.suite(each)
            elif name == "stack_config":
                known.stack(each.partition(":")[2])
            elif name == "provider_service":
                assert each.removeprefix("docker:") in known.services
    if context.command_path.startswith("stackproof lane "):
        assert context.params.get("name", "library") in lane_names
    if context.command_path == "stackproof plan":
        assert context.params["name"] in lane_names


def test_arguments_behind_two_dashes_reach_pytest() -> None:
    (*_, context) = parsed("stackproof run --file tests/test_a.py -- -x --pdb")
    assert context.meta[PYTEST_ARGS] == ("-x", "--pdb")
    assert BY_NAME["file"].flag == "--file"


def test_sentences_that_are_kept_are_those_of_the_commands() -> None:
    elsewhere = {
        " ".join(node.path): node.command.get_short_help_str(limit=1000)
        for node in NODES.values()
        if node.path and node.path[-1] in getattr(NODES[" ".join(node.path[:-1])].command, "elsewhere", {})
    }
    assert elsewhere == SENTENCES
