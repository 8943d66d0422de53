"""Starts the stack of a cell in a container, and leads its tests there, shut off from everything else in replay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from stackproof import container_environment, plan
from stackproof.catalog.records import StackMode
from stackproof.edge import wiring
from stackproof.environment import Environment
from stackproof.evidence.coverage import STACK, TESTS
from stackproof.measure import begin
from stackproof.options import RunOptions
from stackproof.recorder.mode import Mode
from stackproof.run import cell_file, namespace, outside, suite, way
from stackproof.shards import order as shard_order
from stackproof.stack import beside, contained_tests, luggage, place, shared_container, stack_container
from stackproof.stack.contained_tests import ContainedTests, TestsInside
from stackproof.stack.forwarder import forwarding
from stackproof.stack.handle import StackHandle
from stackproof.stack.handover import Handover
from stackproof.stack.luggage import Folder
from stackproof.stack.place import Place
from stackproof.stack.seen import NotSeenError

# The same without a container.
_BESIDE = {StackMode.DOCKER: StackMode.SERVER, StackMode.DOCKER_LIBRARY: StackMode.LIBRARY}


@dataclass(frozen=True, kw_only=True, slots=True)
class Contained:
    """A cell with its stack in a container. handle: a server that answers at the address the tests were told.

    prefix: what shuts the tests off, empty when nothing. tests: where the tests run in a container themselves.
    """

    variables: Mapping[str, str]
    handle: StackHandle | None = None
    prefix: tuple[str, ...] = ()
    tests: ContainedTests | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """What to start.

    build: `environment.build` with all but `moved` and `beside`. caller: the environment of whoever asked. images:
    folder where the run notes which image it has chosen. handover: the container that cells of the run have in turn.
    measuring: what processes of the cell are told of coverage.
    """

    cell: plan.Cell
    build: Callable[..., Environment]
    options: RunOptions
    project: Path
    cell_dir: Path
    run_id: str
    owner: int
    caller: Mapping[str, str]
    say: Callable[[str], None]
    check: Callable[[], None]
    images: Path | None = None
    handover: Handover | None = None
    measuring: begin.Measuring = field(default_factory=begin.Measuring)

    @property
    def replay(self) -> bool:
        """Whether nothing may get out."""
        return self.cell.inference_mode is Mode.REPLAY


def start(order: Order, undo: ExitStack) -> Contained:
    """Start it; everything is ended by `undo`. Raises what `place.opened` and `stack_container.server` raise."""
    cell, options = order.cell, order.options
    if wiring.is_at_edge(cell):
        from stackproof.run import contained_at_edge  # noqa: PLC0415 - it is made of this module

        return contained_at_edge.start(order, undo)
    where = undo.enter_context(
        place.opened(
            cell.stack,
            run_id=order.run_id,
            owner=order.owner,
            internal=order.replay,
            with_tests=cell.mode is StackMode.DOCKER_LIBRARY,
            environment=order.caller,
            without=plan.again(replace(cell, mode=_BESIDE[cell.mode]), options),
            chosen=order.images,
            handover=order.handover,
            say=order.say,
            check=order.check,
        )
    )
    built = order.build()
    others = beside.start(
        cell.containers,
        where,
        undo,
        variables=built.stack,
        cell_dir=order.cell_dir,
        timeout=options.start_timeout,
        environment=order.caller,
        say=order.say,
        check=order.check,
    )
    where = others.where
    if not order.replay or cell.containers:
        moved = {} if order.replay else outside.moved(cell, built.stack, where)
        built = order.build(moved={**moved, **others.provided}, beside=others.reachable)
    if cell.mode is StackMode.DOCKER_LIBRARY:
        return Contained(variables=built.tests, tests=_library(order, built, where))
    return _server(order, built, where, undo)


def _server(order: Order, built: Environment, where: Place, undo: ExitStack) -> Contained:
    handle = _stack(order, built, where, undo)
    return led(order, built, handle, undo)


def led(order: Order, built: Environment, handle: StackHandle, undo: ExitStack) -> Contained:
    """Lead the tests to a stack that answers at the address of its container."""
    options = order.options
    url = built.tests["STACKPROOF_API_BASE_URL"]
    inside, outside = urlsplit(handle.base_url).netloc, urlsplit(url).netloc
    seal = namespace.decide(options.seal, replay=order.replay, environment=order.caller)
    prefix: tuple[str, ...] = ()
    if seal.sealed and seal.prefix:
        folder = undo.enter_context(way.folder())
        undo.enter_context(forwarding(str(folder / "way"), inside))
        prefix = namespace.with_relay(seal, outside, str(folder / "way"))
    if not prefix or options.keep:
        # Also beside tests that are shut off: whoever keeps a stack wants to reach it.
        undo.enter_context(forwarding(outside, inside))
    variables = order.measuring.into(built.tests, TESTS)
    return Contained(handle=replace(handle, base_url=url), variables=variables, prefix=prefix)


def _stack(order: Order, built: Environment, where: Place, undo: ExitStack) -> StackHandle:
    """In a container of its own, or as a process in one that cells share, if containers see folders of here."""
    arguments: dict[str, Any] = {
        "variables": order.measuring.into(_inside(order, built), STACK),
        "cell_dir": order.cell_dir,
        "recordings": _recordings(order),
        "timeout": order.options.start_timeout,
        "say": order.say,
        "check": order.check,
    }
    if order.handover is not None and where.sharing.folders is not False:
        try:
            return undo.enter_context(shared_container.server(order.cell.stack, where, order.handover, **arguments))
        except NotSeenError:
            if where.sharing.folders:
                raise
    return undo.enter_context(stack_container.server(order.cell.stack, where, **arguments))


def _inside(order: Order, built: Environment) -> dict[str, str]:
    trusted = {} if order.replay else outside.authorities(built.stack, order.cell_dir / "guest")
    return {**trusted, **container_environment.inside(order.cell, order.options, built)}


def _library(order: Order, built: Environment, where: Place) -> ContainedTests:
    arguments = suite.arguments(order.options, order.cell.paths, project=order.project, cell_dir=order.cell_dir)
    cell, options = order.cell, order.options
    return contained_tests.make(
        cell.stack,
        where,
        TestsInside(
            # The project is there to be read.
            arguments=(*arguments[1:], "-p", "no:cacheprovider"),
            variables=order.measuring.into(_inside(order, built), TESTS),
            project=order.project,
            cell_dir=order.cell_dir,
            files=_files(order.cell_dir),
            recordings=_recordings(order),
            records=cell.inference_mode.records,
            shown=suite.talks(options),
        ),
        say=order.say,
    )


def _files(cell_dir: Path) -> tuple[Path, ...]:
    """What pytest's plugin is told."""
    return tuple(path for name in (cell_file.NAME, shard_order.NAME) if (path := cell_dir / name).is_file())


def _recordings(order: Order) -> Folder:
    cell, options = order.cell, order.options
    root = order.project / options.recording_dir
    return luggage.recordings(root, cell.setup.name, cell.paths, cell.integration_root)
