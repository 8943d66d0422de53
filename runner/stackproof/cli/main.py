"""The `stackproof` command. `entry` prints and exits; everything below it returns an exit code or raises.

Modules that are slow to import are imported by the command that needs them.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from stackproof import console, disk
from stackproof.ci import guard
from stackproof.cli import completing, examples, help_pages, version
from stackproof.cli.cli_words import CommandGroup, RunCommand, given, json_option, run_parameters, usage_error
from stackproof.errors import ExitCode, StackproofError, UsageError, lacking_posix
from stackproof.option_values import truthy

if TYPE_CHECKING:
    from stackproof.catalog.records import Catalog
    from stackproof.plan import Plan


@dataclass(frozen=True, kw_only=True, slots=True)
class Surroundings:
    """What a command may know of the world: the caller's environment and the project's folder."""

    environ: Mapping[str, str]
    project: Path

    def catalog(self) -> Catalog:
        """Everything that can be named, built-in and the project's own."""
        from stackproof import catalog  # noqa: PLC0415

        return catalog.load(self.project)


def entry() -> NoReturn:
    """The console script."""
    console.open_streams()
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows a question mark instead of ending the run.
        getattr(stream, "reconfigure", lambda **_: None)(errors="replace")
    try:
        project = Path.cwd()
    except FileNotFoundError:
        hint = "cd into a folder that is there, or once more into the one that was made anew"
        console.show_error(UsageError("the working folder was removed", hint=hint))
        sys.exit(ExitCode.USAGE)
    sys.exit(main(sys.argv[1:], environ=os.environ, project=project))


def main(argv: Sequence[str], *, environ: Mapping[str, str], project: Path) -> int:
    """Run one command and return its exit code; errors are printed on standard error."""
    if completing.VARIABLE in environ:
        return _complete(environ, project)
    with guard.guarded(environ):
        return _run(argv, environ, project)


def _complete(environ: Mapping[str, str], project: Path) -> int:
    """Answer the script of a shell in place of running a command."""
    from stackproof.cli import shells  # noqa: PLC0415

    answer = shells.answer(cli, Surroundings(environ=environ, project=project), environ)
    if answer:
        with contextlib.suppress(BrokenPipeError):
            console.out(answer)
    return ExitCode.PASS if answer is not None else ExitCode.USAGE


def _run(argv: Sequence[str], environ: Mapping[str, str], project: Path) -> int:
    around = Surroundings(environ=environ, project=project)
    try:
        result = cli.main(args=list(argv), prog_name="stackproof", standalone_mode=False, obj=around)
    except (KeyboardInterrupt, click.Abort):
        return ExitCode.SIGINT
    except Exception as error:  # noqa: BLE001 - the outermost place: whatever it is, it must not look like failed tests
        debug = truthy(environ.get("STACKPROOF_DEBUG")) or "--debug" in argv
        with _covered(environ):
            return _explain(error, project=project, debug=debug)
    return result if isinstance(result, int) else ExitCode.PASS


def _covered(environ: Mapping[str, str]) -> contextlib.AbstractContextManager[Any]:
    """Standard error without the secrets of the environment: an error may be made of what somebody answered."""
    from stackproof import secret_values  # noqa: PLC0415 - only where something went wrong
    from stackproof.live import scrub  # noqa: PLC0415

    stream: Any = scrub.Concealing(sys.stderr, secret_values.known((), environ))
    return contextlib.redirect_stderr(stream)


