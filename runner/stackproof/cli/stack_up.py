"""`stackproof stack up NAME`: a run without tests that keeps its stack, in the foreground, until somebody ends it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module

import click

from stackproof import console
from stackproof.catalog.records import Catalog, StackMode
from stackproof.cli import completing
from stackproof.cli.cli_words import given, run_parameters
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import UsageError

_TAKEN = (
    "setup", "inference_mode", "recording_dir", "provider_service", "allow_record_in_ci", "env", "start_timeout",
    "text_model", "tool_model", "vision_model", "embedding_model", "embedding_dimension", "rerank_model",
    "safety_model", "judge_model", "pace", "chunk_fuzz", "debug",
)  # fmt: skip
"""What a stack by itself has of the options of a run."""

_OF_ITS_OWN = (StackMode.DOCKER, StackMode.SERVER)


@click.command(
    "up",
    params=[
        click.Argument(["name"], shell_complete=completing.standing_stack, metavar="NAME"),
        *(option for option in run_parameters() if option.name in _TAKEN),
    ],
)
@click.pass_context
def up(ctx: click.Context, /, name: str, **_: object) -> int:
    """Start a stack as a run would, print its address, and take it down at Ctrl-C.

    NAME is docker:NAME or server:NAME; without the mode it is a container where the stack runs in one.
    """
    from stackproof import catalog, environment, options, plan, plan_text  # noqa: PLC0415

    around: Surroundings = ctx.obj
    known = catalog.load(around.project)
    asked = {key: value for key, value in given(ctx).items() if key != "pytest_args"}
    chosen = options.resolve(
        {**asked, "stack_config": _config(name, known), "keep": True}, around.environ, around.project
    )
    chosen = replace(chosen, tests=False, program=" ".join(["stackproof stack up", name, *_words(ctx)]))
    run_id = import_module("stackproof.run.rundir").new_run_id(around.project)
    planned = plan.make(chosen, known, around.project, run_id, caller=around.environ)
    if len(planned.cells) != 1:
        raise UsageError(
            f"stackproof stack up starts one stack with one setup, not {len(planned.cells)}",
            hint="name the setup with --setup NAME",
        )
    environment.of_cells(planned, around.environ)
    (cell,) = planned.cells
    for line in plan_text.lines(planned):
        # The suite only lends its setup and its rules.
        if line.startswith("  stack "):
            console.out(f"  stack  {cell.stack_config} with setup {cell.setup.name}")
        elif not line.startswith(("  suite ", "  setup ")):
            console.out(line)
    return int(import_module("stackproof.run.orchestrate").execute(planned).exit_code)


def _config(name: str, known: Catalog) -> str:
    """What --stack-config would be."""
    mode, colon, plain = name.partition(":")
    stack = known.stack(plain if colon else name)
    offered = [each for each in _OF_ITS_OWN if each in stack.modes]
    there = [f"{each.value}:{stack.name}" for each in offered]
    if not colon and there:
        return there[0]
    if name not in there:
        shown = f"as {mode!r}" if colon else "by itself"
        raise UsageError(
            f"stack {stack.name!r} cannot be kept up {shown}: only a container or a server can",
            hint=f"it can be {' or '.join(there)}" if there else f"its modes are in {stack.source}",
        )
    return name


def _words(ctx: click.Context) -> Iterator[str]:
    """The options as they were given, for the line that starts the same again; values of --env may be secrets."""
    for option in ctx.command.params:
        if not isinstance(option, click.Option) or option.name is None:
            continue
        if ctx.get_parameter_source(option.name) is not click.core.ParameterSource.COMMANDLINE:
            continue
        value = ctx.params[option.name]
        for item in value if isinstance(value, tuple) else (value,):
            yield option.opts[-1]
            if not option.is_flag:
                yield f"{item.partition('=')[0]}=…" if option.name == "env" else shlex.quote(str(item))
