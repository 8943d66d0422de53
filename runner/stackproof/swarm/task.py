"""A task of a run: `python -m stackproof.swarm.task` runs one shard as `stackproof run` does, and delivers it.

Ends with 0 once that is delivered, whatever became of the tests: the task has done its work. Anything else says that
the shard has to run elsewhere: its node has no room, the process of the cell was killed, or nobody took the result.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from stackproof import catalog, plan
from stackproof.errors import ExitCode, StackproofError
from stackproof.evidence import jsonfile
from stackproof.evidence.cell import write_result
from stackproof.plan import Plan
from stackproof.run import orchestrate
from stackproof.run.progress import Progress, Tail
from stackproof.stack import start
from stackproof.swarm import delivery
from stackproof.swarm import order as orders
from stackproof.swarm.order import Order
from stackproof.swarm.way import NotDeliveredError, Way

_SECRETS = Path("/run/secrets")
_LEAST_ROOM = 1 << 20  # bytes
_NO_ROOM = "no room is left on the disk of its node"
_QUIET = 5.0  # seconds after which a sign is sent though nothing has changed
BROKEN = 74
"""Exit code where the machine is at fault."""


class BrokenError(Exception):
    """This machine cannot run the shard."""


def main(environ: Mapping[str, str]) -> int:
    """Run the shard that this task is for; its exit code."""
    secret = json.loads((_SECRETS / orders.SECRET).read_text(encoding="utf-8"))
    variables: dict[str, str] = secret["variables"]
    piece, attempt, host = orders.piece_of(environ[orders.TASK], environ[orders.PIECES])
    way = Way(environ[orders.DEPOT], secret["token"], piece, attempt)
    way.sign({"phase": "starting", "host": host})
    order = orders.read(orders.PLACE.read_bytes(), variables)
    ours = (orders.TASK, orders.PIECES, orders.DEPOT)
    try:
        home = _become(order)
        os.chdir(order.project)
        around = {**{name: value for name, value in environ.items() if name not in ours}, **home, **variables}
        outcome = _run(order, piece, way, around)
    except (BrokenError, NotDeliveredError) as error:
        way.sign({"phase": "broken", "text": str(error)})
        sys.stderr.write(f"stackproof: {error}\n")
        return BROKEN
    if outcome in (ExitCode.SIGINT, ExitCode.SIGTERM):
        return int(outcome)
    return 0


def _run(order: Order, piece: int, way: Way, environ: Mapping[str, str]) -> ExitCode:
    try:
        planned = plan.make(
            order.pieces[piece], catalog.load(order.project), order.project, order.run_id, caller=environ
        )
        (cell,) = planned.cells
        cell_dir = planned.run_dir / "cells" / cell.id
        cell_dir.mkdir(parents=True, exist_ok=True)
        signs = Signs(way, cell_dir, order.every)
        signs.start()
        try:
            code = _carried_out(planned, cell_dir, environ)
        finally:
            signs.stop()
        if code in (ExitCode.SIGINT, ExitCode.SIGTERM):
            return code
        room = shutil.disk_usage(cell_dir).free
        if room < _LEAST_ROOM:
            raise BrokenError(_NO_ROOM)
        if code in (ExitCode.INTERNAL, ExitCode.DISK):
            outcome = jsonfile.table(jsonfile.read(cell_dir / "outcome.json") or {}, "error")
            raise BrokenError(str(outcome.get("message", "the process of the cell ended without saying how")))
        with delivery.packed(cell_dir) as archive:
            way.deliver(archive)
    except OSError as error:
        if shutil.disk_usage(order.project).free < _LEAST_ROOM:
            # Whatever it is called where it comes up: to `tempfile` it is a folder that is not there.
            raise BrokenError(_NO_ROOM) from error
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ENOMEM, errno.EIO):
            raise
        raise BrokenError(f"{error.filename or 'a file'} cannot be written: {error.strerror}") from error
    return code


def _carried_out(planned: Plan, cell_dir: Path, environ: Mapping[str, str]) -> ExitCode:
    try:
        return orchestrate.execute(planned, environ=environ).exit_code
    except StackproofError as error:
        # Before the cell began, `--seal require` where that cannot be, say: it is what became of the shard.
        (cell,) = planned.cells
        jsonfile.write(cell_dir / "outcome.json", {"error": start.error_facts(error)})
        write_result(
            cell_dir,
            cell=cell,
            project=planned.project,
            recordings=planned.project / planned.options.recording_dir,
            run_id=planned.run_id,
            command=plan.again(cell, planned.options),
        )
        return error.exit_code


def _become(order: Order) -> dict[str, str]:
    """The user that the run was started by: tests about permissions see what they would see there. Variables of it."""
    user, group = order.owner
    if (os.getuid(), os.getgid()) == (user, group):
        return {}
    runs = order.project / plan.RUNS.parent
    runs.mkdir(exist_ok=True)
    home = Path("/tmp/home")  # noqa: S108 - the container's own
    home.mkdir(exist_ok=True)
    for path in (runs, home):
        os.chown(path, user, group)
    os.setgroups([])
    os.setgid(group)
    os.setuid(user)
    return {"HOME": str(home)}


class Signs:
    """Tells the depot how far the shard is, beside the run."""

    def __init__(self, way: Way, cell_dir: Path, every: float) -> None:
        self._way, self._tail, self._every = way, Tail(cell_dir / "tests.jsonl"), every
        self._progress = Progress()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tell, name="signs of life", daemon=True)

    def start(self) -> None:
        """From now on."""
        self._thread.start()

    def stop(self) -> None:
        """Tell the last one."""
        self._over.set()
        self._thread.join(timeout=2 * _QUIET)

    def _tell(self) -> None:
        said: dict[str, Any] = {}
        quiet = 0.0
        last = False
        while True:
            for event in self._tail.read():
                self._progress.note(event)
            found = facts_of(self._progress)
            quiet = 0.0 if found != said else quiet + self._every
            if found != said or quiet >= _QUIET:
                quiet = 0.0
                if self._way.sign(found):
                    said = found
            if last:
                return
            last = self._over.wait(self._every)


def facts_of(progress: Progress) -> dict[str, Any]:
    """How far it is, for a sign of life."""
    counts = progress.counts
    return {
        "phase": "running",
        "total": progress.total,
        "done": progress.done,
        "failed": counts.failed + counts.errors,
        "skipped": counts.skipped,
    }


if __name__ == "__main__":
    with suppress(AttributeError):
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.exit(main(os.environ))
