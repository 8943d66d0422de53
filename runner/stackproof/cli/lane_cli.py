"""The commands `stackproof lane …`, as click objects that the command line registers."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stackproof import console, nox_sessions
from stackproof.cli import completing
from stackproof.cli.cli_words import CommandGroup, json_option
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import ExitCode, UsageError
from stackproof.lanes import ci, covered, read, shown
from stackproof.lanes.records import Lane, Matrix, Trigger
from stackproof.suggest import unknown
from stackproof.verdict import policy

if TYPE_CHECKING:
    from stackproof.lanes.sharding import Share

FORMATS = ("text", "json", "github-matrix", "gitlab")
_TRIGGERS = click.Choice([trigger.value for trigger in Trigger])
_TRIGGER_NAMES = "|".join(trigger.value for trigger in Trigger)


@click.group("lane", cls=CommandGroup)
def lane() -> None:
    """List, show and run the jobs of CI, which ci/matrix.yaml names."""


@lane.command("list")
@click.option("--trigger", type=_TRIGGERS, metavar=_TRIGGER_NAMES, help="Only lanes of this trigger.")
@click.option(
    "--label",
    "labels",
    metavar="LABEL",
    multiple=True,
    help="A label of the pull request; for a matrix. May be repeated.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    metavar="|".join(FORMATS),
    help="How lanes are printed: for people, for machines, as a matrix for GitHub Actions, as a child pipeline for "
    "GitLab. Default: text.",
)
@json_option
@click.pass_obj
def list_(around: Surroundings, trigger: str | None, labels: tuple[str, ...], form: str, as_json: bool) -> int:
    """List the lanes: when each runs, what it does, what it needs.

    A lane that waits for a label is in a matrix of pull_request only where the label is given. The pipeline for GitLab
    has it always, with a rule.
    """
    matrix = _matrix(around)
    form = "json" if as_json else form
    if form == "github-matrix" and trigger is not None:
        lanes = matrix.unasked(Trigger(trigger), labels)
    elif labels:
        raise UsageError(
            "--label says what is in a matrix of one trigger, and no such matrix is asked for",
            hint="add --trigger pull_request --format github-matrix, or leave it out",
        )
    else:
        lanes = matrix.of(None if trigger is None else Trigger(trigger))
    if form in ("github-matrix", "gitlab") and not lanes:
        # What follows would be skipped, or end with a message about vectors.
        raise UsageError(
            f"no lane runs at {trigger}, and neither GitHub nor GitLab takes that for jobs",
            hint=f"give a lane of {read.PATH.as_posix()} this trigger, or take the trigger out of the workflow",
        )
    match form:
        case "json":
            console.out(shown.as_json(lanes))
        case "github-matrix":
            console.out(ci.as_github_matrix(lanes))
        case "gitlab":
            console.out(ci.as_gitlab(lanes, again=again(around.project)).rstrip())
        case _:
            if lanes:
                console.table(shown.rows(lanes), head=shown.HEAD, environ=around.environ)
            else:
                console.told(f"no lane runs at {trigger}")
    return ExitCode.PASS


@lane.command("show")
@click.argument("name", shell_complete=completing.lane)
@json_option
@click.pass_obj
def show(around: Surroundings, name: str, as_json: bool) -> int:
    """Show one lane in full.

    That is its cells and checks, its secrets and variables by name, and how to run it here.
    """
    found = lane_of(around, name)
    if as_json:
        console.out(shown.as_json([found]))
        return ExitCode.PASS
    for line in shown.lines(found, again(around.project)):
        console.told(line)
    return ExitCode.PASS


@lane.command("run")
@click.argument("name", shell_complete=completing.lane)
@click.option(
    "--cells-at-once",
    "at_once",
    type=click.IntRange(min=1),
    metavar="N",
    help="Run so many cells side by side, unless they record. Default: as the lane says, else 1.",
)
@click.option(
    "--shard",
    shell_complete=completing.words("auto"),
    metavar="I/N|auto",
    help="Run only the I-th of N parts; auto: as the variables of the CI system say.",
)
@click.option(
    "--timings",
    shell_complete=completing.files,
    metavar="PATH",
    multiple=True,
    help="With --shard: how long tests took before, as of stackproof plan. The same for all shards. May be repeated.",
)
@json_option
@click.pass_obj
def run(
    around: Surroundings,
    name: str,
    *,
    as_json: bool,
    at_once: int | None,
    shard: str | None,
    timings: tuple[str, ...],
) -> int:
    """Run one lane here, whole or a shard of it.

    Everything goes into one run folder, with the evidence that the verdict takes from it; --json prints its lane.json.
    With --shard: the part of it that `stackproof plan --lane NAME --shards N` shows. The exit code is the worst one of
    what it ran. `stackproof verdict RUN…` weighs the folders of several lanes, and of all shards, as one.
    """
    from stackproof.lanes import run as lanes_run  # noqa: PLC0415 - checks and stacks, which listing does without

    found = lane_of(around, name)
    share, words = _share(around, found, shard, timings)
    return lanes_run.run(
        lanes_run.Asked(
            lane=found if share is None else share.lane,
            project=around.project,
            environ=around.environ,
            today=datetime.now(UTC).date(),
            again=" ".join([again(around.project), name, *words]),
            as_json=as_json,
            at_once=at_once,
            share=share,
        )
    )


@lane.command("check")
@click.option(
    "--trigger",
    "triggers",
    type=_TRIGGERS,
    multiple=True,
    metavar=_TRIGGER_NAMES,
    help="Look at this trigger. May be repeated. Default: pull_request and merge_group.",
)
@click.pass_obj
def check(around: Surroundings, triggers: tuple[str, ...]) -> int:
    """Name what the release policy asks for and no lane of a trigger does.

    The verdict of such a trigger could not be a PASS.
    """
    matrix, rules = _matrix(around), policy.load(around.project)
    ends = ExitCode.PASS
    for trigger in map(Trigger, triggers or (Trigger.PULL_REQUEST, Trigger.MERGE_GROUP)):
        left_out = covered.missing(matrix, rules, trigger)
        for part in left_out:
            console.told(f"no lane of {trigger} runs {part}")
        if left_out:
            ends = ExitCode.TESTS
        else:
            console.told(f"the lanes of {trigger} hold all that {policy.PATH.as_posix()} asks for")
    return ends


def _share(
    around: Surroundings, found: Lane, shard: str | None, timings: tuple[str, ...]
) -> tuple[Share | None, tuple[str, ...]]:
    """What this job has of the lane, None for all of it, and the words that say so again."""
    from stackproof.cli.lane_plan_cli import plan_of  # noqa: PLC0415
    from stackproof.shards import asked  # noqa: PLC0415

    if shard is None:
        if timings:
            raise UsageError(
                "--timings says how shards are balanced, and no shard is asked for", hint="add --shard I/N"
            )
        return None, ()
    this, _ = asked.shard(shard, around.environ)
    if this.total == 1:
        return None, ()
    planned = plan_of(around, found, this.total, timings)
    return planned.share(this), ("--shard", str(this), *planned.words)


def again(project: Path) -> str:
    """How a person runs a lane in this project."""
    return "nox -s lane --" if nox_sessions.has(project, "lane") else "stackproof lane run"


def _matrix(around: Surroundings) -> Matrix:
    return read.load(around.project, known=around.catalog())


def lane_of(around: Surroundings, name: str) -> Lane:
    """The lane of that name; UsageError with the nearest name."""
    lanes = _matrix(around).lanes
    if name not in lanes:
        raise unknown("lane", name, lanes)
    return lanes[name]
