"""`python -m ci.peers.cost FILE COUNT…`: what a replayed call costs with each recorder, over so many recordings.

Writes `{"costs": {COUNT: {TOOL: {"ratio", "opening"}}}, "missing": {TOOL: reason}, "versions": {TOOL: version}}`.
A recorder that is not installed is told under `missing`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError
from pathlib import Path

from .compare import PROJECT, RECORDERS, Run
from .provider import LoopbackProvider
from .recorders import version_of


def measure(counts: Sequence[int]) -> dict[str, object]:
    """Record with each installed recorder, then replay in turns."""
    versions, missing = {}, {}
    for tool in RECORDERS:
        try:
            versions[tool] = str(version_of(tool))
        except PackageNotFoundError:
            missing[tool] = f"{tool} is not installed here"
    with tempfile.TemporaryDirectory(prefix="peers-") as folder:
        provider = LoopbackProvider(PROJECT)
        run = Run(provider=provider, folder=Path(folder), rounds=0, counts=tuple(counts), recorders=tuple(versions))
        try:
            run.fill()
        finally:
            provider.stop()
        found = run.costs()
    costs = {count: {tool: asdict(cost) for tool, cost in tools.items()} for count, tools in found.items()}
    return {"costs": costs, "missing": missing, "versions": versions}


def main(arguments: Sequence[str]) -> int:
    """Measure and write the file."""
    target, *counts = arguments
    Path(target).write_text(json.dumps(measure([int(count) for count in counts])), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
