"""Figures about whole processes: what loading costs, the first call, memory, and the plugin in an empty pytest run."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from stackproof.checks.benchmark_child import ChildFailedError, Taken, measured
from stackproof.evidence.benchmark_table import Figure
from stackproof.evidence.statistics import median_interval

T = TypeVar("T")
PROCESSES = 20
DEADLINE = 300.0  # seconds, for one process
_GROUP = "A process"
IMPORT = Figure(
    group=_GROUP, what="loading the recorder, where openai is loaded", unit="ms", aim=50.0,
    how="processor time from the first import to the installed recorder, median of processes",
)  # fmt: skip
FIRST = Figure(
    group=_GROUP, what="the first call of a process", unit="ms",
    how="replayed less in-memory, median over pairs of processes that have loaded everything and called nothing",
)  # fmt: skip
PLUGIN = Figure(
    group=_GROUP, what="the pytest plugin in a run of one empty test", unit="ms", aim=50.0,
    how="processor time of pytest with this plugin alone less that of pytest with none, median over pairs of processes",
)  # fmt: skip
MEMORY = Figure(
    group=_GROUP, what="memory that stays after each of 10,000 calls", unit="bytes", aim=512.0,
    how="tracemalloc at call 10,000 less at call 2,000, by the calls between; each takes a number of its own",
)  # fmt: skip


def figures(recorded: Path, scratch: Path, environ: Mapping[str, str]) -> Iterator[Figure]:
    """Measure all of them. `recorded` is a folder that `benchmark_turns record` filled, `scratch` an empty one."""

    def probe(what: str) -> float:
        command = [sys.executable, "-m", "stackproof.checks.benchmark_probes", what, str(recorded)]
        taken = measured(command, folder=scratch, environ=environ, deadline=DEADLINE)
        return float(json.loads(taken.out)["value"])

    yield attempted(IMPORT, lambda: _import(probe))
    yield attempted(FIRST, lambda: _first(probe))
    yield attempted(PLUGIN, lambda: _plugin(scratch, environ))
    yield attempted(MEMORY, lambda: replace(MEMORY, value=probe("memory")))


def attempted(figure: Figure, measure: Callable[[], Figure]) -> Figure:
    """The measured figure; where that fails, the same one with the reason in place of a value."""
    try:
        return measure()
    except ChildFailedError as error:
        return replace(figure, why=str(error))


def _import(probe: Callable[[str], float]) -> Figure:
    probe("import")  # compiles what is not compiled yet
    return IMPORT.found(median_interval([probe("import") * 1000 for _ in range(PROCESSES)]))


def _first(probe: Callable[[str], float]) -> Figure:
    pairs = alternating(lambda: probe("first"), lambda: probe("first-floor"))
    more = [(replayed - floor) * 1000 for replayed, floor in pairs]
    floor = sorted(floor for _, floor in pairs)[len(pairs) // 2] * 1000
    return FIRST.found(median_interval(more), f"the in-memory call itself takes {floor:.0f} ms")


def _plugin(scratch: Path, environ: Mapping[str, str]) -> Figure:
    (scratch / "test_empty.py").write_text("def test_nothing():\n    pass\n", encoding="utf-8")
    (scratch / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")

    # Plugins that happen to be installed beside it take longer than what is measured, and may not get on together.
    alone = {**environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

    def run(*more: str) -> Taken:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *more]
        return measured(command, folder=scratch, environ=alone, deadline=DEADLINE)

    run("-p", "stackproof")
    pairs = alternating(lambda: run("-p", "stackproof"), run)
    cpu = median_interval([(given.cpu - without.cpu) * 1000 for given, without in pairs])
    wall = median_interval([(given.seconds - without.seconds) * 1000 for given, without in pairs])
    return PLUGIN.found(cpu, f"{wall.estimate:.0f} ms of wall time")


def alternating(one: Callable[[], T], other: Callable[[], T]) -> list[tuple[T, T]]:
    """Pairs of both; which one goes first alternates, so that a drift hits both alike."""
    pairs: list[tuple[T, T]] = []
    for number in range(PROCESSES):
        if number % 2:
            second = other()
            pairs.append((one(), second))
        else:
            pairs.append((one(), other()))
    return pairs
