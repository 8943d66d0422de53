"""What planning costs, beside a floor: sorting the same list of tests in the same process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_CHILD = Path(__file__).with_name("planning_child.py")
_DEADLINE = 900.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Planned:
    """One division in a process of its own. seconds, floor: processor time of dividing, and of sorting the tests.

    held: bytes of the tests and their times, which are there before; above: the most memory beyond that.
    """

    tests: int
    parts: int
    seconds: float
    floor: float
    held: int
    above: int


def plan_all(tests: Sequence[int], parts: Sequence[int], rounds: int) -> Iterator[Planned]:
    """The fastest of some rounds for each number of tests and parts; memory is the most of all rounds."""
    for count in tests:
        for total in parts:
            found = [_plan(count, total) for _ in range(rounds)]
            yield Planned(
                tests=count,
                parts=total,
                seconds=min(each.seconds for each in found),
                floor=min(each.floor for each in found),
                held=max(each.held for each in found),
                above=max(each.above for each in found),
            )


def _plan(tests: int, parts: int) -> Planned:
    done = subprocess.run(
        [sys.executable, str(_CHILD), str(tests), str(parts)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=_DEADLINE,
    )
    return Planned(tests=tests, parts=parts, **json.loads(done.stdout))
