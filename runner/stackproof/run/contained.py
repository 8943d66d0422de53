"""Starts the stack of a cell in a container, and leads its tests there, shut off from everything else in replay."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from stackproof import container_environment, plan
from stackproof.catalog.records import StackMode
from stackproof.environment import Environment
from stackproof.errors import DockerError
from stackproof.options import RunOptions
from stackproof.recorder.mode import Mode
from stackproof.run import namespace
from stackproof.stack import container, place
from stackproof.stack.forwarder import forwarding
from stackproof.stack.handle import StackHandle
from stackproof.stack.place import Place


@dataclass(frozen=True, kw_only=True, slots=True)
class Contained:
    """A stack that answers at the address the tests were told. prefix: what shuts the tests off, empty when nothing."""

    handle: StackHandle
    variables: Mapping[str, str]
    prefix: tuple[str, ...]


def start(
    cell: plan.Cell,
    build: Callable[..., Environment],
    undo: ExitStack,
    *,
    options: RunOptions,
    project: Path,
    cell_dir: Path,
    run_id: str,
    owner: int,
    caller: Mapping[str, str],
    say: Callable[[str], None],
    check: Callable[[], None],
) -> Contained:
    """Start it; everything is ended by `undo`. build: `environment.build` with all but `moved`.

    Raises what `place.opened` and `container.server` raise.
    """
    if cell.mode is not StackMode.DOCKER:
        raise DockerError(
            f"{cell.mode.value} is not there yet",
            hint=f"run it as docker:{cell.stack.name} or library:{cell.stack.name}",
        )
    replay = cell.inference_mode is Mode.REPLAY
    without = plan.again(replace(cell, mode=StackMode.SERVER), options)
    where = undo.enter_context(
        place.opened(
            cell.stack,
            run_id=run_id,
            owner=owner,
            internal=replay,
            environment=caller,
            without=without,
            say=say,
            check=check,
        )
    )
    built = build()
    if not replay:
        built = build(moved=_moved(cell, built, where))
    handle = undo.enter_context(
        container.server(
            cell.stack,
            where,
            variables=container_environment.inside(cell, options, built),
            cell_dir=cell_dir,
            recordings=project / options.recording_dir,
            timeout=options.start_timeout,
            check=check,
        )
    )
    url = built.tests["STACKPROOF_API_BASE_URL"]
    inside, outside = urlsplit(handle.base_url).netloc, urlsplit(url).netloc
    seal = namespace.decide(options.seal, replay=replay, environment=caller)
    prefix: tuple[str, ...] = ()
    if seal.sealed and seal.prefix:
        # A path of a Unix socket has to be short, and a run's folder may lie deep.
        folder = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="stackproof-")))
        undo.enter_context(forwarding(str(folder / "way"), inside))
        prefix = namespace.with_relay(seal, outside, str(folder / "way"))
    else:
        undo.enter_context(forwarding(outside, inside))
    return Contained(handle=replace(handle, base_url=url), variables=built.tests, prefix=prefix)


def _moved(cell: plan.Cell, built: Environment, where: Place) -> dict[str, str]:
    """The providers on this machine, as the container can call them."""
    named = (provider.variable for provider in cell.setup.providers if provider.variable)
    return {name: where.outward(url) for name in named if (url := built.stack.get(name))}
