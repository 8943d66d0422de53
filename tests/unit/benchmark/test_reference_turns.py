"""The benchmark of the reference stack: turns of its agent runtime, through the real wire and the real recorder."""

from __future__ import annotations

import os
from pathlib import Path

from stackproof import catalog
from stackproof.checks import stack_benchmarks

PROJECT = Path(__file__).resolve().parents[3]


def test_twenty_turns_of_the_runtime_are_measured_beside_their_floor(tmp_path: Path) -> None:
    stacks = stack_benchmarks.of_project(PROJECT)
    assert list(stacks) == ["reference"]
    stack = catalog.load(PROJECT).stacks["reference"]
    assert stack.benchmark is not None
    found = stack_benchmarks.measured(
        stack, stack.benchmark, project=PROJECT, folder=tmp_path, environ={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert found.problem is None
    (line,) = found.lines
    assert (line.name, line.samples) == ("reference:turns", 20)
    assert line.ratio is not None
    assert line.ratio.low is not None
    assert min(*line.turns, *line.floor) > 0
    # What it recorded is gone.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["reference.json", "reference.log"]
