"""Starts a stack in a container whose provider calls go through an edge, in a container beside it.

The stack's network has no way out, in any mode: the edge is all that it can call.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from stackproof import container_environment, plan
from stackproof.catalog.records import StackMode
from stackproof.edge import contained as edges
from stackproof.edge import process, stack_edge, wiring
from stackproof.evidence.coverage import STACK
from stackproof.run import contained, outside
from stackproof.run.contained import Contained, Order
from stackproof.stack import beside, luggage, place, stack_container


def start(order: Order, undo: ExitStack) -> Contained:
    """Start edge and stack; everything is ended by `undo`. Raises what `contained.start` does."""
    cell, options = order.cell, order.options
    where = undo.enter_context(
        place.opened(
            cell.stack,
            run_id=order.run_id,
            owner=order.owner,
            internal=True,
            environment=order.caller,
            without=plan.again(replace(cell, mode=StackMode.SERVER), options),
            say=order.say,
            check=order.check,
        )
    )
    edges.require_folders(cell, where)
    tag = edges.image_of(where, environment=order.caller, say=order.say, check=order.check)
    listens = edges.places(wiring.with_own_address(cell))
    others = beside.start(
        cell.containers,
        where,
        undo,
        variables=order.build(edge=listens).stack,
        cell_dir=order.cell_dir,
        timeout=options.start_timeout,
        environment=order.caller,
        say=order.say,
        check=order.check,
        # The stack may be of another language.
        helper=replace(where, image=tag, python=edges.SPEC.docker.python),
    )
    where = others.where
    open_to = where if order.replay else undo.enter_context(edges.with_way_out(where))
    # Providers on this machine are called by another address from where the edge is.
    moved = {} if order.replay else outside.moved(cell, order.build(edge=listens).tests, open_to)
    built = order.build(edge=listens, moved={**moved, **others.provided}, beside=others.reachable)
    recordings = luggage.recordings(
        order.project / options.recording_dir, cell.setup.name, cell.paths, cell.integration_root
    )
    address = undo.enter_context(
        edges.running(
            cell,
            listens,
            where,
            open_to,
            built,
            tag=tag,
            cell_dir=order.cell_dir,
            recordings=recordings.path,
            say=order.say,
            check=order.check,
        )
    )
    where = replace(where, hosts={**where.hosts, process.NAME: address})
    handle = undo.enter_context(
        stack_container.server(
            cell.stack,
            where,
            variables=order.measuring.into(container_environment.inside(cell, options, built), STACK),
            cell_dir=order.cell_dir,
            recordings=recordings,
            timeout=options.start_timeout,
            say=order.say,
            check=order.check,
        )
    )
    found = stack_edge.find_ids(
        cell,
        listens,
        base_url=handle.base_url,
        variables=built.tests,
        cell_dir=order.cell_dir,
        workers=options.workers,
        check=order.check,
    )
    order.say(str(found))
    return contained.led(order, built, handle, undo)
