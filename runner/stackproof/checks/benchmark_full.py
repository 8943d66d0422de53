"""`stackproof benchmark --full`: everything that docs/benchmarks.md shows, measured in one go and written there."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from stackproof import console
from stackproof.checks import benchmark_files, benchmark_page, benchmark_processes
from stackproof.checks.benchmark_child import ChildFailedError, measured
from stackproof.checks.benchmark_turns import FULL, RESULT
from stackproof.errors import ExitCode
from stackproof.evidence import jsonfile, machine
from stackproof.evidence.benchmark import BenchmarkLine, lines_of
from stackproof.evidence.benchmark_table import Figure, Table, to_json
from stackproof.run.rundir import new_run_dir

NAME = Path("checks/benchmark-full.json")
DEADLINE = 1200.0  # seconds, for each program that is run
PEER_COUNTS = (10, 100, 1_000)
PEERS = ("vcrpy", "cassetter")
_CALLS = "One call"
_PAIRS = "median over 300 pairs"
# Series of `benchmark_turns`: what the page calls it, and the aim.
_KINDS = {
    "turns": ("a chat answer of 1 kB", 1.15),
    "turns-streamed": ("a streamed chat answer of 50 events", 1.10),
    "embeddings": ("an embedding of 768 numbers", 1.10),
    "embeddings-base64": ("an embedding of 768 numbers, as base64", None),
}
_BESIDE = {"turns-beside-10": 10, "turns-beside-1000": 1_000, "turns-beside-100000": 100_000}


def run(project: Path, environ: Mapping[str, str], *, say: Callable[[str], None] = console.out) -> int:
    """Measure everything, keep it in a run folder, and write page and plot below `project`.

    0 when all could be measured (that an aim is missed is told by the page: aims are no gates), 7 when something could
    not. It takes about a quarter of an hour, and room for 200,000 small files in the folder for temporary ones.
    """
    run_dir = new_run_dir(project)
    load, date = os.getloadavg()[0], datetime.now(UTC).isoformat(timespec="seconds")
    found: list[Figure] = []
    curves: dict[str, dict[int, float]] = {}
    with tempfile.TemporaryDirectory(prefix="stackproof-benchmark-") as temporary:
        folder = Path(temporary)
        for figure in _all(project, folder, environ, curves):
            found.append(figure)
            say(f"{benchmark_page.mark(figure)} {figure.what}: {benchmark_page.figure_words(figure)}")
    table = Table(
        figures=tuple(found),
        machine=machine.fingerprint(),
        date=date,
        load=load,
        versions={name: told for name in ("stackproof", "openai", "httpx2", *PEERS) if (told := _version(name))},
        curves=curves,
    )
    jsonfile.write(run_dir / NAME, to_json(table))
    for path in benchmark_page.write(project, table):
        say(f"  written: {path.relative_to(project)}")
    return ExitCode.PASS if table.is_whole else ExitCode.NOT_PROVEN


def _all(
    project: Path, folder: Path, environ: Mapping[str, str], curves: dict[str, dict[int, float]]
) -> Iterator[Figure]:
    recorded = folder / "turns"
    recorded.mkdir()
    yield from _turns(recorded, environ, curves)
    for name in ("processes", "files"):
        (folder / name).mkdir()
    yield from benchmark_processes.figures(recorded, folder / "processes", environ)
    yield from benchmark_files.figures(folder / "files", environ)
    yield from _peers(project, folder, environ, curves)


def _turns(folder: Path, environ: Mapping[str, str], curves: dict[str, dict[int, float]]) -> Iterator[Figure]:
    try:
        for what in ("record", "replay"):
            command = [sys.executable, "-m", "stackproof.checks.benchmark_turns", what, str(folder), FULL]
            measured(command, folder=folder, environ=environ, deadline=DEADLINE)
    except ChildFailedError as error:
        yield Figure(group=_CALLS, what="replayed calls", unit="× floor", how=_PAIRS, why=str(error))
        return
    lines = lines_of(jsonfile.read(folder / RESULT) or {"lines": []})
    yield from of_turns(lines)
    curves["stackproof"] = {count: line.ratio.estimate for count, line in _beside(lines) if line.ratio is not None}


def of_turns(lines: Mapping[str, BenchmarkLine]) -> Iterator[Figure]:
    """The figures of one call, from the times of each series."""
    for name, (what, aim) in _KINDS.items():
        line = lines.get(name)
        figure = Figure(group=_CALLS, what=what, unit="× floor", aim=aim, how=_PAIRS)
        if line is None or line.ratio is None:
            yield replace(figure, why="it is not among the times")
        else:
            yield figure.found(line.ratio, line.words())
    ratios = {count: line.ratio.estimate for count, line in _beside(lines) if line.ratio is not None}
    words = [f"{count:,}" for count in _BESIDE.values()]
    spread = Figure(
        group=_CALLS, what=f"a chat answer with {', '.join(words[:-1])} or {words[-1]} recordings beside it", unit="%",
        aim=5.0, how=f"the largest ratio by the smallest, each the {_PAIRS}, which take turns",
    )  # fmt: skip
    if len(ratios) < len(_BESIDE):
        yield replace(spread, why="it is not among the times")
        return
    told = ", ".join(f"{ratio:.3f}" for ratio in ratios.values())
    yield replace(spread, value=(max(ratios.values()) / min(ratios.values()) - 1) * 100, more=f"{told} × floor")


def _beside(lines: Mapping[str, BenchmarkLine]) -> list[tuple[int, BenchmarkLine]]:
    return [(count, lines[name]) for name, count in _BESIDE.items() if name in lines]


def _peers(
    project: Path, folder: Path, environ: Mapping[str, str], curves: dict[str, dict[int, float]]
) -> Iterator[Figure]:
    """The recorders beside each other, as `ci/peers` drives them."""
    target = folder / "cost.json"
    command = [sys.executable, "-m", "ci.peers.cost", str(target), *map(str, PEER_COUNTS)]
    told: Mapping[str, Any] = {}
    why = ""
    try:
        with_project = {**environ, "PYTHONPATH": os.pathsep.join([str(project), *_own(environ)])}
        measured(command, folder=folder, environ=with_project, deadline=DEADLINE)
        told = jsonfile.read(target) or {}
    except ChildFailedError as error:
        why = str(error)
    yield from of_peers(told, why)
    for tool in PEERS:
        curve = {int(count): costs[tool]["ratio"] for count, costs in told.get("costs", {}).items() if tool in costs}
        if curve:
            curves[tool] = curve


def of_peers(told: Mapping[str, Any], why: str = "") -> Iterator[Figure]:
    """A line for each recorder and number of recordings; a recorder that is not installed has its lines, too."""
    costs, missing = told.get("costs", {}), told.get("missing", {})
    for count in PEER_COUNTS:
        for tool in ("stackproof", *PEERS):
            figure = Figure(
                group="Beside other recorders", what=f"{tool}, {count:,} recordings of one test", unit="× floor",
                how="the OpenAI call of docs/peers.md, bodies matched, recorders taking turns",
            )  # fmt: skip
            cost = costs.get(str(count), {}).get(tool)
            if cost is None:
                yield replace(figure, why=missing.get(tool) or why or "it told nothing")
            else:
                more = f"opening the recordings takes as long as {cost['opening']:.1f} in-memory calls"
                yield replace(figure, value=cost["ratio"], more=more)


def _own(environ: Mapping[str, str]) -> list[str]:
    return [environ["PYTHONPATH"]] if environ.get("PYTHONPATH") else []


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
