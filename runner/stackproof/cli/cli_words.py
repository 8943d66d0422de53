"""How our commands read words: options from the table, `--` for pytest, and complaints in one sentence."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from stackproof.cli import completing, examples
from stackproof.cli.sentences import SENTENCES
from stackproof.errors import StackproofError, UsageError
from stackproof.option_kinds import Group, Kind, Option
from stackproof.option_table import OPTIONS
from stackproof.plaintext import number
from stackproof.suggest import did_you_mean, unknown

Command = TypeVar("Command", bound=Callable[..., Any])

PYTEST_ARGS = "stackproof.pytest_args"


def json_option(command: Command) -> Command:
    """`--json`, as every command has it that has facts to give: one JSON document on standard output."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")(command)


class CommandGroup(click.Group):
    """A group of commands that names the nearest one when a name is unknown.

    elsewhere: commands that live in modules which are slow to import, as `name -> module:attribute`.
    sections: headings of `--help`, with the commands below each; without them, one heading for all.
    """

    def __init__(
        self,
        *args: Any,
        elsewhere: Mapping[str, str] | None = None,
        sections: Mapping[str, Sequence[str]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.elsewhere = elsewhere or {}
        self.sections = sections or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, those of commands that are not imported yet too."""
        return sorted({*super().list_commands(ctx), *self.elsewhere})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name with its examples, imported now if it lives elsewhere."""
        if cmd_name in self.elsewhere:
            module, _, attribute = self.elsewhere[cmd_name].partition(":")
            command = getattr(import_module(module), attribute)
        else:
            command = super().get_command(ctx, cmd_name)
        return examples.put(command, _path(ctx, cmd_name)) if isinstance(command, click.Command) else None

    def sentence(self, ctx: click.Context, cmd_name: str) -> str:
        """What a command does, in one sentence; none is imported for it where `sentences` has it."""
        known = SENTENCES.get(_path(ctx, cmd_name)) if cmd_name in self.elsewhere else None
        command = self.get_command(ctx, cmd_name) if known is None else None
        return known or (command.get_short_help_str(limit=1000) if command is not None else "")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """As click's, without importing what is only named."""
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        offers = [CompletionItem(name, help=self.sentence(ctx, name)) for name in names]
        return [*offers, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As click's, which would cut a sentence at the end of its line: here it goes on in the next one."""
        names = self.list_commands(ctx)
        width = max(map(len, names), default=0)
        listed = {name for below in self.sections.values() for name in below}
        rest = [name for name in names if name not in listed]
        for heading, below in {**self.sections, "Commands" if not listed else "Other commands": rest}.items():
            if below:
                with formatter.section(heading):
                    formatter.write_dl([(name.ljust(width), self.sentence(ctx, name)) for name in below])

    def invoke(self, ctx: click.Context) -> object:
        """As click's, which would end a command whose reader has gone with 1, the code of failed tests."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            # Nothing may be written there any more, at exit neither.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise StackproofError("standard output was closed before everything was written") from error
        except click.UsageError as error:
            # click's parser does not say whose option it complains of.
            if error.ctx is None and ctx.invoked_subcommand:
                command = self.get_command(ctx, ctx.invoked_subcommand)
                if command is not None:
                    error.ctx = click.Context(command, info_name=ctx.invoked_subcommand, parent=ctx)
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, but an unknown name is a UsageError of ours."""
        name = args[0]
        if not ctx.resilient_parsing and not name.startswith("-") and self.get_command(ctx, name) is None:
            raise unknown("command", name, self.list_commands(ctx))
        return super().resolve_command(ctx, args)


def _path(ctx: click.Context, cmd_name: str) -> str:
    """A command's words below `stackproof`."""
    return " ".join([*ctx.command_path.split()[1:], cmd_name])


class PytestCommand(click.Command):
    """A command that hands what follows `--` to pytest untouched."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Set what follows the first `--` apart before click sees it."""
        if "--" in args:
            here = args.index("--")
            ctx.meta[PYTEST_ARGS] = tuple(args[here + 1 :])
            args = args[:here]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """As click's, but what pytest takes is not known here."""
        return [] if PYTEST_ARGS in ctx.meta else super().shell_complete(ctx, incomplete)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The usage line also tells of pytest's arguments."""
        return [*super().collect_usage_pieces(ctx), "[-- PYTEST ARGUMENTS]"]


class RunCommand(PytestCommand):
    """`run`: its options come from the table, each group of them under a heading of its own."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One heading for each group of the table."""
        records = {param.name: param.get_help_record(ctx) for param in self.get_params(ctx)}
        for group in Group:
            rows = [records.pop(option.name) for option in OPTIONS if option.group is group]
            with formatter.section(group.value):
                formatter.write_dl([row for row in rows if row is not None])
        with formatter.section("Other"):
            formatter.write_dl([row for row in records.values() if row is not None])


def run_parameters() -> Iterator[click.Parameter]:
    """click's options for `run`. Values stay text: `options.resolve` checks them the same for every source."""
    for option in OPTIONS:
        yield click.Option(
            _declaration(option),
            default=None,
            multiple=option.kind is Kind.TEXTS,
            is_flag=option.kind is Kind.FLAG,
            **_bare(option),
            type=None if option.kind is Kind.FLAG else str,
            metavar="|".join(option.choices) or option.metavar,
            shell_complete=completing.of_option(option),
            help=option.help + _default(option),
        )


def given(ctx: click.Context) -> dict[str, object]:
    """What stood on the command line of `run`, by option name, and nothing else."""
    values = {
        option.name: ctx.params[option.name]
        for option in OPTIONS
        if ctx.get_parameter_source(option.name) is click.core.ParameterSource.COMMANDLINE
    }
    return {**values, "pytest_args": ctx.meta.get(PYTEST_ARGS, ())}


def usage_error(error: click.UsageError) -> UsageError:
    """click's complaint as one sentence of ours."""
    path = error.ctx.command_path if error.ctx is not None else "stackproof"
    hint = f"{path} --help tells what there is"
    if isinstance(error, click.NoSuchOption):
        flags = [] if error.ctx is None else _flags(error.ctx)
        nearest = did_you_mean(error.option_name, flags)
        return UsageError(f"unknown option {error.option_name!r} of {path}{nearest}", hint=hint)
    if isinstance(error.ctx, click.Context) and isinstance(error.ctx.command, click.Group):
        # A group that is not one of ours: click's own sentence names the word in quotes.
        word = re.match(r"No such command '([^']+)'", error.message)
        if word is not None:
            return unknown("command", word[1], error.ctx.command.list_commands(error.ctx))
    # click lists the choices of an argument in lines of their own.
    text = (
        " ".join(error.format_message().split())
        .rstrip(".")
        .replace("is not a valid integer range", "is not a whole number")
    )
    if "unexpected extra argument" in text and path.endswith(" run"):
        hint = "arguments for pytest go behind '--'; tests are chosen with --file, --subdirs or --pattern"
    return UsageError(f"{path}: {text[:1].lower()}{text[1:]}", hint=hint)


def _flags(ctx: click.Context) -> list[str]:
    return [flag for param in ctx.command.get_params(ctx) for flag in (*param.opts, *param.secondary_opts)]


def _declaration(option: Option) -> list[str]:
    # A flag that a file or a variable may set needs a way to unset it.
    if option.kind is Kind.FLAG and option.anywhere:
        return [option.name, *option.flags[:-1], f"{option.flag}/--no-{option.flag[2:]}"]
    return [option.name, *option.flags]


def _bare(option: Option) -> dict[str, Any]:
    """Only for an option that may stand without a value: click takes any other word there for a switch."""
    return {} if option.bare is None else {"flag_value": option.bare}


def _default(option: Option) -> str:
    if option.default in (None, (), False):
        return ""
    shown = number(option.default) if isinstance(option.default, float) else option.default
    return f" Default: {shown}."
