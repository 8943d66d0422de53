"""`python -m stackproof.checks.benchmark_turns record|replay FOLDER [--full]`: the workload of the benchmark `turns`.

It is a process of its own, so that nothing else is loaded, patched or traced while it measures. `record` lets the real
SDK talk to a small server on the loopback interface through the recorder; `replay` answers the same turns from those
files, in pairs with a floor: the same SDK, the same bytes, an in-memory transport. Real providers are never called.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import assert_never

import httpx2
import openai

from stackproof.checks.benchmark_answers import MODEL, TEXT, Kind, in_memory, server, vector
from stackproof.evidence import jsonfile
from stackproof.recorder.install import installed
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope, use
from stackproof.recorder.settings import Provider, Settings

WARM_UP, TURNS, ROUNDS = 5, 20, 15
FULL = "--full"
RESULT = "turns.json"
SETUP = "benchmark"
ROOT = "tests/integration"
_REPLAY_URL = "http://benchmark.invalid/v1"
_LINKS = 10_000  # of one file: file systems have a limit


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """One line of the benchmark: `beside` other recordings lie in the same folder."""

    name: str
    kind: Kind = Kind.CHAT
    beside: int = 0

    @property
    def scope(self) -> Scope:
        """Each series has a folder of its own, as the directories of a test suite have."""
        nodeid = f"{ROOT}/{self.name}/test_turns.py::test_turns"
        return Scope(name=nodeid, test_id=nodeid)


SERIES = (
    Series(name="turns"),
    Series(name="turns-streamed", kind=Kind.STREAMED),
    Series(name="embeddings", kind=Kind.EMBEDDINGS),
    Series(name="turns-beside-10", beside=10),
    Series(name="turns-beside-1000", beside=1_000),
)
# What is measured with `--full` alone: it takes minutes, or says less.
MORE_SERIES = (
    Series(name="embeddings-base64", kind=Kind.EMBEDDINGS_BASE64),
    Series(name="turns-beside-100000", beside=100_000),
)


def turn(client: openai.OpenAI, number: int, *, kind: Kind) -> None:
    """One turn, read to its end; RuntimeError when it is not the answer that was recorded."""
    asked = f"Turn {number}: {TEXT * 4}"
    messages: list[openai.types.chat.ChatCompletionMessageParam] = [
        {"role": "system", "content": "You are measured."},
        {"role": "user", "content": asked},
    ]
    match kind:
        case Kind.CHAT:
            text = client.chat.completions.create(model=MODEL, messages=messages).choices[0].message.content or ""
            right = text == TEXT * 12
        case Kind.STREAMED:
            with client.chat.completions.create(model=MODEL, messages=messages, stream=True) as stream:
                text = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
            right = text == TEXT * 12
        case Kind.EMBEDDINGS:
            given = client.embeddings.create(model=MODEL, input=asked, encoding_format="float")
            right = given.data[0].embedding == _VECTOR
        case Kind.EMBEDDINGS_BASE64:
            right = len(client.embeddings.create(model=MODEL, input=asked).data[0].embedding) == len(_VECTOR)
        case _:
            assert_never(kind)
    if not right:
        raise RuntimeError(f"turn {number} of {kind} was answered with something else than was recorded")


_VECTOR = vector()


def record(folder: Path, chosen: Sequence[Series] = SERIES) -> None:
    """Record every series below `folder`, from a server on the loopback interface."""
    with server() as url, installed(settings(folder, Mode.RECORD, url)) as brain:
        client = openai.OpenAI(base_url=url, api_key="benchmark", max_retries=0)
        for series in chosen:
            with use(series.scope):
                for number in range(WARM_UP + TURNS):
                    turn(client, number, kind=series.kind)
            written, _ = brain.store.promote(series.scope, replace=True)
            if written != WARM_UP + TURNS:
                raise RuntimeError(f"{written} of {WARM_UP + TURNS} turns were recorded for {series.name}")
            _crowd(folder / "recordings" / SETUP / series.name, series.beside)


def replay(folder: Path, chosen: Sequence[Series] = SERIES, rounds: int = 1) -> None:
    """Time every series and write the seconds of each pair to `folder/turns.json`.

    Series of one kind take turns, too: what makes the machine slow for a while makes all of them slow.
    """
    times: dict[str, tuple[list[float], list[float]]] = {}
    with installed(settings(folder, Mode.REPLAY)):
        for kind in dict.fromkeys(series.kind for series in chosen):
            alike = [series for series in chosen if series.kind is kind]
            times.update(_of_kind(kind, alike, rounds))
    lines = [{"name": series.name, "turns": times[series.name][0], "floor": times[series.name][1]} for series in chosen]
    jsonfile.write(folder / RESULT, {"lines": lines})


def _of_kind(kind: Kind, alike: Sequence[Series], rounds: int) -> dict[str, tuple[list[float], list[float]]]:
    """Seconds of turns and of their floors, by series."""
    times: dict[str, tuple[list[float], list[float]]] = {series.name: ([], []) for series in alike}
    replayed, in_memory_client = client_of(), client_of(in_memory(kind))
    for attempt in range(1, rounds + 1):
        for number in range(0 if attempt == 1 else WARM_UP, WARM_UP + TURNS):
            if number == WARM_UP:
                gc.collect()
            measured = partial(turn, replayed, number, kind=kind)
            floor = partial(turn, in_memory_client, number, kind=kind)
            for series in alike:
                with use(replace(series.scope, attempt=attempt)):
                    pair = _pair(measured, floor, floor_first=number % 2 == 0)
                if number >= WARM_UP:
                    for kept, seconds in zip(times[series.name], pair, strict=True):
                        kept.append(seconds)
    return times


def client_of(transport: httpx2.Client | None = None) -> openai.OpenAI:
    """The SDK as a test has it, calling what `settings` replay; or over a transport of the benchmark's own."""
    return openai.OpenAI(base_url=_REPLAY_URL, api_key="benchmark", max_retries=0, http_client=transport)


