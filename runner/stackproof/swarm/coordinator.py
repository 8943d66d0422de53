"""Carries the cells of a run out as shards on the nodes of a Docker Swarm."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing
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
from stackproof.stack.engine_records import NodeFacts
from stackproof.swarm import archive, concluded, ground, image_delivery, pieces, refusals, results, worker_image
from stackproof.swarm.concluded import Ended
from stackproof.swarm.ground import Ground, Worker
from stackproof.swarm.image_delivery import Delivery
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

    UsageError for what no swarm can do; DockerError where there is none, or it fails before the first shard began.
    """
    refusals.check(plan, around.caller)
    alone = plans.again(plan.cells[0], replace(plan.options, engine="local", shards=None, sources=_without(plan)))
    with closing(engines.connect(around.caller, without=alone)) as engine:
        nodes = _nodes(engine)
        for line in sweep.abandoned(engine, now=time.time()):
            around.screen.line(line)
        marks = labels.of(plan.run_id, ",".join(dict.fromkeys(cell.stack.name for cell in plan.cells)), _owner())
        workers = _workers(engine, plan, around, nodes, marks)
        nodes = _that_have_all(nodes, workers, engine)
        found = pieces.of_plan(plan)
        at_once = max(1, min(len(found), round(sum(node.cpus for node in nodes)) or len(found)))
        around.screen.line(
            f"swarm of {counted(len(nodes), 'node')} at {engine.endpoint}: {counted(len(found), 'shard')}, "
            f"{'all' if at_once == len(found) else at_once} at once"
        )
        shown = Shown(around.console, live=around.live, line=around.screen.line)
        where = ground.opened(
            engine,
            run_id=plan.run_id,
            internal=Mode.parse(plan.options.inference_mode) is Mode.REPLAY,
            workers=workers,
            at_once=at_once,
            marks=marks,
            say=around.screen.line,
        )
        ended = _through(where, plan, around, found, shown)
    return concluded.outcomes(plan, found, ended, around.screen, around.caller)


def _through(
    opened: AbstractContextManager[Ground], plan: Plan, around: Surroundings, found: list[Piece], shown: Shown
) -> Ended:
    source = results.source_of(plan)
    check, say = around.interrupts.check, around.screen.line
    owner = (os.getuid(), os.getgid())
    began = time.monotonic()
    with opened as where:
        every = max(1.0, where.at_once / _SIGNS)
        packed, words = archive.packed(plan, [piece.cell for piece in found], owner=owner, every=every)
        with packed:
            depot = where.prepare(packed, _variables(plan, around.caller), pieces=len(found), check=check)
        say(f"● {words} are there to be fetched, {time.monotonic() - began:.1f} s")
        watch = Watch(
            ground=where,
            depot=depot,
            shown=shown,
            limits=Limits(whole=plan.options.suite_timeout + _MARGIN + (plan.options.start_timeout or 0.0)),
            pieces=found,
            cells=plan.run_dir / "cells",
            taken=lambda piece: source.complete(plan.run_dir / "cells" / piece.cell.id, piece.cell.setup.name),
            check=check,
        )
        watch.cells.mkdir(parents=True, exist_ok=True)
        broken: DockerError | Interrupted | None = None
        shown.begin(found)
        try:
            watch.run()
        except (DockerError, Interrupted) as error:
            broken = error
            shown.clear()
            if isinstance(error, Interrupted):
                say(f"{error.signum.name}: the shards are stopped and everything is taken away")
        finally:
            shown.clear()
    return Ended(
        tries=tuple(watch.tries), nodes=watch.nodes, broken=broken, began=began, seconds=time.monotonic() - began,
        workers=tuple(where.workers.values()),
    )  # fmt: skip


def _nodes(engine: Engine) -> list[NodeFacts]:
    facts = engine.swarm()
    if facts is None:
        raise DockerError(
            f"the Docker engine at {engine.endpoint} is part of no swarm",
            hint="`docker swarm init` makes it the first node of one; DOCKER_HOST or a context names another engine",
        )
    if not facts.is_manager:
        raise DockerError(
            f"the Docker engine at {engine.endpoint} is a worker of its swarm, and only a manager starts jobs",
            hint="name a manager with DOCKER_HOST or `docker context use`",
        )
    nodes = [node for node in engine.nodes() if node.takes_tasks]
    if not nodes:
        raise DockerError(
            f"no node of the swarm at {engine.endpoint} takes tasks", hint="`docker node ls` says how they are"
        )
    return nodes


def _owner() -> labels.Owner:
    return labels.owner(os.getpid())


def _workers(
    engine: Engine, plan: Plan, around: Surroundings, nodes: Sequence[NodeFacts], marks: Mapping[str, str]
) -> dict[str, Worker]:
    """The image for each stack, on the nodes or where they fetch it."""
    found: dict[str, Worker] = {}
    for stack in {cell.stack.name: cell.stack for cell in plan.cells}.values():
        name, facts = worker_image.prepare(
            engine,
            stack,
            environment=around.caller,
            say=around.screen.line,
            check=around.interrupts.check,
        )
        there = Delivery(
            engine=engine,
            name=name,
            image=facts,
            environ=around.caller,
            marks=marks,
            say=around.screen.line,
            check=around.interrupts.check,
        ).to(nodes)
        found[stack.name] = Worker(
            stack=stack,
            name=name,
            reference=there.reference,
            python="python3" if stack.docker is None else stack.docker.python,
            without=frozenset(there.without),
        )
    return found


def _that_have_all(nodes: Sequence[NodeFacts], workers: Mapping[str, Worker], engine: Engine) -> list[NodeFacts]:
    found = [node for node in nodes if all(node.id not in worker.without for worker in workers.values())]
    if not found:
        raise DockerError(
            f"no node of the swarm at {engine.endpoint} has the image that the shards need",
            hint=f"{image_delivery.REGISTRY} names a registry to fetch it from, {image_delivery.ENGINES} engines to "
            "carry it to",
        )
    return found


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
