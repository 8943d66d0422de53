"""What the process of the tests does where the stack's provider calls are recorded at an edge."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof.edge import places
from stackproof.edge.announced import Announce, announcer
from stackproof.evidence import jsonfile
from stackproof.recorder.scope import Scope
from stackproof.stack import start


def announcing(cell_dir: Path, worker: str) -> Announce:
    """What tells the edge of a cell whose calls are made now; nothing where there is none."""
    return announcer(str(cell_dir), worker) if (cell_dir / places.FILE).exists() else _nobody_asks


def refuse_parallel(config: pytest.Config, cell_dir: Path) -> None:
    """UsageError where tests would run beside one another and the edge could not tell their calls apart."""
    asked = getattr(config.option, "numprocesses", None)
    facts = jsonfile.read(cell_dir / places.FILE)
    if facts is None or not facts.get("serial") or not asked:
        return
    from stackproof.edge.stack_edge import serial_only  # noqa: PLC0415 - no other pytest process needs it

    error = serial_only(str(facts.get("why")), f"-n {asked}")
    # pytest's own exit code 2 says something else, so the reason goes beside it.
    jsonfile.write(cell_dir / start.ERROR, start.error_facts(error))
    raise error


def _nobody_asks(_owner: Scope | None) -> None:
    return
