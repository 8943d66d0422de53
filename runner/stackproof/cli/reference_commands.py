"""The page `docs/reference/commands.md`: every command as its `--help` has it, from the tree of commands."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from stackproof.cli import examples
from stackproof.cli.help_pages import in_words
from stackproof.cli.main import cli
from stackproof.cli.tree import Node, walk
from stackproof.errors import ExitCode
from stackproof.file_schemas.pages import table

_HEAD = """# Commands

{generated}

What `stackproof … --help` says, of all commands. An option in brackets may be left out, `…` stands for several. Every
command takes `-h` and `--help`; those with `--json` print one JSON document and nothing else. On a terminal
that is too narrow a line goes on below, between two words, and a command that is printed stays whole; in a pipe, a file
and a CI log each line is one. A shell completes all of it: [Completion](../how-to/completion.md).
"""
_CODES = {
    ExitCode.PASS: "it did what it was asked; of a verdict: PASS",
    ExitCode.TESTS: "tests failed, or a check found something; of a verdict: FAIL",
    ExitCode.USAGE: "a wrong command line, option or file of the project; nothing was started",
    ExitCode.NOTHING_RAN: "no test ran",
    ExitCode.DOCKER: "the Docker engine is not there, or refused",
    ExitCode.STACK_START: "a stack or a service did not start",
    ExitCode.RECORDINGS: "recordings are missing, unused or damaged, with `--strict`; or something is wrong with them",
    ExitCode.NOT_PROVEN: "there is no evidence for something that is asked for; of a verdict: NOT PROVEN",
    ExitCode.INTERNAL: "a fault of Stackproof itself; the message names the file with its traceback",
    ExitCode.DISK: "a file could not be kept: no room, a used-up quota, read-only, or closed to this user",
    ExitCode.SIGINT: "interrupted (Ctrl-C)",
    ExitCode.SIGTERM: "ended by SIGTERM",
}
_ELSEWHERE = {
    "run": "Its options, each with its variable and its key in `pyproject.toml`, are on a page of their own: "
    "[Options](options.md)."
}


def page(generated: str) -> str:
    """The page in Markdown. generated: the line that says where it comes from."""
    nodes = [node for node in walk(cli) if node.path]
    codes = table(("exit code", "meaning"), [(f"`{int(code)}`", _CODES[code]) for code in ExitCode])
    parts = [_HEAD.format(generated=generated.strip()), _contents(nodes), "## Exit codes", codes]
    for node in nodes:
        parts += _section(node)
    return "\n\n".join(part.rstrip() for part in parts if part.strip()) + "\n"


def _contents(nodes: list[Node]) -> str:
    rows = [
        (f"[`{' '.join(node.path)}`](#stackproof-{'-'.join(node.path)})", _plain(node.command.get_short_help_str(1000)))
        for node in nodes
    ]
    return table(("command", "what it does"), rows)


def _section(node: Node) -> Iterator[str]:
    name = " ".join(node.path)
    yield f"## `stackproof {name}`"
    yield from _text(node.command.help or "")
    yield f"`{' '.join(['stackproof', name, *node.command.collect_usage_pieces(node.context)]).strip()}`"
    if name in _ELSEWHERE:
        yield _ELSEWHERE[name]
    elif rows := [record for param in _options(node) if (record := param.get_help_record(node.context))]:
        yield table(("option", "meaning"), [(f"`{left}`", _plain(in_words(right))) for left, right in rows])
    if node.command.epilog:
        yield from _text(node.command.epilog)
    yield _as_it_is(examples.of(name))


def _options(node: Node) -> list[click.Option]:
    """Those of its own: `--help` is everywhere."""
    return [param for param in node.command.params if isinstance(param, click.Option)]


def _text(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        first, _, rest = paragraph.partition("\n")
        # click's mark for lines that stay as they are; codes fit a line better where lines are long.
        stays = first.strip() == "\b" and not rest.startswith("Exit codes")
        yield _as_it_is(rest) if stays else _plain(paragraph.removeprefix("\b"))


def _plain(text: str) -> str:
    return re.sub(r"([*<])", r"\\\1", " ".join(text.split()))


def _as_it_is(text: str) -> str:
    # By indentation: a fenced block is for something to be tried.
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())