def settings(folder: Path, mode: Mode, url: str = _REPLAY_URL, run_dir: str = "") -> Settings:
    """What the recorder is told; recordings are below `folder/recordings`, the run beside them."""
    return Settings(
        mode=mode,
        recordings=str(folder / "recordings"),
        setup=SETUP,
        run_dir=run_dir or str(folder / mode.value),
        run_id="benchmark",
        integration_root=ROOT,
        providers=(Provider(name="benchmark", prefixes=(url,)),),
        provenance={"server": "loopback", "synthetic": True},
    )


def _pair(measured: Callable[[], None], floor: Callable[[], None], *, floor_first: bool) -> tuple[float, float]:
    """Seconds of both; which one goes first alternates, so that a drift hits both alike."""
    if floor_first:
        floor_seconds = _timed(floor)
        return _timed(measured), floor_seconds
    return _timed(measured), _timed(floor)


def _timed(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _crowd(folder: Path, number: int) -> None:
    """One recording under names that no request has: what other tests of a directory leave beside it."""
    original = source = next(folder.glob("*.json"))
    for index in range(number):
        name = sha256(str(index).encode()).hexdigest()
        path = folder / f"{name[:12]}-{name[12:32]}.json"
        if index % _LINKS == 0:
            shutil.copyfile(original, path)
            source = path
        else:
            os.link(source, path)


def main(arguments: Iterable[str]) -> int:
    """`record FOLDER` or `replay FOLDER`, both with `--full` for all series."""
    what, folder, *more = arguments
    full = more == [FULL]
    chosen = (*SERIES, *MORE_SERIES) if full else SERIES
    if what == "record":
        record(Path(folder), chosen)
    else:
        replay(Path(folder), chosen, ROUNDS if full else 1)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
