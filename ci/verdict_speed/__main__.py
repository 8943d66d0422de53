"""How fast reports are read, judged and merged: `python -m ci.verdict_speed [--cases 100000] [--rounds 5]`.

Everything runs in a process of its own, in turn, over the same made-up run folder: our reader and the verdict's
decision, the floor (lxml's iterparse, which only looks at what each case says), junitparser, and merging. lxml and
junitparser are fetched from the package index into an environment of their own, which is kept in `--home`. Prints the
table of docs/evidence.md, and ends with 1 where an aim is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.verdict_speed import made

from stackproof.evidence import machine

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_DEADLINE = 600.0
_MEMORY = 64 << 20  # the aim: bytes above the start
_TIMES = 3.0  # the aim: so often the floor
_FLOOR = "floor"


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """Something that is measured. theirs: it needs packages of others."""

    name: str
    words: str
    theirs: bool = False


_WAYS = (
    Way(name="walked", words="lxml's iterparse, no case looked at", theirs=True),
    Way(name=_FLOOR, words="**floor**: lxml's iterparse, each case's names, time and marks looked at", theirs=True),
    Way(name="floor-kept", words="the same, and kept in a list", theirs=True),
    Way(name="report", words="our reader: the report alone"),
    Way(name="judged", words="**the whole verdict**: report, log of tests, digests of both, decision"),
    Way(name="junitparser", words="junitparser: the report, held whole", theirs=True),
    Way(name="junitparser-stream", words="junitparser's model, fed element by element from iterparse", theirs=True),
    Way(name="merged", words="our merging of four such reports' worth"),
    Way(name="junitparser-merged", words="junitparser's merging of the same", theirs=True),
)

_OF_SHARDS = (
    Way(name="shards-floor", words="**floor**: lxml's iterparse over all reports, each case looked at", theirs=True),
    Way(name="shards-bytes", words="digests of all files, and nothing else"),
    Way(name="shards", words="**the whole verdict**: manifests, digests, reports, logs, put together, decision"),
    Way(name="shards-merged", words="one `junit.xml` of all"),
)
# The aims: a shard is seven files to open where the floor has one, a test is a name to hold.
_TIMES_OF_SHARDS = 4.0
_SECONDS_OF_SHARD = 0.0015
_BASE, _EACH_TEST, _EACH_SHARD = 16 << 20, 300, 12 << 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """What one way took over all rounds: seconds of processor time, bytes above the start."""

    way: Way
    cpu: list[float]
    above: list[int]

    @property
    def middle(self) -> float:
        """The median time."""
        return statistics.median(self.cpu)


def main(argv: Sequence[str]) -> int:
    """Measure and print; 1 when an aim is missed."""
    parser = argparse.ArgumentParser(prog="python -m ci.verdict_speed")
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--shards", type=int, help="the same tests in so many run folders of a shard each")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--home", type=Path, default=_ROOT / ".stackproof" / "verdict-speed")
    given = parser.parse_args(argv)
    theirs = _environment(given.home)
    if given.shards:
        return _shards(given.cases, given.shards, given.rounds, theirs)
    found = {way.name: Found(way=way, cpu=[], above=[]) for way in _WAYS}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made.write_run(folder, given.cases)
        for number in range(4):
            made.write_report(folder / f"shard-{number}.xml", given.cases // 4, cell=f"shard-{number}")
        for _ in range(given.rounds):
            for way in _WAYS:
                facts = _once(theirs if way.theirs else Path(sys.executable), way, given.cases, folder)
                found[way.name].cpu.append(facts["cpu"])
                found[way.name].above.append(int(facts["above"]))
    floor = found[_FLOOR].middle
    print(f"{given.cases} cases, {given.rounds} rounds, {machine.fingerprint().words()}\n")
    print("| what | s | × floor | MiB above start |\n|---|---|---|---|")
    for each in found.values():
        mebibytes = max(each.above) / (1 << 20)
        print(f"| {each.way.words} | {each.middle:.2f} | {each.middle / floor:.1f} | {mebibytes:.0f} |")
    judged = found["judged"]
    fast, small = judged.middle <= _TIMES * floor, max(judged.above) <= _MEMORY
    print(f"\n{_met(fast)}: at most {_TIMES:.0f} × floor. {_met(small)}: at most {_MEMORY >> 20} MiB above the start.")
    return 0 if fast and small else 1


def _shards(cases: int, total: int, rounds: int, theirs: Path) -> int:
    """Measure the verdict over shards, beside the floor over the same reports; 1 when an aim is missed."""
    found = {way.name: Found(way=way, cpu=[], above=[]) for way in _OF_SHARDS}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made.write_shards(folder / "runs", cases, total)
        for _ in range(rounds):
            for way in _OF_SHARDS:
                facts = _once(theirs if way.theirs else Path(sys.executable), way, cases, folder)
                found[way.name].cpu.append(facts["cpu"])
                found[way.name].above.append(int(facts["above"]))
    floor = found["shards-floor"].middle
    print(f"{cases} tests in {total} shards, {rounds} rounds, {machine.fingerprint().words()}\n")
    print("| what | s | × floor | MiB above start |\n|---|---|---|---|")
    for each in found.values():
        mebibytes = max(each.above) / (1 << 20)
        print(f"| {each.way.words} | {each.middle:.2f} | {each.middle / floor:.1f} | {mebibytes:.0f} |")
    whole = found["shards"]
    allowed = _BASE + cases * _EACH_TEST + total * _EACH_SHARD
    seconds = _TIMES_OF_SHARDS * floor + _SECONDS_OF_SHARD * total
    fast, small = whole.middle <= seconds, max(whole.above) <= allowed
    print(
        f"\n{_met(fast)}: at most {seconds:.1f} s, {_TIMES_OF_SHARDS:.0f} × floor and 1.5 ms a shard. "
        f"{_met(small)}: at most {allowed >> 20} MiB above the start."
    )
    return 0 if fast and small else 1


def _met(met: bool) -> str:
    return "met" if met else "MISSED"


def _environment(home: Path) -> Path:
    """The Python that has lxml and junitparser, made where it is missing."""
    python = home / "bin" / "python"
    if not python.is_file():
        venv.create(home, with_pip=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "lxml", "junitparser"], check=True, timeout=_DEADLINE
        )
    return python


def _once(python: Path, way: Way, cases: int, folder: Path) -> dict[str, float]:
    done = subprocess.run(
        [python, str(_HERE / "child.py"), way.name, str(cases), str(folder)],
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=_DEADLINE,
    )
    facts: dict[str, float] = json.loads(done.stdout)
    return facts


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