def _explain(error: Exception, *, project: Path, debug: bool) -> ExitCode:
    match error:
        case click.exceptions.NoArgsIsHelpError():
            try:
                console.out(error.format_message())
            except BrokenPipeError:  # nobody listens; nothing may be written there at exit either
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return ExitCode.USAGE
        case click.UsageError():
            error = usage_error(error)
        case StackproofError():
            pass
        case OSError() if not debug and (told := disk.refusal(error, near=project / ".stackproof")):
            error = told
        case ImportError() if lacks := lacking_posix(error):
            error = lacks
        case _:
            return console.show_unexpected(error, project=project, debug=debug)
    console.show_error(error)
    return error.exit_code


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": help_pages.WIDEST},
    sections={
        "Begin here": ("init", "doctor", "docs", "completion"),
        "Run tests, record and replay": ("run", "recordings", "suites", "setups", "stacks", "stack"),
        "Prove a release": ("verify-release", "verdict", "policy", "claims", "typecheck", "benchmark"),
        "In CI": ("lane", "plan", "timings"),
        "Make real calls": ("smoke", "freshness", "drift"),
        "Without a run": ("edge", "exec", "trace"),
    },
    elsewhere={
        "claims": "stackproof.cli.claims_cli:claims",
        "completion": "stackproof.cli.completion_cli:completion",
        "docs": "stackproof.cli.docs_cli:docs",
        "doctor": "stackproof.cli.doctor_cli:doctor",
        "drift": "stackproof.cli.drift_cli:command",
        "edge": "stackproof.cli.edge_cli:edge",
        "freshness": "stackproof.cli.freshness_cli:freshness",
        "init": "stackproof.cli.init_cli:init",
        "lane": "stackproof.cli.lane_cli:lane",
        "plan": "stackproof.cli.lane_plan_cli:plan",
        "policy": "stackproof.cli.policy_cli:policy",
        "recordings": "stackproof.cli.recordings_cli:recordings",
        "smoke": "stackproof.cli.smoke_cli:smoke",
        "stack": "stackproof.cli.stack_cli:stack",
        "timings": "stackproof.cli.timings_cli:command",
        "trace": "stackproof.cli.trace_cli:trace",
        "verdict": "stackproof.cli.policy_cli:verdict",
    },
)
@version.option
def cli() -> None:
    """Prove that software on top of language models is fit to release."""


examples.put(cli, "")


@cli.command(
    "run",
    cls=RunCommand,
    params=list(run_parameters()),
    epilog="Every value may also come from a variable (STACKPROOF_SETUP for --setup) or from [tool.stackproof] in "
    "pyproject.toml (setup); the command line wins over the variable, the variable over the file.",
)
@click.pass_context
def run(ctx: click.Context, /, **_: object) -> int:
    """Start a stack and run test suites against it.

    Every provider call is recorded, or replayed from a recording.
    """
    from stackproof import environment, options, plan, plan_text  # noqa: PLC0415

    around: Surroundings = ctx.obj
    chosen = options.resolve(given(ctx), around.environ, around.project)
    run_id = import_module("stackproof.run.rundir").new_run_id(around.project)
    planned = plan.make(chosen, around.catalog(), around.project, run_id, caller=around.environ)
    variables = environment.of_cells(planned, around.environ)
    if chosen.print_env:
        _print_environments(planned, variables)
        return ExitCode.PASS
    form = "json" if chosen.json else chosen.format
    if chosen.dry_run:
        match form:
            case "json":
                console.out(plan_text.as_json(planned))
            case "github-matrix":
                console.out(plan_text.as_github_matrix(planned))
            case "gitlab":
                console.out(plan_text.as_gitlab(planned).rstrip())
            case _:
                for line in plan_text.lines(planned):
                    console.out(line)
        return ExitCode.PASS
    carry_out = import_module("stackproof.run_command").carry_out
    return int(carry_out(planned, around.environ, text=form == "text"))


@cli.command("exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument(
    "command", shell_complete=completing.files, nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND…", required=True
)
def exec_(command: tuple[str, ...]) -> int:
    """Become a Python program that has the recorder in it.

    What it does is in STACKPROOF_RECORDER, which a run sets for its stacks.
    """
    return int(import_module("stackproof.recorder.serve.exec_").main(list(command)) or 0)


@cli.command(
    "typecheck",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    options_metavar="",
)
@click.argument("arguments", shell_complete=completing.files, nargs=-1, type=click.UNPROCESSED, metavar="[PATH…]")
@click.pass_obj
def typecheck(around: Surroundings, arguments: tuple[str, ...]) -> int:
    """Run mypy and keep what it said as evidence.

    Paths and options are mypy's own; without any it takes what the project's configuration of mypy names.
    """
    return int(import_module("stackproof.checks.typecheck").run(around.project, list(arguments)))


