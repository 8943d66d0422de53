"""`python -m ci.docker_speed`: starts and ends of `docker:reference` beside `docker run` of the same image.

Everything takes turns in one run, so that a busy machine hits all alike. Needs a Docker engine that is this machine's,
and STACKPROOF_DOCKER_BASE; prints the tables of docs/stacks/speed.md. Nothing else may run containers meanwhile.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from stackproof import catalog
from stackproof.stack import engine as engines
from stackproof.stack import image

from . import cold, figures, plain, ten, whole

PROJECT = Path(__file__).parents[2]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m ci.docker_speed", description=__doc__)
    parser.add_argument("--rounds", type=int, default=12, help="rounds of everything but builds, 10 at least")
    parser.add_argument("--builds", type=int, default=2, help="starts with an image that is still to be built")
    parser.add_argument("--tens", type=int, default=3, help="runs with ten cells, with one container and with ten")
    parser.add_argument("--calls", action="store_true", help="also how long each call to the engine took")
    chosen = parser.parse_args()
    tag, size, base, base_size = _images()
    taken: dict[str, list[float]] = defaultdict(list)
    started: list[dict[str, Any]] = []
    one_start()  # nobody's first
    for number in range(chosen.rounds):
        print(f"round {number + 1} of {chosen.rounds}", file=sys.stderr)
        taken["plain"].append(plain.contained(tag))
        started.append(one_start())
        taken["true"].append(plain.nothing(tag))
        taken["bare"].append(plain.bare(PROJECT))
        gone = whole.run(PROJECT, "--file", whole.TEST)
        taken["pytest"].append(gone.pytest)
        taken["engine"].append(gone.engine)
        taken["processes"].append(gone.processes)
        taken["command"].append(gone.command)
    taken["ours"] = [item["ready"] for item in started]
    taken["teardown"] = [item["teardown"] for item in started]
    print(f"{chosen.rounds} rounds; {tag}, {size / 1e6:.0f} MB, on {base}, {base_size / 1e6:.0f} MB\n")
    _table(taken)
    if chosen.calls:
        _calls(started)
    for number in range(chosen.builds):
        print(f"build {number + 1} of {chosen.builds}", file=sys.stderr)
        taken["build"].append(cold.start(PROJECT, fetch=False))
        taken["fetch"].append(cold.start(PROJECT, fetch=True))
    if chosen.builds:
        print("\n| first 200 of `docker:reference` | median (range) |\n|---|---|")
        print(f"| its image to be built | {figures.seconds(taken['build'])} |")
        print(f"| its wheels to be fetched and its image to be built | {figures.seconds(taken['fetch'])} |", flush=True)
    if chosen.tens:
        _tens(chosen.tens)


def one_start(project: Path = PROJECT, environ: dict[str, str] | None = None) -> dict[str, Any]:
    """One start of ours in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "ci.docker_speed.ours", str(project)],
        cwd=PROJECT,
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=600,
    )
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def _images() -> tuple[str, int, str, int]:
    """The stack's image, built where it is missing, and its base: names, and sizes in bytes."""
    with contextlib.closing(engines.connect(os.environ)) as engine:
        base = os.environ["STACKPROOF_DOCKER_BASE"]
        stack = catalog.load(PROJECT).stack("reference")
        tag, facts = image.prepare(
            engine, stack, base=base, environment=os.environ, say=lambda _: None, check=lambda: None
        )
        found = engine.image(base)
        return tag, facts.size, base, 0 if found is None else found.size


def _table(taken: dict[str, list[float]]) -> None:
    both = [one + other for one, other in zip(taken["true"], taken["bare"], strict=True)]
    rows: list[tuple[str, Sequence[float], str]] = [
        ("`docker run --detach` until the first 200", taken["plain"], "1"),
        ("`docker:reference`, warm", taken["ours"], str(figures.ratio(taken["ours"], taken["plain"]))),
        ("`docker run --rm IMAGE true`", taken["true"], ""),
        ("the stack as a process of this machine, without the recorder", taken["bare"], ""),
        ("the two together", both, f"warm is {figures.ratio(taken['ours'], both)} of it"),
        ("stack and network taken away", taken["teardown"], ""),
        ("from the last test until the stack is told to end", taken["pytest"], ""),
        ("from the last test until container and network are gone", taken["engine"], ""),
        ("from the last test until the processes of the cell are gone", taken["processes"], ""),
        ("from the last test until `stackproof run` has ended", taken["command"], ""),
    ]
    print("| | median (range) | ratio (95 % interval) |\n|---|---|---|")
    for what, values, compared in rows:
        if values:
            print(f"| {what} | {figures.seconds(values)} | {compared} |", flush=True)


def _tens(rounds: int) -> None:
    """Ten cells with one container, and with one for each."""
    taken: dict[bool, list[ten.Ten]] = {True: [], False: []}
    with ten.project(PROJECT, shared=True) as one, ten.project(PROJECT, shared=False) as each:
        for number in range(rounds):
            print(f"ten cells, round {number + 1} of {rounds}", file=sys.stderr)
            for shared, folder in ((True, one), (False, each)):
                taken[shared].append(ten.run(folder))
    whole = {shared: [item.whole for item in found] for shared, found in taken.items()}
    starts = {shared: [start for item in found for start in item.starts] for shared, found in taken.items()}
    compared = figures.ratio(whole[True], whole[False])
    print(f"\n| {ten.CELLS} cells | the run | ready in | ratio of the runs (95 % interval) |\n|---|---|---|---|")
    print(f"| a container for each | {figures.seconds(whole[False])} | {figures.seconds(starts[False])} | 1 |")
    print(f"| one for all | {figures.seconds(whole[True])} | {figures.seconds(starts[True])} | {compared} |")


def _calls(started: Sequence[dict[str, Any]]) -> None:
    """The median of when each call began and of how long it took; looks at a container while it starts are one row."""
    rows: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for item in started:
        times: dict[str, int] = defaultdict(int)
        for name, at, took in item["calls"]:
            times[name] += 1
            rows[name if name == "state" else f"{name} {times[name]}"].append((at, took))
    print("\n| call | begins at | takes |\n|---|---|---|")
    for name, found in sorted(rows.items(), key=lambda row: median(at for at, _ in row[1])):
        print(f"| {name} | {median(at for at, _ in found):.3f} s | {median(took for _, took in found) * 1000:.0f} ms |")


if __name__ == "__main__":
    main()
