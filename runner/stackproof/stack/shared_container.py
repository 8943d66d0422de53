"""A stack in a container that is there for several cells of a run: each cell has a process of its own in it.

What is shared is what costs time and holds no state: container, network, way out taken away. The process is started
anew for each cell, with that cell's variables, and everything that it left is ended. A container in which something
stays behind, or that is not as it was, is not handed on.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from stackproof.catalog.records import StackSpec
from stackproof.errors import StackproofError
from stackproof.stack import enter, place, seen, stack_container, supervise
from stackproof.stack.container import Container
from stackproof.stack.engine_records import ContainerSpec, Mount
from stackproof.stack.guest_process import GuestProcess
from stackproof.stack.handle import StackHandle
from stackproof.stack.handover import Handover, Left
from stackproof.stack.luggage import Folder
from stackproof.stack.place import Place
from stackproof.stack.stack_container import Prepared


class _InvalidError(StackproofError):
    """A stack did not start in a container that another cell had before."""


@contextmanager
def server(
    stack: StackSpec,
    where: Place,
    handover: Handover,
    *,
    variables: Mapping[str, str],
    cell_dir: Path,
    recordings: Folder,
    timeout: float | None,
    say: Callable[[str], None],
    check: Callable[[], None],
) -> Iterator[StackHandle]:
    """The stack as a process in the container of `handover`, ready, for as long as the context lasts.

    As `stack_container.server`, but NotSeenError when containers do not see this machine's folders.
    """
    docker, left = stack_container.required(stack), handover.noted
    own = stack_container.prepared(stack, where, variables=variables, cell_dir=cell_dir)
    holder = _holder(stack, where, own, handover, cell_dir=cell_dir, recordings=recordings)

    def started(left: Left, trying: ExitStack) -> tuple[GuestProcess, str, float]:
        process = GuestProcess(where.engine, holder, name=stack.name, guest=own.guest, log=cell_dir / "stack.log")
        trying.callback(process.stop)
        try:
            process.start(own.command, own.given, docker.python, own.script, look=handover.follows)
            origin = trying.enter_context(stack_container.way(stack, where, holder, guest=own.guest, say=say))
            took = stack_container.ready(
                stack,
                where,
                process,
                origin,
                given=own.given,
                cell_dir=cell_dir if own.recorded else None,
                timeout=timeout,
                check=check,
            )
        except StackproofError as error:
            if left.uses and (process.poll() is not None or not process.started):
                raise _InvalidError(error.message) from error
            raise
        return process, origin, took

    def made() -> Left:
        folders = [path.absolute() for path in (cell_dir, recordings.path)]
        try:
            holder.start({}, docker.python, shut="shut" if where.internal else None, folders=folders)
        except seen.NotSeenError:
            # Whoever goes on without sharing has a container of that name.
            where.engine.remove(left.container)
            raise
        fresh = replace(left, uses=0)
        handover.note(fresh)
        return fresh

    with ExitStack() as undo:
        try:
            with ExitStack() as trying:
                if left.uses == 0:
                    left = made()
                else:
                    holder.adopt()
                process, origin, took = started(left, trying)
                undo.push(trying.pop_all())
        except _InvalidError as error:
            # Whatever a cell before it has done: only its end in a container of its own counts.
            say(f"{stack.name} did not start in the container of an earlier cell, and gets a new one: {error.message}")
            where.engine.remove(left.container)
            shutil.rmtree(cell_dir / "marks", ignore_errors=True)
            (own.guest / supervise.ENDED).unlink(missing_ok=True)
            left = made()
            process, origin, took = started(left, undo)
        with stack_container.answering(stack, process, origin, took) as handle:
            yield handle
        process.stop()
        handover.stays = handover.follows and _as_it_was(stack, process, say=say, check=check)


def _holder(
    stack: StackSpec, where: Place, own: Prepared, handover: Handover, *, cell_dir: Path, recordings: Folder
) -> Container:
    """The container, which does nothing by itself. It sees the folders of all cells of the run."""
    folder, cells = handover.folder, cell_dir.absolute().parent
    place.shared(folder)
    script = folder / stack_container.ENTER.name
    shutil.copyfile(own.script, script)
    return Container(
        where.engine,
        ContainerSpec(
            name=where.name(stack.name),
            image=where.image,
            entrypoint=(),
            command=(stack_container.required(stack).python, str(script), "hold"),
            labels=where.labels,
            user=place.caller(where.engine),
            network=where.network,
            mounts=(
                Mount(source=place.shared(cells), target=str(cells)),
                Mount(source=place.shared(recordings.path), target=str(recordings.path.absolute()), read_only=True),
                Mount(source=str(folder), target=str(folder), read_only=True),
                *stack_container.no_names(folder, where),
            ),
            tmpfs=(enter.FOLDER,),
            capabilities=("NET_ADMIN",) if where.internal else (),
        ),
        name=stack.name,
        log=cell_dir / "stack.log",
        before=seen.required(where, folder),
    )


def _as_it_was(
    stack: StackSpec,
    process: GuestProcess,
    *,
    say: Callable[[str], None],
    check: Callable[[], None],
) -> bool:
    """Whether the next cell finds the container as this one has; says why not."""
    try:
        check()
    except Exception:  # noqa: BLE001 - somebody asked the run to stop: no cell comes
        return False
    stays = process.left
    if stays:
        more = f" and {len(stays) - 1} more" if len(stays) > 1 else ""
        say(f"{stack.name} left {stays[0]}{more} in its container: the next cell gets a new one")
    return not stays
