"""Carries the cells of a run out as shards on the nodes of a Docker Swarm."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from rich.console import Console

from stackproof import container_environment
from stackproof import plan as plans
from stackproof.errors import DockerError
from stackproof.options import Source
from stackproof.plaintext import counted
from stackproof.plan import Plan
from stackproof.recorder.mode import Mode
from stackproof.run.cell_run import CellOutcome
from stackproof.run.interrupts import Interrupted, Interrupts
from stackproof.run.screen import Screen
from stackproof.stack import engine as engines
from stackproof.stack import labels, sweep
from stackproof.stack.engine import Engine
from stackproof.swarm import archive, concluded, ground, pieces, results, site
from stackproof.swarm.concluded import Ended
from stackproof.swarm.depot_container import DepotContainer
from stackproof.swarm.ground import Ground
from stackproof.swarm.pieces import Piece
from stackproof.swarm.rounds import Limits
from stackproof.swarm.shown import Shown
from stackproof.swarm.watch import Watch

_SIGNS = 50.0  # signs of life a second, of all tasks together
_MARGIN = 300.0  # seconds of an attempt beside its tests: fetching, starting, ending, delivering


@dataclass(frozen=True, kw_only=True, slots=True)
class Surroundings:
    """screen: for lines. console: for bars, where `live`. caller: the environment of whoever asked."""

    screen: Screen
    console: Console
    live: bool
    caller: Mapping[str, str]
    interrupts: Interrupts


def run(plan: Plan, around: Surroundings) -> tuple[CellOutcome, ...]:
    """Run every shard of every cell; one outcome for each, also for those that nobody has delivered.

    plan: one that `refusals.check` takes. DockerError where there is no swarm, or where it fails before the first shard
    began.
    """
    began = time.monotonic()
    found = pieces.of_plan(plan)
    alone = plans.again(plan.cells[0], replace(plan.options, engine="local", shards=None, sources=_without(plan)))
    with closing(engines.connect(around.caller, without=alone)) as engine:
        try:
            ended = _through(engine, plan, around, found)
        except Interrupted as error:
            # Before the first shard was started.
            ended = Ended(broken=error, began=began, seconds=time.monotonic() - began)
        if isinstance(ended.broken, Interrupted):
            around.screen.line(f"{ended.broken.signum.name}: the shards were stopped and everything was taken away")
    return concluded.outcomes(plan, found, ended, around.screen, around.caller)


def _through(engine: Engine, plan: Plan, around: Surroundings, found: Sequence[Piece]) -> Ended:
    check, say = around.interrupts.check, around.screen.line
    nodes = site.nodes(engine)
    for line in sweep.abandoned(engine, now=time.time()):
        say(line)
    stacks = {cell.stack.name: cell.stack for cell in plan.cells}
    marks = labels.of(plan.run_id, ",".join(stacks), labels.owner(os.getpid()))
    workers = site.workers(
        engine, tuple(stacks.values()), nodes, environment=around.caller, marks=marks, say=say, check=check
    )
    nodes = site.that_have_all(nodes, workers, engine)
    at_once = max(1, min(len(found), round(sum(node.cpus for node in nodes)) or len(found)))
    say(
        f"swarm of {counted(len(nodes), 'node')} at {engine.endpoint}: {counted(len(found), 'shard')}, "
        f"{'all' if at_once == len(found) else at_once} at once"
    )
    source, began = results.source_of(plan), time.monotonic()
    with ground.opened(
        engine,
        run_id=plan.run_id,
        internal=Mode.parse(plan.options.inference_mode) is Mode.REPLAY,
        workers=workers,
        at_once=at_once,
        marks=marks,
        say=say,
    ) as where:
        depot, words = _prepared(where, plan, around, found)
        say(f"● {words} are there to be fetched, {time.monotonic() - began:.1f} s")
        watch = Watch(
            ground=where,
            depot=depot,
            shown=Shown(around.console, live=around.live, line=say),
            limits=Limits(
                start=Limits().start + (plan.options.start_timeout or 0.0),
                whole=plan.options.suite_timeout + _MARGIN + (plan.options.start_timeout or 0.0),
            ),
            pieces=found,
            cells=plan.run_dir / "cells",
            taken=lambda piece: source.complete(plan.run_dir / "cells" / piece.cell.id, piece.cell.setup.name),
            check=check,
        )
        broken = _watched(watch)
    return Ended(
        tries=tuple(watch.tries),
        nodes=watch.nodes,
        workers=tuple(workers.values()),
        broken=broken,
        began=began,
        seconds=time.monotonic() - began,
    )


def _prepared(where: Ground, plan: Plan, around: Surroundings, found: Sequence[Piece]) -> tuple[DepotContainer, str]:
    """The depot, filled; and what it holds, in words."""
    every = max(1.0, where.at_once / _SIGNS)
    cells = [piece.cell for piece in found]
    packed, words = archive.packed(plan, cells, owner=(os.getuid(), os.getgid()), every=every)
    with packed:
        variables = _variables(plan, around.caller)
        return where.prepare(packed, variables, pieces=len(found), check=around.interrupts.check), words


def _watched(watch: Watch) -> DockerError | Interrupted | None:
    """Watch to the end; what ended it before every shard was delivered or lost."""
    watch.cells.mkdir(parents=True, exist_ok=True)
    watch.shown.begin(watch.pieces)
    try:
        watch.run()
    except (DockerError, Interrupted) as error:
        return error
    finally:
        watch.shown.clear()
    return None


def _variables(plan: Plan, caller: Mapping[str, str]) -> dict[str, str]:
    """What the tasks are given of the caller's variables: those that setups and stacks speak of, keys among them."""
    given = dict(pair.split("=", 1) for pair in plan.options.env)
    found: dict[str, str] = {}
    for cell in plan.cells:
        hidden = set(cell.setup.all_secrets) if cell.inference_mode is Mode.REPLAY else set()
        wanted = container_environment.names(cell, plan.options) - hidden
        found |= {name: value for name in sorted(wanted) if (value := caller.get(name))}
    return {**found, **given}


def _without(plan: Plan) -> dict[str, Source]:
    return {name: source for name, source in plan.options.sources.items() if name not in ("engine", "shards")}
