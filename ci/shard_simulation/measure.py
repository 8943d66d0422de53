"""Collects measured durations into `durations.json`: `python -m ci.shard_simulation.measure --help` has the options.

Runs are run folders of this repository's suites, the median where a test was run several times; reports are JUnit
reports of its own tests. How long a test takes whose calls go out is known from the recordings: each says how long the
provider let us wait before each chunk.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ci.shard_simulation.durations import FILE, Kind, Measured, write

from stackproof.evidence import machine
from stackproof.shards import timings

_ROOT = Path(__file__).parents[2]


def main(argv: Sequence[str]) -> int:
    """Collect, and write `durations.json`."""
    parser = argparse.ArgumentParser(prog="python -m ci.shard_simulation.measure")
    parser.add_argument("--runs", type=Path, nargs="+", required=True)
    parser.add_argument("--reports", type=Path, nargs="+", required=True)
    parser.add_argument("--starts", type=Path, nargs="+", required=True, help="run folders, of a quiet machine")
    parser.add_argument("--output", type=Path, default=FILE)
    given = parser.parse_args(argv)
    runs, reports = timings.read(given.runs), timings.read(given.reports)
    for problem in (*runs.problems, *reports.problems):
        print(problem, file=sys.stderr)
    replayed = [(test, seconds) for cell in runs.cells.values() for test, seconds in cell.tests.items()]
    measured = Measured(
        kinds=(
            _kind("replayed", "this repository's suites, replayed", (seconds for _, seconds in replayed)),
            _kind(
                "live",
                "the same tests as they were recorded: what their providers took is added",
                _live(dict(replayed), _ROOT / "recordings"),
            ),
            _kind("unit", "unit tests of this repository", reports.rows.values()),
        ),
        starts=tuple(sorted(_starts(given.starts))),
        machine=machine.fingerprint().words(),
    )
    write(measured, given.output)
    for kind in measured.kinds:
        print(
            f"{kind.name}: {len(kind.seconds)} tests, {sum(kind.seconds):.1f} s, the longest {kind.seconds[-1]:.2f} s"
        )
    print(f"starts: {len(measured.starts)}, the median {measured.start:.1f} s")
    return 0


def _kind(name: str, what: str, seconds: Iterable[float]) -> Kind:
    return Kind(name=name, what=what, seconds=tuple(sorted(round(max(one, 0.0001), 4) for one in seconds)))


def _starts(folders: Iterable[Path]) -> Iterator[float]:
    for folder in folders:
        for cell in timings.read([folder]).cells.values():
            if cell.start is not None:
                yield round(cell.start, 2)


def _live(replayed: dict[str, float], recordings: Path) -> list[float]:
    """Seconds of each test of each setup whose recordings say how long the provider took."""
    waited: Counter[tuple[str, str]] = Counter()
    for path in sorted(recordings.rglob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        waits = (content.get("response") or {}).get("waits") or ()
        if waits and content.get("test_id"):
            waited[path.relative_to(recordings).parts[0], content["test_id"]] += sum(waits)
    return [milliseconds / 1000 + replayed.get(test, 0.0) for (_, test), milliseconds in waited.items()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