@cli.command("benchmark")
@click.option("--full", is_flag=True, help="Time the recorder's own turns alone, many of them.")
@click.option(
    "--baseline",
    shell_complete=completing.files,
    metavar="FILE",
    help="Compare with the times of an older run. Default: ci/baseline.json, where there is one.",
)
@click.pass_obj
def benchmark(around: Surroundings, full: bool, baseline: str | None) -> int:
    """Time offline turns and keep the times as evidence.

    Measured is what the policy names, else the benchmarks of the project's stacks, else the recorder's own turns.
    """
    words = [*(["--full"] if full else []), *([] if baseline is None else ["--baseline", baseline])]
    return int(import_module("stackproof.checks.benchmark").run(around.project, words))


@cli.command("verify-release")
@click.option("--cells-at-once", metavar="N", help="Run so many cells side by side. Default: 1.")
@click.option(
    "--claim",
    "claims",
    shell_complete=completing.claim,
    metavar="NAME",
    multiple=True,
    help="Run the tests of this claim alone. May be repeated.",
)
@click.argument("more", nargs=-1, metavar="")
@json_option
@click.pass_obj
def verify_release(
    around: Surroundings, cells_at_once: str | None, claims: tuple[str, ...], more: tuple[str, ...], as_json: bool
) -> int:
    """Run all that the policy lists and give one verdict.

    The policy is ci/release.yaml.

    \b
    Exit codes: 0 PASS; 1 FAIL; 7 NOT PROVEN.
    """
    words = [*([] if cells_at_once is None else ["--cells-at-once", cells_at_once]), *(["--json"] if as_json else [])]
    if claims and words:
        raise UsageError(
            f"--claim runs the tests of claims alone, and gives no verdict that {words[0]} could be about",
            hint=f"leave {words[0]} out",
        )
    # Further claims may stand behind the first one without a word before them.
    return int(
        import_module("stackproof.release").main(
            around.project, ["--claim", *claims, *more] if claims else [*words, *more]
        )
    )


@cli.group("setups", cls=CommandGroup, invoke_without_command=True)
@json_option
@click.pass_context
def setups(ctx: click.Context, as_json: bool) -> None:
    """List the named environments."""
    from stackproof.cli import listing  # noqa: PLC0415

    if ctx.invoked_subcommand is None:
        listing.setups(ctx.obj.catalog(), as_json=as_json, environ=ctx.obj.environ)


@setups.command("show")
@click.argument("name", shell_complete=completing.setup)
@json_option
@click.pass_obj
def show(around: Surroundings, name: str, as_json: bool) -> None:
    """Show one setup in full: variables, models, providers, and the secrets it needs."""
    from stackproof.cli import listing  # noqa: PLC0415

    listing.show_setup(around.catalog().setup(name), as_json=as_json, environ=around.environ)


@cli.command("stacks")
@json_option
@click.pass_obj
def stacks(around: Surroundings, as_json: bool) -> None:
    """List the software under test, and the provider services."""
    from stackproof.cli import listing  # noqa: PLC0415

    listing.stacks(around.catalog(), as_json=as_json, environ=around.environ)


@cli.command("suites")
@json_option
@click.pass_obj
def suites(around: Surroundings, as_json: bool) -> None:
    """List the sets of tests."""
    from stackproof.cli import listing  # noqa: PLC0415

    listing.suites(around.catalog(), as_json=as_json, environ=around.environ)


def _print_environments(planned: Plan, variables: Mapping[str, Any]) -> None:
    from stackproof.cli import listing  # noqa: PLC0415

    if planned.options.json:
        cells = {key: {"tests": env.shown(), "stack": env.shown(stack=True)} for key, env in variables.items()}
        listing.print_json({"schema": listing.SCHEMA, "cells": cells})
        return
    for cell in planned.cells:
        env = variables[cell.id]
        for who, values in (("tests", env.shown()), ("stack", env.shown(stack=True))):
            console.out(f"# {cell.title}: variables of the {who}; the address of the stack is known once it runs")
            for name, value in values.items():
                console.out(f"{name}={value}")
