"""The faults planned for one test: a file of the run's folder, named by its scope's digest.

Every process that answers for the recorder reads it there, a server's and the edge's too. Whoever writes it has it on
the stack's side, wherever that is, before it returns.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass

from .. import elsewhere
from ..scope import Scope
from .fault import Fault

FOLDER = "faults"
_OVER = "over"


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What is put into a test's answers. of: the test whose recorded answers it gets, None for its own."""

    faults: tuple[Fault, ...] = ()
    of: str | None = None


def write(run_dir: str, owner: Scope, faults: Sequence[Fault], *, of: str | None = None) -> None:
    """Plan `faults` for every attempt of a test."""
    folder = os.path.join(run_dir, FOLDER)
    os.makedirs(folder, exist_ok=True)
    path = _path(run_dir, owner)
    temporary = f"{path}.{os.urandom(6).hex()}.tmp"
    with open(temporary, "x", encoding="utf-8") as file:
        json.dump({"faults": [fault.to_data() for fault in faults], "of": of}, file)
    os.replace(temporary, path)
    elsewhere.fetch(run_dir)


def read(run_dir: str, owner: Scope) -> Plan:
    """What is planned for a test; empty where nothing is."""
    try:
        with open(_path(run_dir, owner), encoding="utf-8") as file:
            data = json.load(file)
    except FileNotFoundError:
        return Plan()
    return Plan(faults=tuple(Fault.from_data(item) for item in data["faults"]), of=data["of"])


def end(run_dir: str, owner: Scope) -> None:
    """The test is over: nobody waits any more for an answer that stalls."""
    os.makedirs(os.path.join(run_dir, FOLDER), exist_ok=True)
    with open(_over(run_dir, owner), "w", encoding="utf-8"):
        pass


def is_over(run_dir: str, owner: Scope) -> bool:
    """Whether `end` was called for this attempt."""
    return os.access(_over(run_dir, owner), os.F_OK)


def _path(run_dir: str, owner: Scope) -> str:
    return f"{run_dir}/{FOLDER}/{owner.digest[:12]}"


def _over(run_dir: str, owner: Scope) -> str:
    return f"{_path(run_dir, owner)}.{owner.attempt}.{_OVER}"
