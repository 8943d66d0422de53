"""The scope that is announced to the edge, for a stack that does not hand test ids on to providers.

A file in the folder of the cell, replaced in one step: {"name", "test_id", "attempt", "worker"}. It is there while a
test, or a fixture wider than a test, is at work. Under xdist each worker has a file of its own, and none of them says
whose a call is: that several are at work is all that they tell.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path

from stackproof.recorder import scope as scopes
from stackproof.recorder.scope import Scope

NAME = "announced-scope"
_SUFFIX = ".json"
Announce = Callable[[Scope | None], None]


def announcer(folder: str, worker: str = "") -> Announce:
    """What puts a scope into the file, or takes the file away (None). worker: of xdist, empty where there is none."""
    path = Path(folder, f"{NAME}.{worker}{_SUFFIX}" if worker else NAME + _SUFFIX)
    temporary = Path(f"{path}.{os.getpid()}.tmp")

    def announce(owner: Scope | None) -> None:
        if owner is None:
            path.unlink(missing_ok=True)
            return
        facts = {"name": owner.name, "test_id": owner.test_id, "attempt": owner.attempt, "worker": owner.worker}
        temporary.write_text(json.dumps(facts), encoding="utf-8")
        temporary.replace(path)

    return announce


def announced(folder: str) -> Scope | None:
    """The scope that is announced; UNKNOWN where several workers are at work; None where nobody is."""
    try:
        facts = json.loads(Path(folder, NAME + _SUFFIX).read_bytes())
    except FileNotFoundError:
        return scopes.UNKNOWN if _workers(folder) else None
    except (OSError, ValueError):
        return scopes.UNKNOWN
    return Scope(
        name=str(facts["name"]),
        test_id=facts["test_id"],
        attempt=int(facts["attempt"]),
        worker=str(facts["worker"]),
    )


def _workers(folder: str) -> bool:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return any(entry.name.startswith(NAME + ".") and entry.name.endswith(_SUFFIX) for entry in entries)
    return False
