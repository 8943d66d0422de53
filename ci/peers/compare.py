"""`python -m ci.peers.compare`: this project's recorder and its peers, on the same calls to the same server.

Every recorder works in processes of its own; the server is stopped before anything is replayed. Times are ratios or
medians of runs that take turns, so that a busy machine hits all alike. Writes docs/peers.md, in a
quarter of an hour.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Self

from . import page
from .findings import Cost, Findings
from .provider import CHUNKS, LoopbackProvider
from .recorders import TOOLS
from .verdicts import CASES, Cell, judge
from .worker import CLIENTS

PROJECT = Path(__file__).parents[2]
RECORDERS = tuple(tool for tool in TOOLS if tool != "nothing")
TIMED = ("OpenAI", "OpenAI, DefaultAioHttpClient", "Ollama", "boto3 bedrock-runtime", "requests, iter_lines")
COUNTS = (1, 100, 1000)
_DEADLINE = 300.0  # seconds for one answer of a worker


class WorkerLostError(Exception):
    """A worker ended, or did not answer in time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Worker:
    """A process that works with one recorder."""

    process: subprocess.Popen[str]

    @classmethod
    def start(cls, tool: str, log: Path) -> Self:
        """Start one; what it and the SDKs print goes to `log`."""
        command = [sys.executable, "-m", "ci.peers.worker", tool]
        with log.open("a") as file:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
                cwd=PROJECT,
                env=_environment(os.environ),
            )
        return cls(process=process)

    def ask(self, do: str, **told: Any) -> dict[str, Any]:
        """What the worker says to this; WorkerLostError."""
        stdin, stdout = self.process.stdin, self.process.stdout
        if stdin is None or stdout is None:
            raise WorkerLostError("it has no pipes")
        try:
            stdin.write(json.dumps({"do": do, **told}, default=str) + "\n")
            stdin.flush()
        except OSError as error:
            raise WorkerLostError("the process ended") from error
        ready, _, _ = select.select([stdout], [], [], _DEADLINE)
        line = stdout.readline() if ready else ""
        if not line:
            raise WorkerLostError(f"no answer within {_DEADLINE:.0f} s" if not ready else "the process ended")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(5)


