"""`python -m ci.peers.worker TOOL`: one recorder's own process, as recorders patch libraries for a whole process.

It reads one JSON object a line from stdin, does what it says, and answers with one line on stdout:
`cell` makes one call of one client under the recorder, `first` times the first event of a stream while recording,
`fill` records many calls, `cost` times their replay beside the same calls over an in-memory transport.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .clients import KEY, SDKS, Client, Events
from .http_clients import HTTP
from .recorders import TOOLS

CLIENTS: dict[str, Client] = {client.name: client for client in (*SDKS, *HTTP)}
_LONGEST = 30  # seconds for one call
# What a provider, an SDK or a recorder makes up anew for each answer.
_VARY = frozenset({"id", "created", "created_at", "response_time", "sdk_http_response", "ResponseMetadata"})
_CALLS_A_PASS = 25


def _data(value: Any) -> Any:
    for name in ("model_dump", "dict", "to_dict"):
        if hasattr(value, name):
            return getattr(value, name)()
    return value.decode() if isinstance(value, bytes) else repr(value)


def _stable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _stable(item) for key, item in value.items() if key not in _VARY}
    return [_stable(item) for item in value] if isinstance(value, list) else value


def _plain_data(value: Any) -> Any:
    return _stable(json.loads(json.dumps(value, default=_data)))


def _raised(error: BaseException, url: str) -> dict[str, Any]:
    kind = f"{type(error).__module__.partition('.')[0]}.{type(error).__qualname__}"
    status = getattr(error, "status_code", getattr(error, "code", None))
    headers: Any = getattr(getattr(error, "response", None), "headers", None)
    wait = headers.get("retry-after") if hasattr(headers, "get") else None
    return {"raised": kind, "status": repr(status), "text": str(error).replace(url, "URL"), "retry-after": wait}


def _too_long(*_: object) -> None:
    raise TimeoutError(f"no answer within {_LONGEST} s")


def cell(tool: str, told: dict[str, Any]) -> dict[str, Any]:
    """One call: {"value", "broken", "kept", "pieces"}; `broken` is what the recorder itself raised when it closed."""
    client, url = CLIENTS[told["client"]], told["url"]
    events, got = Events(), dict[str, Any](value=None, broken=None, kept=None, pieces=None)
    kept: Callable[[], int | None] = lambda: None  # noqa: E731 - until the recorder gives its own
    try:
        with TOOLS[tool](Path(told["folder"]), url, record=told["record"]) as kept:
            try:
                if told["streamed"] and client.stream is not None:
                    client.stream(url, events)
                    got["value"] = "".join(map(_text, events.items)) if client.raw else _plain_data(events.items)
                    got["pieces"] = len([item for item in events.items if item])
                else:
                    got["value"] = _plain_data(client.plain(url))
            except Exception as error:  # noqa: BLE001 - which one is what is compared
                got["value"] = _raised(error, url)
    except Exception as error:  # noqa: BLE001 - a recorder may fail in its own ways
        got["broken"] = _raised(error, url)
    got["kept"] = kept()
    return got


def _text(piece: Any) -> str:
    return piece.decode() if isinstance(piece, bytes) else str(piece)


def first(tool: str, told: dict[str, Any]) -> dict[str, Any]:
    """Seconds from the call of a stream to its first event, while recording: {"seconds"}, null where none came."""
    client, events = CLIENTS[told["client"]], Events()
    assert client.stream is not None  # noqa: S101 - for the type checker
    with TOOLS[tool](Path(told["folder"]), told["url"], record=True):
        began = time.perf_counter()
        with contextlib.suppress(Exception):  # that it fails is told by its cell
            client.stream(told["url"], events)
    return {"seconds": None if events.first is None else events.first - began}


def _ask(client: Any, number: int) -> None:
    said = client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": f"Question {number}: " + "what is it? " * 20}]
    )
    if said.choices[0].message.content != "Hello there.":
        raise RuntimeError(f"question {number} was answered with something else")


def _openai(url: str, **more: Any) -> Any:
    return importlib.import_module("openai").OpenAI(base_url=url, api_key=KEY, max_retries=0, **more)


def fill(tool: str, told: dict[str, Any]) -> dict[str, Any]:
    """Record `count` different calls: {"kept"}."""
    with TOOLS[tool](Path(told["folder"]), told["url"], record=True) as kept:
        client = _openai(told["url"])
        for number in range(told["count"]):
            _ask(client, number)
    return {"kept": kept()}


def cost(tool: str, told: dict[str, Any]) -> dict[str, Any]:
    """Replay calls from all over the recording: {"opening": seconds, "pairs": [[replayed, in memory], …]}.

    What it takes to open a recording is told apart: some load everything then, some read file by file later.
    """
    url, count = told["url"], int(told["count"])
    # Made before the recorder comes: some wrap every transport that is made under them.
    floor = _openai(url, http_client=_in_memory(Path(told["answer"]).read_bytes()))
    for number in range(5):
        _ask(floor, number)
    gc.collect()
    began = time.perf_counter()
    with TOOLS[tool](Path(told["folder"]), url, record=False):
        opening = time.perf_counter() - began
        client = _openai(url)
        numbers = enumerate(_spread(count), start=told["turn"])
        pairs = [_pair(client, floor, number, first=turn % 2) for turn, number in numbers]
    return {"opening": opening, "pairs": pairs}


def _in_memory(answer: bytes) -> Any:
    """A client whose transport answers by itself; a class of its own, as vcrpy records httpx2's MockTransport too."""
    httpx2 = importlib.import_module("httpx2")

    class Transport(httpx2.BaseTransport):  # type: ignore[misc, name-defined]
        def handle_request(self, _: Any) -> Any:
            return httpx2.Response(200, headers={"content-type": "application/json"}, content=answer)

    return httpx2.Client(transport=Transport())


def _spread(count: int) -> Iterator[int]:
    asked = min(count, _CALLS_A_PASS)
    return (index * count // asked for index in range(asked))


def _pair(client: Any, floor: Any, number: int, *, first: int) -> list[float]:
    times = [0.0, 0.0]
    # Which one goes first alternates: what is cold then hits both alike.
    order = ((0, client), (1, floor)) if first == 0 else ((1, floor), (0, client))
    for place, asked in order:
        began = time.perf_counter()
        _ask(asked, number)
        times[place] = time.perf_counter() - began
    return times


def main() -> int:
    """Serve until stdin ends."""
    tool = sys.argv[1]
    # SDKs print: what they say goes to stderr, so that stdout holds answers alone.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    signal.signal(signal.SIGALRM, _too_long)
    work = {"cell": cell, "first": first, "fill": fill, "cost": cost}
    for line in sys.stdin:
        told = json.loads(line)
        if told["do"] in ("cell", "first"):
            signal.alarm(_LONGEST)
        answers.write(json.dumps(work[told["do"]](tool, told)) + "\n")
        answers.flush()
        signal.alarm(0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
