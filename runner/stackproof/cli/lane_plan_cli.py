"""`stackproof plan`: what a lane would run, whole or in shards, and nothing is run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from stackproof import console
from stackproof.cli import completing, kubernetes_plan
from stackproof.cli.cli_words import json_option
from stackproof.cli.lane_cli import FORMATS, again, lane_of
from stackproof.cli.listing import print_json
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import ExitCode, UsageError
from stackproof.lanes.records import Lane
from stackproof.shards.records import MOST

if TYPE_CHECKING:
    from stackproof.lanes.sharding import LanePlan


@click.command("plan", cls=kubernetes_plan.PlanCommand, params=kubernetes_plan.parameters())
@click.option("--lane", "name", shell_complete=completing.lane, metavar="NAME", help="Plan this lane.")
@click.option(
    "--shards", type=click.IntRange(min=1, max=MOST), metavar="N", help="Plan it in N jobs, each with a part of it."
)
@click.option(
    "--timings",
    shell_complete=completing.files,
    metavar="PATH",
    multiple=True,
    help="How long tests took before: a file of `stackproof timings`, run folders, or JUnit reports. May be repeated.",
)
@click.option("--tests", is_flag=True, help="With --shards and --format json: name the tests of each piece.")
@click.option(
    "--format",
    "form",
    type=click.Choice([*FORMATS, kubernetes_plan.FORMAT]),
    metavar="|".join([*FORMATS, kubernetes_plan.FORMAT]),
    default="text",
    help="How the plan is printed: for people, for machines, or as the input of a CI system. Default: text.",
)
@json_option
@click.pass_context
def plan(
    ctx: click.Context,
    /,
    name: str | None,
    shards: int | None,
    timings: tuple[str, ...],
    *,
    tests: bool,
    form: str,
    as_json: bool,
    **_: object,
) -> int:
    """Show what a lane would run, and run nothing.

    Without --shards: its cells, each with the command that runs it alone. With --shards: who runs what, and how long
    each is expected to take; `stackproof lane run NAME --shard 1/N` runs one of them. `stackproof run --dry-run` plans
    a command line. With --format kubernetes: the Job that runs the shards of a lane or, where no lane is named, of what
    the options of a run choose.
    """
    around: Surroundings = ctx.obj
    form = "json" if as_json else form
    if form == kubernetes_plan.FORMAT:
        lane = None if name is None else lane_of(around, name)
        return kubernetes_plan.show(ctx, around, lane=lane, shards=shards, timings=timings)
    kubernetes_plan.refuse_elsewhere(ctx)
    if name is None:
        raise UsageError("no lane is named", hint="name one with --lane NAME; `stackproof lane list` lists them")
    lane = lane_of(around, name)
    if shards is not None:
        if tests and form != "json":
            raise UsageError("--tests names the tests of each piece, in JSON", hint="add --format json")
        return _in_shards(around, lane, shards, timings, tests=tests, form=form)
    for flag, given in (("--timings", bool(timings)), ("--tests", tests)):
        if given:
            raise UsageError(f"{flag} is about a plan in shards, and none is asked for", hint="add --shards N")
    return _cells(around, lane, form)


def _in_shards(
    around: Surroundings, lane: Lane, shards: int, timings: tuple[str, ...], *, tests: bool, form: str
) -> int:
    from stackproof.lanes import ci, plan_told  # noqa: PLC0415

    made = plan_of(around, lane, shards, timings)
    starts = again(around.project)
    match form:
        case "json":
            print_json(plan_told.facts(made, tests=tests, again=starts))
        case "github-matrix":
            console.out(plan_told.as_github_matrix(made, starts))
        case "gitlab":
            console.out(ci.as_gitlab_shards(lane, shards, again=starts, more=made.words).rstrip())
        case _:
            for line in plan_told.lines(made):
                console.out(line)
    return ExitCode.PASS


def _cells(around: Surroundings, lane: Lane, form: str) -> int:
    from stackproof import plan_text  # noqa: PLC0415
    from stackproof.lanes import run as lanes_run  # noqa: PLC0415
    from stackproof.lanes import shown  # noqa: PLC0415
    from stackproof.run.rundir import new_run_id  # noqa: PLC0415

    variables = lanes_run.variables(lane, around.environ)
    plans = lanes_run.plans(lane, around.project, new_run_id(around.project), variables)
    match form:
        case "json":
            checks = [check.value for check in lane.checks]
            print_json({"schema": 1, "lane": lane.name, "checks": checks, "cells": plan_text.cells(*plans)})
        case "github-matrix":
            console.out(plan_text.as_github_matrix(*plans))
        case "gitlab":
            console.out(plan_text.as_gitlab(*plans).rstrip())
        case _:
            for line in shown.planned(lane, plan_text.cells(*plans)):
                console.out(line)
    return ExitCode.PASS


def plan_of(around: Surroundings, lane: Lane, shards: int, timings: Sequence[str]) -> LanePlan:
    """The plan of a lane; what could not be read of its timings goes to standard error."""
    from stackproof.lanes import run as lanes_run  # noqa: PLC0415
    from stackproof.lanes import sharding  # noqa: PLC0415

    variables = lanes_run.variables(lane, around.environ)
    made = sharding.planned(
        lane, shards, project=around.project, things=around.catalog(), environ=variables, timings=timings
    )
    for problem in made.problems:
        print(f"times: {problem}", file=sys.stderr)
    return made
