"""Each fault through each HTTP library: the caller gets what a server on the loopback interface gives it that does the
same thing for real, and docs/faults.md says which exception that is.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stackproof.faults import grammar
from stackproof.recorder.inject import body, dialect
from stackproof.recorder.miss import STATUS

if TYPE_CHECKING:
    from tests.unit.recorder_wire.callers import Caller, Heard
    from tests.unit.recorder_wire.conftest import Bench, LoopbackProvider, Wire

DOCS = Path(__file__).parents[3] / "docs" / "faults.md"
EVENTS = tuple(b"data: " + json.dumps({"object": "chat.completion.chunk", "n": n}).encode() + b"\n\n" for n in range(4))
EVENTS = tuple(event.replace(b": {", b": {").replace(b", ", b",").replace(b'": ', b'":') for event in EVENTS)
DONE = b"data: [DONE]\n\n"
ANSWER = b'{"object":"thing","text":"all that was said"}'
IMPATIENT, LONG = 0.3, 30.0
PATH = "chat/completions"


def _whole(wire: Wire) -> None:
    """What the provider says where nothing goes wrong."""
    if wire.asked.json.get("stream"):
        wire.head(content_type="text/event-stream")
        for event in (*EVENTS, DONE):
            wire.chunk(event)
        wire.end()
    else:
        wire.whole(ANSWER, 200, "application/json")


def _cut(number: int) -> Callable[[Wire], None]:
    def script(wire: Wire) -> None:
        wire.head(content_type="text/event-stream")
        for event in EVENTS[:number]:
            wire.chunk(event)
            wire.taken()
        wire.leave()

    return script


def _cut_in_json(wire: Wire) -> None:
    wire.head()
    wire.chunk(ANSWER)
    wire.leave()


def _never(events: int | None) -> Callable[[Wire], None]:
    """Nothing more after so many events; None: not even a status."""

    def script(wire: Wire) -> None:
        if events is not None:
            wire.head(content_type="text/event-stream")
            for event in EVENTS[:events]:
                wire.chunk(event)
        # And then nothing, until the caller has left.

    return script


def _stream(*events: bytes) -> Callable[[Wire], None]:
    def script(wire: Wire) -> None:
        wire.head(content_type="text/event-stream")
        for event in events:
            wire.chunk(event)
        wire.end()

    return script


def _says(status: int) -> Callable[[Wire], None]:
    return lambda wire: wire.whole(dialect.error_body(dialect.Wire.CHAT, status), status, "application/json")


def _whole_until_the_stall(heard: Heard, spec: str) -> bool:
    """Whether a caller of a server that falls silent had heard by then all that it had said."""
    if not spec.startswith("stall"):
        return True
    events = int(spec.partition(":")[2].partition(",")[0])
    return heard.status is not None and heard.body == b"".join(EVENTS[:events])


# The fault, whether the call asks for a stream, what a real server does, the class that recorder tests know it by.
REAL: dict[str, tuple[bool, Callable[[Wire], None], str | None]] = {
    "cut:0": (True, _cut(0), "RemoteProtocolError"),
    "cut:2": (True, _cut(2), "RemoteProtocolError"),
    "cut:1": (False, _cut_in_json, "RemoteProtocolError"),
    "slow-first-byte:30": (True, _never(None), "ReadTimeout"),
    "stall:0,30": (True, _never(0), "ReadTimeoutInBody"),
    "stall:2,30": (True, _never(2), "ReadTimeoutInBody"),
    "refused": (True, _whole, "ConnectError"),
    "damage:2": (True, _stream(EVENTS[0], body.damaged("sse", EVENTS[1]), *EVENTS[2:], DONE), None),
    "error-event:3": (True, _stream(*EVENTS[:2], dialect.error_event(dialect.Wire.CHAT, "sse", 3)), None),
    "status:429": (True, _says(429), None),
    "status:500": (False, _says(500), None),
    "content-type:text/html": (False, lambda wire: wire.whole(ANSWER, 200, "text/html"), None),
    "truncate:20": (False, lambda wire: wire.whole(ANSWER[:20], 200, "application/json"), None),
}


def documented(fault: str, library: str) -> str:
    """What the table of docs/faults.md has for a fault and a library."""
    rows = [line.strip("| ").split(" | ") for line in DOCS.read_text(encoding="utf-8").splitlines() if " | " in line]
    head = next(row for row in rows if row[0] == "fault" and library in row)
    return next(row for row in rows if row[0] == f"`{fault}`" and len(row) == len(head))[head.index(library)]


def _ask(caller: Caller, url: str, *, stream: bool, timeout: float = LONG) -> Heard:
    return caller.heard("POST", f"{url}/{PATH}", json={"stream": stream, "model": "m"}, timeout=timeout)


@pytest.mark.parametrize("spec", REAL)
def test_a_fault_is_what_a_server_would_have_done(
    spec: str, caller: Caller, bench: Bench, provider: LoopbackProvider, unused_port: int
) -> None:
    stream, script, known_as = REAL[spec]
    waits = spec.startswith(("slow", "stall"))
    provider.script = _whole
    with bench.record():
        _ask(caller, bench.provider.url, stream=stream)
    provider.script = script
    where = f"http://127.0.0.1:{unused_port}/v1" if spec == "refused" else bench.provider.url
    patience = IMPATIENT if waits else LONG
    real = _ask(caller, where, stream=stream, timeout=patience)
    while not _whole_until_the_stall(real, spec) and patience < LONG:  # not that fast here
        patience *= 4
        real = _ask(caller, where, stream=stream, timeout=patience)
    fault = grammar.parse(spec, where="here")
    with bench.replay(faults=(fault.to_data(),)) as brain:
        began = time.monotonic()
        ours = _ask(caller, bench.provider.url, stream=stream, timeout=IMPATIENT if waits else LONG)
        took = time.monotonic() - began
        lines = brain.ledger.read("calls")[0]
    assert ours.error == real.error
    assert (ours.status, ours.body) == (real.status, real.body)
    if ours.status is not None:
        assert ours.headers.get("content-type") == real.headers.get("content-type")
    assert [line["fault"] for line in lines if line["kind"] == "injected"] == [spec]
    if waits:
        assert IMPATIENT * 0.9 < took < IMPATIENT + 20
    if known_as is None:
        assert ours.error is None
    else:
        assert ours.error == caller.errors.get(known_as, caller.errors.get(known_as.removesuffix("InBody")))
        assert documented(spec.partition(":")[0], caller.name.removeprefix("async ")) == f"`{ours.error}`"


def test_a_wait_that_the_caller_has_patience_for_is_one(
    caller: Caller, bench: Bench, provider: LoopbackProvider
) -> None:
    provider.script = _whole
    with bench.record():
        plain = _ask(caller, bench.provider.url, stream=True)
    faults = [grammar.parse(text, where="").to_data() for text in ("slow-first-byte:0.15", "stall:5,0.15")]
    with bench.replay(faults=tuple(faults)) as brain:
        began = time.monotonic()
        heard = _ask(caller, bench.provider.url, stream=True)
        took = time.monotonic() - began
        lines = brain.ledger.read("calls")[0]
    assert heard.error is None
    assert heard.body == plain.body == b"".join((*EVENTS, DONE))
    assert took >= 0.3 * 0.95
    assert sum(line["kind"] == "injected" for line in lines) == 2


def test_what_was_refused_or_answered_with_a_status_leaves_the_recorded_answer_to_the_retry(
    caller: Caller, bench: Bench, provider: LoopbackProvider
) -> None:
    provider.script = _whole
    with bench.record():
        plain = _ask(caller, bench.provider.url, stream=False)
    faults = [
        grammar.parse(text, where="").to_data() for text in ("status:429,times=1,retry-after=7", "refused,call=1")
    ]
    with bench.replay(faults=tuple(faults)) as brain:
        limited, refused, answered, missed = (_ask(caller, bench.provider.url, stream=False) for _ in range(4))
        lines = brain.ledger.read("calls")[0]
    assert limited.status == 429
    assert limited.headers["retry-after"] == "7"
    assert limited.headers["retry-after-ms"] == "1"
    assert json.loads(limited.body)["error"]["code"] == "rate_limit_exceeded"
    assert refused.error == caller.errors["ConnectError"]
    assert (answered.status, answered.body) == (200, plain.body)
    assert missed.status == STATUS
    assert [(line["kind"], line["n"]) for line in lines] == [
        ("injected", 1),
        ("injected", 1),
        ("replayed", 1),
        ("missed", 2),
    ]
    # All three name the one file: who looks for what nobody asked for sees that it was asked for.
    assert len({line["file"] for line in lines[:3]}) == 1


def test_a_recorded_wait_that_is_replayed_has_the_callers_patience_too(
    caller: Caller, bench: Bench, provider: LoopbackProvider
) -> None:
    provider.script = _stream(EVENTS[0], DONE)
    with bench.record():
        assert _ask(caller, bench.provider.url, stream=True).error is None
    (path,), (content,) = bench.files(), bench.recordings()
    content["response"]["waits"] = [0, 60_000]
    path.write_text(json.dumps(content), encoding="utf-8")
    with bench.replay(pace=1.0):
        heard = _ask(caller, bench.provider.url, stream=True, timeout=IMPATIENT)
    assert heard.error == caller.errors.get("ReadTimeoutInBody", caller.errors["ReadTimeout"])
    assert heard.body == EVENTS[0]
