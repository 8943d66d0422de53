"""The edge of one cell, from the ports that it will have to what the run says of ids.

Most cells have none, and load nothing of what it takes to run and to ask one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from stackproof.catalog.records import StackMode
from stackproof.edge import wiring
from stackproof.edge.places import FILE, Places
from stackproof.edge.refusals import SAYS
from stackproof.errors import UsageError
from stackproof.evidence import jsonfile
from stackproof.plaintext import counted
from stackproof.plan import Cell
from stackproof.recorder.settings import VARIABLE, Settings
from stackproof.stack.process import shown

if TYPE_CHECKING:
    from stackproof.edge import probe, process


def places(cell: Cell) -> Places | None:
    """Where the edge of a cell will listen; None where the cell has none."""
    if not wiring.is_at_edge(cell):
        return None
    from stackproof.edge import process  # noqa: PLC0415

    return process.free_places(wiring.with_own_address(cell))


def prepare(
    cell: Cell, *, environment: Mapping[str, str], say: Callable[[str], None], check: Callable[[], None]
) -> None:
    """Make what the edge of a cell runs on, if it has one, before it is shut off from every package index."""
    if wiring.is_at_edge(cell) and cell.mode is StackMode.SERVER:
        from stackproof.edge import process  # noqa: PLC0415

        process.prepare(environment=environment, say=say, check=check)


def start(
    where: Places,
    undo: ExitStack,
    *,
    variables: Mapping[str, str],
    cell_dir: Path,
    say: Callable[[str], None],
    check: Callable[[], None],
) -> process.RunningEdge:
    """Start it, to be ended by `undo`. variables: those of the tests. StackStartError when it does not answer."""
    from stackproof.edge import process  # noqa: PLC0415

    undo.callback(tell, cell_dir / process.LOG, say)
    return undo.enter_context(
        process.running(
            Settings.from_json(variables[VARIABLE]),
            where,
            environment=variables,
            cell_dir=cell_dir,
            log=cell_dir / process.LOG,
            say=say,
            check=check,
        )
    )


def tell(log: Path, say: Callable[[str], None]) -> None:
    """One line of what went wrong at the edge, if anything did: the stack may have swallowed it."""
    told = went_wrong(log)
    if told:
        say(f"edge: {counted(len(told), 'call')} went wrong, the last: {told[-1]}   log {shown(log)}")


def went_wrong(log: Path) -> tuple[str, ...]:
    """What an edge has said of calls that it refused, and of providers that did not answer."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()
    return tuple(line.removeprefix(SAYS) for line in lines if line.startswith(SAYS))


def find_ids(
    cell: Cell,
    where: Places,
    *,
    base_url: str,
    variables: Mapping[str, str],
    cell_dir: Path,
    workers: str | None,
    check: Callable[[], None],
) -> probe.Found:
    """Ask the stack's probe how ids come to the edge, and write it down for the process of the tests.

    workers: of xdist, as --workers has them; UsageError where tests have to run one after the other and would not.
    """
    from stackproof.edge import probe  # noqa: PLC0415

    values = {
        name.removeprefix("STACKPROOF_").lower(): value
        for name, value in variables.items()
        if name.startswith("STACKPROOF_") and name.endswith("_MODEL")
    }
    found = probe.find(
        base_url=base_url,
        spec=cell.stack.edge.probe,
        header=cell.stack.header,
        cell_dir=cell_dir,
        values=values,
        check=check,
        key=variables.get(cell.stack.client_key or ""),
    )
    facts = {"url": where.url, "ids": found.ids.value, "why": found.why, "serial": found.serial}
    jsonfile.write(cell_dir / FILE, facts)
    if found.serial and workers not in (None, "0"):
        raise serial_only(found.why, f"--workers {workers}")
    return found


def serial_only(why: str, asked: str) -> UsageError:
    """Why tests do not run beside one another, where ids are announced."""
    return UsageError(
        f"the stack hands no test ids on to the edge ({why}), so its tests run one after the other",
        hint=f"leave {asked} out; or have the stack send its id header, or W3C baggage, along with provider calls, and "
        "say in its stack.yaml how to try that: edge: {probe: {path: …}}",
    )
