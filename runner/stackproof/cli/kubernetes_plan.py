"""`stackproof plan … --format kubernetes`: its options, and what it prints for a lane or for a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from stackproof import console
from stackproof.cli.cli_words import run_parameters
from stackproof.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from stackproof.cli.surroundings import Surroundings
    from stackproof.lanes.records import Lane

Command = TypeVar("Command", bound=Callable[..., Any])

FORMAT = "kubernetes"
# Of `stackproof run`: what a plan without a lane is of.
_OF_A_RUN = ("suite", "setup", "stack_config", "file", "subdirs", "pattern", "together", "inference_mode", "env")
_OF_A_JOB = (
    click.Option(["--image"], metavar="REF@sha256:…", help="The image that the pods run, by digest."),
    click.Option(["--claim"], metavar="NAME", help="The PersistentVolumeClaim that evidence goes to."),
    click.Option(["--namespace"], metavar="NAME", help="Of the Job. Default: kubectl's."),
    click.Option(
        ["--secret"],
        metavar="NAME|VARIABLE=NAME/KEY",
        multiple=True,
        help="The Secret that has the variables of real calls, all or one of them. May be repeated.",
    ),
    click.Option(
        ["--parallelism"], type=click.IntRange(min=1), metavar="N", help="Pods at a time. Default: all of them."
    ),
    click.Option(
        ["--minutes"],
        type=click.IntRange(min=1, max=10_000),
        metavar="N",
        help="Minutes that a shard may take. Default: the lane's timeout, else 30.",
    ),
    click.Option(
        ["--retries"],
        type=click.IntRange(min=0, max=10),
        default=2,
        metavar="N",
        help="Further tries of a shard whose pod failed; tests that fail are no such failure. Default: 2.",
    ),
    click.Option(["--cpu"], default="1", metavar="QUANTITY", help="Of each pod. Default: 1."),
    click.Option(["--memory"], default="2Gi", metavar="QUANTITY", help="Of each pod. Default: 2Gi."),
    click.Option(["--disk"], default="2Gi", metavar="QUANTITY", help="Of each pod. Default: 2Gi."),
)
_JOB = tuple(str(option.name) for option in _OF_A_JOB)


class PlanCommand(click.Command):
    """`plan`: what is for this format alone comes last, under headings of its own."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One heading for each part."""
        options = (each for each in self.get_params(ctx) if isinstance(each, click.Option))
        records = {each.name: each.get_help_record(ctx) for each in options}
        own = [record for name, record in records.items() if name not in (*_OF_A_RUN, *_JOB)]
        for heading, rows in (
            ("Options", own),
            (f"For --format {FORMAT}", [records[name] for name in _JOB]),
            (f"For --format {FORMAT} without a lane, as of stackproof run", [records[name] for name in _OF_A_RUN]),
        ):
            with formatter.section(heading):
                formatter.write_dl([row for row in rows if row is not None])


def parameters() -> list[click.Parameter]:
    """The options that `plan` has for this format alone."""
    run = {parameter.name: parameter for parameter in run_parameters()}
    words = click.Argument(["pytest_args"], nargs=-1, type=click.UNPROCESSED, metavar="[-- PYTEST ARGUMENTS]")
    return [*(run[name] for name in _OF_A_RUN), *_OF_A_JOB, words]


def refuse_elsewhere(ctx: click.Context) -> None:
    """UsageError for an option of this format where another one was asked for."""
    given = [name for name in (*_OF_A_RUN, *_JOB) if _is_given(ctx, name)]
    if given:
        flag = f"--{given[0].replace('_', '-')}"
        raise UsageError(
            f"{flag} is for --format {FORMAT} alone",
            hint=f"add --format {FORMAT}; stackproof run --dry-run plans a command line",
        )
    if ctx.params["pytest_args"]:
        raise UsageError(
            f"unexpected argument {ctx.params['pytest_args'][0]!r}",
            hint=f"only a plan with --format {FORMAT} takes arguments for pytest, behind '--'",
        )


def show(
    ctx: click.Context, around: Surroundings, *, lane: Lane | None, shards: int | None, timings: Sequence[str]
) -> int:
    """Print the manifest for a lane, or for the run that the other options describe."""
    from stackproof.cli import kubernetes_order  # noqa: PLC0415 - what the other formats do without
    from stackproof.shards import kubernetes  # noqa: PLC0415

    if shards is None and lane is not None and lane.shards > 1:
        shards = lane.shards
    if shards is None:
        raise UsageError(f"--format {FORMAT} needs --shards, the number of pods", hint="for example --shards 8")
    for path in timings:
        _require_in_image(path, around.project)
    values = ctx.params
    asked = kubernetes_order.Asked(
        shards=shards,
        image=values["image"],
        claim=values["claim"],
        namespace=values["namespace"],
        secrets=values["secret"],
        parallelism=values["parallelism"],
        minutes=values["minutes"],
        retries=values["retries"],
        resources=kubernetes.Resources(cpu=values["cpu"], memory=values["memory"], disk=values["disk"]),
    )
    if lane is None:
        order = kubernetes_order.of_run(asked, _planned(ctx, around, timings))
    else:
        also = [name for name in _OF_A_RUN if _is_given(ctx, name)]
        if also or values["pytest_args"]:
            what = f"--{also[0].replace('_', '-')}" if also else "an argument of pytest"
            raise UsageError(f"--lane says what runs, and so does {what}", hint=f"leave out --lane, or {what}")
        order = kubernetes_order.of_lane(asked, lane, timings)
    console.out(kubernetes.manifest(order).rstrip("\n"))
    return ExitCode.PASS


def _require_in_image(path: str, project: Path) -> None:
    """The pods have what is in the image, and that is what Git keeps."""
    from stackproof.evidence import git  # noqa: PLC0415

    place = (project / path).resolve()
    kept = git.tracked(project)
    there = place.exists() if kept is None else any(file.resolve().is_relative_to(place) for file in kept)
    if not (there and place.is_relative_to(project.resolve())) or Path(path).is_absolute():
        raise UsageError(
            f"--timings: {path} will not be in the image, which holds the files that Git keeps",
            hint="`stackproof timings --output ci/timings.json` writes one to commit",
        )


def _planned(ctx: click.Context, around: Surroundings, timings: Sequence[str]) -> Any:
    from stackproof import options, plan  # noqa: PLC0415

    given: dict[str, object] = {name: ctx.params[name] for name in _OF_A_RUN if _is_given(ctx, name)}
    if timings:
        given["timings"] = tuple(timings)
    chosen = options.resolve({**given, "pytest_args": ctx.params["pytest_args"]}, around.environ, around.project)
    return plan.make(chosen, around.catalog(), around.project, "000000", caller=around.environ)


def _is_given(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
