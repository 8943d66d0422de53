"""Shows the examples of `example_table` at the end of a command's help."""

from __future__ import annotations

import inspect
from functools import partial

import click

from stackproof.cli.example_table import EXAMPLES
from stackproof.cli.help_pages import HelpContext

HEADING = "Examples"


def put(command: click.Command, path: str) -> click.Command:
    """The command, with its examples at the end of its help. path: its words below `stackproof`, '' for itself."""
    # Commands are of many classes; this is the one place that all of them pass.
    command.context_class = HelpContext
    text = of(path)
    if text:
        command.format_epilog = partial(_epilog, command, text)  # type: ignore[method-assign]
    return command


def of(path: str) -> str:
    """Lines to type, each below a line that begins with # and says what it does; '' where there are none."""
    return inspect.cleandoc(EXAMPLES.get(path, ""))


def commands(path: str) -> list[str]:
    """The lines to type alone, one command each, with what a backslash carries on in one line."""
    joined = of(path).replace("\\\n", " ")
    return [" ".join(line.split()) for line in joined.splitlines() if line and not line.startswith("#")]


def _epilog(command: click.Command, text: str, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    type(command).format_epilog(command, ctx, formatter)
    with formatter.section(HEADING):
        # Long lines stay whole: they are there to be copied.
        formatter.write("".join(f"{' ' * formatter.current_indent}{line}\n" for line in text.splitlines()))
