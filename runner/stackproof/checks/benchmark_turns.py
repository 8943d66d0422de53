"""`python -m stackproof.checks.benchmark_turns record|replay FOLDER`: the workload of the benchmark `turns`.

It is a process of its own, so that nothing else is loaded, patched or traced while it measures. `record` lets the real
SDK talk to a small server on the loopback interface through the recorder; `replay` answers the same turns from those
files, in pairs with a floor: the same SDK, the same bytes, an in-memory transport. Real providers are never called.
"""

from __future__ import annotations

import contextlib
import gc
import json
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
import openai

from stackproof.evidence import jsonfile
from stackproof.recorder.install import installed
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope, use
from stackproof.recorder.settings import Provider, Settings

WARM_UP, TURNS = 5, 20
MODEL = "benchmark"
RESULT = "turns.json"
_SETUP = "benchmark"
_ROOT = "tests/integration"
_REPLAY_URL = "http://benchmark.invalid/v1"
_TEXT = "A turn is one request and its whole answer, as a test would make it. "


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """One line of the benchmark: `beside` other recordings lie in the same folder."""

    name: str
    streamed: bool = False
    beside: int = 0

    @property
    def scope(self) -> Scope:
        """Each series has a folder of its own, as the directories of a test suite have."""
        nodeid = f"{_ROOT}/{self.name}/test_turns.py::test_turns"
        return Scope(name=nodeid, test_id=nodeid)


SERIES = (
    Series(name="turns"),
    Series(name="turns-streamed", streamed=True),
    Series(name="turns-beside-10", beside=10),
    Series(name="turns-beside-10000", beside=10_000),
)


def answer() -> bytes:
    """A chat completion of about 1 kB."""
    message = {"role": "assistant", "content": _TEXT * 12}
    return json.dumps(
        {
            "id": "chatcmpl-benchmark",
            "object": "chat.completion",
            "created": 0,
            "model": MODEL,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 20, "completion_tokens": 180, "total_tokens": 200},
        }
    ).encode()


def events() -> list[bytes]:
    """The same text as 24 server-sent events and the end mark."""
    words = [_TEXT[: len(_TEXT) // 2], _TEXT[len(_TEXT) // 2 :]] * 12
    deltas = [{"role": "assistant", "content": ""}, *({"content": word} for word in words)]
    choices: list[dict[str, object]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    head = {"id": "chatcmpl-benchmark", "object": "chat.completion.chunk", "created": 0, "model": MODEL}
    return [
        *(b"data: " + json.dumps({**head, "choices": [choice]}).encode() + b"\n\n" for choice in choices),
        b"data: [DONE]\n\n",
    ]


def turn(client: openai.OpenAI, number: int, *, streamed: bool) -> None:
    """One turn, read to its end; RuntimeError when it is not the answer that was recorded."""
    messages: list[openai.types.chat.ChatCompletionMessageParam] = [
        {"role": "system", "content": "You are measured."},
        {"role": "user", "content": f"Turn {number}: {_TEXT * 4}"},
    ]
    if streamed:
        with client.chat.completions.create(model=MODEL, messages=messages, stream=True) as stream:
            text = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
    else:
        text = client.chat.completions.create(model=MODEL, messages=messages).choices[0].message.content or ""
    if text != _TEXT * 12:
        raise RuntimeError(f"turn {number} was answered with something else: {text[:80]!r}")


def record(folder: Path) -> None:
    """Record every series below `folder`, from a server on the loopback interface."""
    with _server() as url, installed(_settings(folder, Mode.RECORD, url)) as brain:
        client = openai.OpenAI(base_url=url, api_key="benchmark", max_retries=0)
        for series in SERIES:
            with use(series.scope):
                for number in range(WARM_UP + TURNS):
                    turn(client, number, streamed=series.streamed)
            written, _ = brain.store.promote(series.scope, replace=True)
            if written != WARM_UP + TURNS:
                raise RuntimeError(f"{written} of {WARM_UP + TURNS} turns were recorded for {series.name}")
            _crowd(folder / "recordings" / _SETUP / series.name, series.beside)


def replay(folder: Path) -> None:
    """Time every series and write the seconds of each pair to `folder/turns.json`."""
    lines = []
    with installed(_settings(folder, Mode.REPLAY, _REPLAY_URL)):
        for series in SERIES:
            replayed = openai.OpenAI(base_url=_REPLAY_URL, api_key="benchmark", max_retries=0)
            floor = openai.OpenAI(base_url=_REPLAY_URL, api_key="benchmark", max_retries=0, http_client=_in_memory())
            with use(series.scope):
                turns, floors = _pairs(
                    partial(turn, replayed, streamed=series.streamed), partial(turn, floor, streamed=series.streamed)
                )
            lines.append({"name": series.name, "turns": turns, "floor": floors})
    jsonfile.write(folder / RESULT, {"lines": lines})


def _pairs(measured: Callable[[int], None], floor: Callable[[int], None]) -> tuple[list[float], list[float]]:
    """Seconds of both, pair by pair; which one goes first alternates, so that a drift hits both alike."""
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(WARM_UP):
        measured(number)
        floor(number)
    gc.collect()
    for number in range(WARM_UP, WARM_UP + TURNS):
        order = ((0, measured), (1, floor)) if number % 2 else ((1, floor), (0, measured))
        for place, work in order:
            began = time.perf_counter()
            work(number)
            times[place].append(time.perf_counter() - began)
    return times


def _in_memory() -> httpx2.Client:
    def respond(request: httpx2.Request) -> httpx2.Response:
        if json.loads(request.content).get("stream"):
            return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=iter(events()))
        return httpx2.Response(200, headers={"content-type": "application/json"}, content=answer())

    return openai.DefaultHttpxClient(transport=httpx2.MockTransport(respond))


def _settings(folder: Path, mode: Mode, url: str) -> Settings:
    return Settings(
        mode=mode,
        recordings=str(folder / "recordings"),
        setup=_SETUP,
        run_dir=str(folder / mode.value),
        run_id="benchmark",
        integration_root=_ROOT,
        providers=(Provider(name="benchmark", prefixes=(url,)),),
        provenance={"server": "loopback", "synthetic": True},
    )


def _crowd(folder: Path, number: int) -> None:
    """Copies of one recording under names that no request has: what other tests of a directory leave beside it."""
    original = next(folder.glob("*.json"))
    for index in range(number):
        name = sha256(str(index).encode()).hexdigest()
        shutil.copyfile(original, folder / f"{name[:12]}-{name[12:32]}.json")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        streamed = bool(body.get("stream"))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if streamed else "application/json")
        data = b"".join(events()) if streamed else answer()
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
        """Say nothing."""


@contextlib.contextmanager
def _server() -> Iterator[str]:
    """A server on a free port of the loopback interface, gone at the end of the block."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_port}/v1"
    finally:
        http.shutdown()
        http.server_close()
        thread.join(timeout=5)


def main(arguments: Iterable[str]) -> int:
    """`record FOLDER` or `replay FOLDER`."""
    what, folder = arguments
    {"record": record, "replay": replay}[what](Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
