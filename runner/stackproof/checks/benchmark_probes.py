"""`python -m stackproof.checks.benchmark_probes import|first|first-floor|memory FOLDER`: what a fresh process is asked.

`FOLDER` holds what `benchmark_turns record` wrote. One line of JSON goes to standard output: `{"value": …}`.
"""

from __future__ import annotations

import gc
import json
import sys
import tempfile
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path

import openai

CALLS = 10_000


def import_seconds(folder: Path) -> float:
    """Processor seconds to load the recorder and put it in, where the SDK is loaded already."""
    client = openai.OpenAI(api_key="benchmark")
    began = time.process_time()
    from stackproof.recorder.install import install, uninstall  # noqa: PLC0415 - this is what is measured
    from stackproof.recorder.mode import Mode  # noqa: PLC0415
    from stackproof.recorder.settings import Provider, Settings  # noqa: PLC0415

    told = Settings(
        mode=Mode.REPLAY,
        recordings=str(folder / "recordings"),
        setup="benchmark",
        run_dir=fresh(folder),
        run_id="benchmark",
        providers=(Provider(name="benchmark", prefixes=("http://benchmark.invalid/v1",)),),
    )
    brain = install(told)
    seconds = time.process_time() - began
    uninstall(brain)
    client.close()
    return seconds


def first_seconds(folder: Path, *, floor: bool) -> float:
    """Seconds of the first turn of a process: nothing has been called, opened or compared in it before."""
    from stackproof.checks.benchmark_answers import Kind, in_memory  # noqa: PLC0415 - not for the import's measure
    from stackproof.checks.benchmark_turns import SERIES, client_of, settings, turn  # noqa: PLC0415
    from stackproof.recorder.install import installed  # noqa: PLC0415
    from stackproof.recorder.mode import Mode  # noqa: PLC0415
    from stackproof.recorder.scope import use  # noqa: PLC0415

    with installed(settings(folder, Mode.REPLAY, run_dir=fresh(folder))), use(SERIES[0].scope):
        client = client_of(in_memory(Kind.CHAT) if floor else None)
        began = time.perf_counter()
        turn(client, 0, kind=Kind.CHAT)
        return time.perf_counter() - began


def memory_a_call(folder: Path) -> float:
    """Bytes that are held on to for each further replayed turn, after a fifth of 10,000: `tracemalloc` counts them.

    Each turn is one that was not made before in its test, so that each takes a number of its own, as in a real run.
    """
    from stackproof.checks.benchmark_answers import Kind  # noqa: PLC0415
    from stackproof.checks.benchmark_turns import SERIES, TURNS, client_of, settings, turn  # noqa: PLC0415
    from stackproof.recorder.install import installed  # noqa: PLC0415
    from stackproof.recorder.mode import Mode  # noqa: PLC0415
    from stackproof.recorder.scope import use  # noqa: PLC0415

    held: list[tuple[int, int]] = []
    with installed(settings(folder, Mode.REPLAY, run_dir=fresh(folder))):
        client = client_of()
        for call in range(CALLS + 1):
            if call in (CALLS // 5, CALLS):
                gc.collect()
                held.append((call, tracemalloc.get_traced_memory()[0]))
            elif call == CALLS // 10:
                tracemalloc.start()
            with use(replace(SERIES[0].scope, attempt=2 + call // TURNS)):
                turn(client, call % TURNS, kind=Kind.CHAT)
    tracemalloc.stop()
    (first, before), (last, after) = held
    return (after - before) / (last - first)


def fresh(folder: Path) -> str:
    """A run folder that nobody has called in."""
    return tempfile.mkdtemp(prefix="run-", dir=folder)


def main(arguments: list[str]) -> int:
    """Measure one thing and print it."""
    what, folder = arguments[0], Path(arguments[1])
    match what:
        case "import":
            value = import_seconds(folder)
        case "first" | "first-floor":
            value = first_seconds(folder, floor=what == "first-floor")
        case "memory":
            value = memory_a_call(folder)
        case _:
            return 2
    print(json.dumps({"value": value}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
