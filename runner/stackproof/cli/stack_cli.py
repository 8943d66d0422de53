"""The commands `stackproof stack …`: what of ours is on the Docker engine, and how it goes away."""

from __future__ import annotations

import contextlib
import sys
from datetime import UTC, datetime
from threading import Thread

import click

from stackproof import console
from stackproof.cli import completing
from stackproof.cli.cli_words import CommandGroup, json_option
from stackproof.cli.listing import print_json
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import ExitCode, UsageError
from stackproof.stack import built, engine, labels, sweep
from stackproof.stack.engine_records import Owned


@click.group(
    "stack",
    cls=CommandGroup,
    elsewhere={"image": "stackproof.cli.stack_image:image", "up": "stackproof.cli.stack_up:up"},
)
def stack() -> None:
    """Start a stack by itself, and look after those in containers."""


@stack.command("ps")
@json_option
@click.pass_obj
def ps(around: Surroundings, as_json: bool) -> int:
    """List what runs have on the Docker engine.

    Containers and networks, on a swarm's manager services and secrets too. What killed runs left is there as well.
    """
    with contextlib.closing(engine.connect(around.environ)) as found:
        items = sweep.listed(found)
    now = datetime.now(UTC).timestamp()
    rows = [
        {
            "kind": item.kind,
            "name": item.name,
            "run": item.labels[labels.RUN],
            "stack": item.labels.get(labels.STACK, ""),
            "running": item.running,
            "abandoned": labels.is_abandoned(item.labels, now=now),
        }
        for item in items
    ]
    if as_json:
        print_json({"schema": 1, "items": rows})
    elif not rows:
        console.out("nothing of ours is on the engine")
    else:
        states = ["abandoned" if row["abandoned"] else "running" if row["running"] else "in use" for row in rows]
        content = [
            [str(row[key]) for key in ("kind", "name", "run", "stack")] + [state]
            for row, state in zip(rows, states, strict=True)
        ]
        console.table(content, head=("kind", "name", "run", "stack", "state"), environ=around.environ)
    return ExitCode.PASS


@stack.command("down")
@click.argument("run", shell_complete=completing.run, required=False)
@click.option(
    "--all", "everything", is_flag=True, help="Remove whatever carries Stackproof's label, of runs that go on too."
)
@click.option(
    "--images", is_flag=True, help="Remove the images too that were built for stacks: the next run builds them anew."
)
@click.pass_obj
def down(around: Surroundings, run: str | None, everything: bool, images: bool) -> int:
    """Remove what killed runs left on the Docker engine and its swarm.

    With RUN, an id: what that run has. Images stay.
    """
    if run is not None and everything:
        raise UsageError("stackproof stack down takes a run or --all, not both", hint="leave one of them out")
    with contextlib.closing(engine.connect(around.environ)) as found:
        if everything:
            lines = sweep.everything(found)
        elif run is not None:
            lines = sweep.of_run(found, run)
        else:
            lines = sweep.abandoned(found, now=datetime.now(UTC).timestamp())
        if images:
            lines = (*lines, *built.remove(found, built.of(found)))
    for line in lines or ("nothing was left",):
        console.out(line)
    return ExitCode.PASS


@stack.command("logs")
@click.argument("name", shell_complete=completing.run)
@click.option("-f", "--follow", is_flag=True, help="Go on printing until it has ended.")
@click.pass_obj
def logs(around: Surroundings, name: str, follow: bool) -> int:
    """Print what containers, and tasks on a swarm, have written.

    NAME is that of one of them, or the id of a run for all of its own.
    """
    with contextlib.closing(engine.connect(around.environ)) as found:
        items = [item for item in sweep.listed(found) if item.kind in ("container", "service")]
        chosen = [item for item in items if name in (item.name, item.labels[labels.RUN])]
        if not chosen:
            there = ", ".join(item.name for item in items) or "none"
            raise UsageError(
                f"no run, container or service of Stackproof on this engine is called {name!r}",
                hint=f"there are: {there}",
            )
        # Several are followed at once; each has the whole line that it wrote.
        threads = [Thread(target=_print, args=(found, item, follow), daemon=True) for item in chosen]
        for thread in threads:
            thread.start()
            if not follow:
                thread.join()
        for thread in threads:
            thread.join()
    return ExitCode.PASS


def _print(found: engine.Engine, item: Owned, follow: bool) -> None:
    rest = b""
    written = found.service_logs if item.kind == "service" else found.logs
    for piece in written(item.id, follow=follow):
        whole, end, rest = (rest + piece).rpartition(b"\n")
        sys.stdout.buffer.write(whole + end)
        sys.stdout.buffer.flush()
    sys.stdout.buffer.write(rest)
    sys.stdout.buffer.flush()