def _environment(caller: Mapping[str, str]) -> dict[str, str]:
    """The caller's, without what sends calls elsewhere or makes an SDK look for more."""
    foreign = ("AWS_", "GOOGLE_", "GEMINI_", "OPENAI_", "ANTHROPIC_", "OLLAMA_", "LITELLM_", "STACKPROOF_")
    kept = {
        name: value
        for name, value in caller.items()
        if not name.startswith(foreign) and not name.lower().endswith("_proxy")
    }
    return kept | {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "AWS_EC2_METADATA_DISABLED": "true"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One comparison: the server, and a folder for recordings and logs."""

    provider: LoopbackProvider
    folder: Path
    rounds: int
    counts: Sequence[int] = COUNTS
    recorders: Sequence[str] = RECORDERS

    def of(self, tool: str, client: str, case: str) -> dict[str, Any]:
        """Where this tool keeps the recording of this client's case, and the URL that it calls for it."""
        row = str(list(CLIENTS).index(client))
        folder = self.folder / tool / row / case
        folder.mkdir(parents=True, exist_ok=True)
        answer = case if case.isdigit() else "ok"
        return {"folder": folder, "url": self.provider.url(tool, f"{row}-{case}", answer)}

    def calls(self, tool: str, client: str, case: str) -> int:
        """How often the server was asked for it so far."""
        row = str(list(CLIENTS).index(client))
        return self.provider.asked[tool, f"{row}-{case}", case if case.isdigit() else "ok"]

    def row(self, tool: str, client: str, *, record: bool) -> dict[str, dict[str, Any]]:
        """One client's cases under one tool, in a process of its own."""
        cases = [case for case in CASES if case != "stream" or CLIENTS[client].stream is not None]
        got: dict[str, dict[str, Any]] = {}
        with Worker.start(tool, self.folder / f"{tool}.log") as worker:
            for case in cases:
                before = self.calls(tool, client, case)
                try:
                    answer = worker.ask(
                        "cell",
                        client=client,
                        record=record,
                        streamed=case == "stream",
                        **self.of(tool, client, case),
                    )
                except WorkerLostError as error:
                    answer = {"value": None, "broken": {"raised": "lost", "text": str(error)}}
                got[case] = {**answer, "asked": self.calls(tool, client, case) - before}
        return got

    def rows(self, tools: Sequence[str], *, record: bool) -> dict[tuple[str, str], dict[str, dict[str, Any]]]:
        """Every client under each of these tools."""
        todo = [(tool, client) for client in CLIENTS for tool in tools]
        with ThreadPoolExecutor(3) as pool:
            found = pool.map(lambda pair: self.row(*pair, record=record), todo)
            return dict(zip(todo, found, strict=True))

    def delays(self) -> dict[str, dict[str, float | None]]:
        """Median milliseconds to the first event while recording: by client, then tool. The tools take turns."""
        seconds: dict[tuple[str, str], list[float | None]] = {}
        workers = {tool: Worker.start(tool, self.folder / f"{tool}.log") for tool in TOOLS}
        try:
            for turn in range(self.rounds + 1):
                for client in TIMED:
                    for tool, worker in workers.items():
                        told = worker.ask("first", client=client, **self.of(tool, client, f"first{turn}"))
                        if turn:  # the first turn loads libraries
                            seconds.setdefault((client, tool), []).append(told["seconds"])
        finally:
            for worker in workers.values():
                worker.__exit__()
        return {client: {tool: _middle(seconds[client, tool]) for tool in TOOLS} for client in TIMED}

    def fill(self) -> None:
        """Record what `costs` replays, and keep the answer for the calls that it is compared with."""
        connection = http.client.HTTPConnection("127.0.0.1", self.provider.port, timeout=10)
        connection.request("POST", "/nothing/answer/ok/v1/chat/completions", b"{}")
        (self.folder / "answer.json").write_bytes(connection.getresponse().read())
        connection.close()
        for tool in self.recorders:
            with Worker.start(tool, self.folder / f"{tool}.log") as worker:
                for count in self.counts:
                    kept = worker.ask("fill", count=count, **self.of(tool, "OpenAI", f"cost{count}"))["kept"]
                    if kept != count:
                        raise RuntimeError(f"{tool} kept {kept} of {count} calls")

    def costs(self) -> dict[int, dict[str, Cost]]:
        """The cost of replay, by number of recordings and tool. The tools take turns."""
        answer = self.folder / "answer.json"
        found: dict[tuple[int, str], list[dict[str, Any]]] = {}
        workers = {tool: Worker.start(tool, self.folder / f"{tool}.log") for tool in self.recorders}
        try:
            for count in self.counts:
                for turn in range((50 if count == 1 else 3) + 1):
                    for tool, worker in workers.items():
                        place = self.of(tool, "OpenAI", f"cost{count}")
                        told = worker.ask("cost", count=count, turn=turn, answer=answer, **place)
                        if turn:
                            found.setdefault((count, tool), []).append(told)
        finally:
            for worker in workers.values():
                worker.__exit__()
        return {count: {tool: Cost.of(found[count, tool]) for tool in self.recorders} for count in self.counts}


def _middle(seconds: Sequence[float | None]) -> float | None:
    """The median in milliseconds; None where a stream had no event."""
    known = [value for value in seconds if value is not None]
    return median(known) * 1000 if len(known) == len(seconds) else None


def compare(rounds: int, say: Any = print) -> Findings:
    """Run everything once."""
    with tempfile.TemporaryDirectory(prefix="peers-") as folder:
        run = Run(provider=LoopbackProvider(PROJECT), folder=Path(folder), rounds=rounds)
        began = time.monotonic()

        def step(what: str) -> None:
            say(f"{time.monotonic() - began:6.1f} s  {what}", flush=True)

        try:
            step("first events")
            delays = run.delays()
            step("recordings for the cost of replay")
            run.fill()
            step(f"recording with {len(CLIENTS)} clients")
            recorded = run.rows(tuple(TOOLS), record=True)
        finally:
            run.provider.stop()
        step("replaying")
        replayed = run.rows(RECORDERS, record=False)
        step("cost of replay")
        costs = run.costs()
        step("done")
    cells: dict[tuple[str, str, str], Cell] = {}
    for (tool, client), cases in recorded.items():
        for case, got in cases.items():
            expected = recorded["nothing", client][case]
            again = replayed[tool, client][case] if tool in RECORDERS else None
            cells[tool, client, case] = judge(got, again, expected)
    return Findings(cells=cells, delays=delays, costs=costs, rounds=rounds, chunks=len(CHUNKS))


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare and write the page."""
    parser = argparse.ArgumentParser(prog="python -m ci.peers.compare", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="turns for the first-event delay (default 7)")
    parser.add_argument("--output", type=Path, default=PROJECT / "docs" / "peers.md")
    options = parser.parse_args(arguments)
    options.output.write_text(page.write(compare(options.rounds)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
