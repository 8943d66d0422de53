"""How the edge bears load, in figures: `python -m ci.edge_load [--streams 200] [--events 500] [--rounds 5]`.

The edge replays a recorded stream to many callers at once. In the same run, in turn with it, a bare ASGI server
(uvicorn) sends the same bytes in the same pieces. Prints the processor time that an event costs each of them, their
ratio, the memory of the edge, and what the edge adds to the first byte of a call that it records.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ci.edge_load.stream import ask, pieces

from stackproof.catalog.records import ReadinessSpec
from stackproof.edge import process
from stackproof.recorder.brain import Brain
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope
from stackproof.recorder.settings import Provider, Settings
from stackproof.stack import ports
from stackproof.stack.process import Process
from stackproof.stack.readiness import wait_ready

_ROOT = Path(__file__).parents[2]
_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_ONE = "tests/integration/probe/test_it.py::test_one"
_PATH = "/v1/chat/completions"
_FIRST_BYTES = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Round:
    """What many streams at once were. seconds: of the server's processor time; wall: of the clock."""

    events: int
    failed: int
    seconds: float
    wall: float

    @property
    def each(self) -> float:
        """Microseconds of processor time for one event."""
        return self.seconds / self.events * 1e6


def main(argv: Sequence[str]) -> int:
    """Measure and print; 1 when a stream failed."""
    parser = argparse.ArgumentParser(prog="python -m ci.edge_load", description=(__doc__ or "").partition("\n")[0])
    for name, value in (("streams", 200), ("events", 500), ("rounds", 5)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        facts = asyncio.run(measure(Path(folder), options.streams, options.events, options.rounds))
    print(json.dumps(facts, indent=2))
    return 1 if facts["failed_streams"] else 0


async def measure(folder: Path, streams: int, events: int, rounds: int) -> dict[str, Any]:
    """All figures, in an empty folder."""
    owners, sent = [f"{_ONE}[{number}]" for number in range(streams)], b"".join(pieces(events))
    with _bare(folder, events) as (origin, bare_pid):
        with _edge(folder, Mode.RECORD, origin) as (url, _):
            recorded = (await ask(url, scope=_ONE)).body()
            direct, recording = [], []
            for number in range(_FIRST_BYTES):
                direct.append((await ask(origin + _PATH)).first)
                recording.append((await ask(url, scope=f"{_ONE}-{number}")).first)
        _copy(folder, owners)
        with _edge(folder, Mode.REPLAY, origin) as (url, pid):
            memory, mine, floor = [_memory(pid)], [], []
            for number in range(1, rounds + 1):
                floor.append(await _many(origin + _PATH, owners, bare_pid, number, sent))
                mine.append(await _many(url, owners, pid, number, recorded))
                memory.append(_memory(pid))
    ratios = sorted(edge.each / bare.each for edge, bare in zip(mine, floor, strict=True))
    return {
        "streams_at_once": streams,
        "events_each": events,
        "rounds": rounds,
        "failed_streams": sum(one.failed for one in (*mine, *floor)),
        "us_per_event": {"edge": _middle(one.each for one in mine), "bare": _middle(one.each for one in floor)},
        "ratio": {
            "median": round(statistics.median(ratios), 2),
            "from": round(ratios[0], 2),
            "to": round(ratios[-1], 2),
        },
        "events_per_second": {
            "edge": round(statistics.median(one.events / one.wall for one in mine)),
            "bare": round(statistics.median(one.events / one.wall for one in floor)),
        },
        "edge_memory_mb": memory,
        "first_byte_best_quarter_ms": {
            "direct": _quarter(direct),
            "edge": _quarter(recording),
        },
        "first_byte_ms": {
            "direct": _middle(one * 1000 for one in direct),
            "edge": _middle(one * 1000 for one in recording),
        },
    }


def _quarter(values: Sequence[float]) -> float:
    return round(statistics.quantiles(values, n=4)[0] * 1000, 1)


def _middle(values: Iterator[float]) -> float:
    return round(statistics.median(values), 1)


async def _many(url: str, owners: Sequence[str], pid: int, attempt: int, expected: bytes) -> Round:
    spent, began = _seconds(pid), time.perf_counter()
    got = await asyncio.gather(*(ask(url, scope=owner, attempt=attempt) for owner in owners), return_exceptions=True)
    wall = time.perf_counter() - began
    spent = _seconds(pid) - spent
    good = sum(not isinstance(one, BaseException) and one.status == 200 and one.body() == expected for one in got)
    return Round(
        events=expected.count(b"\n\n") * good,
        failed=len(owners) - good,
        seconds=spent,
        wall=wall,
    )


def _seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def _memory(pid: int) -> float:
    return round(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE / 1e6, 1)


@contextmanager
def _bare(folder: Path, events: int) -> Iterator[tuple[str, int]]:
    port = ports.free_port()
    words = ["-m", "uvicorn", "ci.edge_load.bare:app", "--port", str(port), "--no-access-log", "--log-level", "warning"]
    server = Process(
        name="bare",
        command=[sys.executable, *words, "--lifespan", "off", "--loop", "asyncio"],
        environment={**os.environ, "EDGE_LOAD_EVENTS": str(events)},
        cwd=_ROOT,
        log=folder / "bare.log",
    )
    origin = f"http://{ports.LOOPBACK}:{port}"
    try:
        server.start()
        wait_ready(
            process=server,
            url=origin,
            readiness=ReadinessSpec(),
            timeout=120,
            run_id="",
            marks=None,
            check=lambda: None,
        )
        yield origin, server.pid
    finally:
        server.stop()


@contextmanager
def _edge(folder: Path, mode: Mode, origin: str) -> Iterator[tuple[str, int]]:
    """The URL to call and the process id; what was recorded under the first scope is kept."""
    run_dir = folder / mode.value
    run_dir.mkdir()
    settings = Settings(
        mode=mode,
        recordings=str(folder / "recordings"),
        setup="probe",
        run_dir=str(run_dir),
        run_id="abcdef",
        providers=(Provider(name="probe", variable="PROBE_URL", prefixes=(f"{origin}/v1",)),),
    )
    places = process.free_places(("probe",))
    with process.running(
        settings,
        places,
        environment=os.environ,
        cell_dir=run_dir,
        log=run_dir / process.LOG,
        say=lambda text: print(text, file=sys.stderr),
        check=lambda: None,
    ) as edge:
        yield f"{places.own_address('probe')}{_PATH}", edge.pid
    if mode.records:
        brain = Brain(settings, {})
        brain.store.promote(Scope(name=_ONE, test_id=_ONE), replace=True)
        brain.ledger.close()


def _copy(folder: Path, owners: Sequence[str]) -> None:
    """The one recording, for each of the scopes."""
    (recorded,) = (folder / "recordings").rglob("*.json")
    content = json.loads(recorded.read_text())
    for owner in owners:
        name = f"{Scope(name=owner).digest[:12]}-{recorded.name.partition('-')[2]}"
        recorded.with_name(name).write_text(json.dumps({**content, "scope": owner, "test_id": owner}))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
