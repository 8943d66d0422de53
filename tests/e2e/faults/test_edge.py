"""Faults at the edge: a stack in any language meets them on a real connection, as from a provider that does it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.faults import grammar
from stackproof.recorder.inject import body, dialect, plan
from stackproof.recorder.scope import Scope

if TYPE_CHECKING:
    from tests.e2e.edge.conftest import Edge, EdgeBench
    from tests.unit.recorder_wire.callers import Caller, Heard, MakeCaller
    from tests.unit.recorder_wire.conftest import LoopbackProvider, Wire

NODE = "tests/integration/probe/test_it.py::test_it"
TEST = Scope(name=NODE, test_id=NODE)
EVENTS = tuple(f'data: {{"object":"chat.completion.chunk","n":{n}}}\n\n'.encode() for n in range(4))
# Seconds of silence after which a client gives up: where something comes first, the machine has time for that.
PATIENCE = {"stall:2,30": 3.0, "slow-first-byte:30": 1.0}
CLIENTS = pytest.mark.parametrize("client", ["httpx2", "aiohttp", "requests"])


def _whole(wire: Wire) -> None:
    wire.head(content_type="text/event-stream")
    for event in (*EVENTS, b"data: [DONE]\n\n"):
        wire.chunk(event)
    wire.end()


def _after(number: int, end: Callable[[Wire], None]) -> Callable[[Wire], None]:
    def script(wire: Wire) -> None:
        wire.head(content_type="text/event-stream")
        for event in EVENTS[:number]:
            wire.chunk(event)
            wire.taken()
        end(wire)

    return script


def _silent(wire: Wire) -> None:
    wire._connection.recv(1)  # until the client has left


def _damaged(wire: Wire) -> None:
    wire.head(content_type="text/event-stream")
    for event in (body.damaged("sse", EVENTS[0]), *EVENTS[1:], b"data: [DONE]\n\n"):
        wire.chunk(event)
    wire.end()


REAL: dict[str, Callable[[Wire], None]] = {
    "cut:2": _after(2, lambda wire: wire.leave()),
    "stall:2,30": _after(2, _silent),
    "slow-first-byte:30": _silent,
    "refused": lambda wire: wire.leave(),  # the edge has taken the connection by then, and answers nothing
    "damage:1": _damaged,
    "status:429,retry-after=2": lambda wire: wire.whole(
        dialect.error_body(dialect.Wire.CHAT, 429), 429, "application/json", retry_after="2"
    ),
}


def _ask(caller: Caller, url: str, headers: dict[str, str] | None = None, *, patience: float = 60.0) -> Heard:
    asked: dict[str, Any] = {"json": {"stream": True}, "headers": headers or {}, "timeout": patience}
    return caller.heard("POST", f"{url}/chat/completions", **asked)


def _calls(edge: Edge, kind: str) -> list[dict[str, Any]]:
    return [line for line in edge.lines("calls") if line["kind"] == kind]


@CLIENTS
@pytest.mark.parametrize("spec", REAL)
def test_a_client_of_the_edge_gets_what_a_broken_provider_gives_it(
    spec: str, client: str, edges: EdgeBench, provider: LoopbackProvider, make_caller: MakeCaller
) -> None:
    caller = make_caller(client)
    whose = {"X-Provider-Data": json.dumps({"__test_id": NODE})}
    provider.script = _whole
    with edges.record() as edge:
        assert _ask(caller, edge.url, whose).status == 200
    provider.script = REAL[spec]
    patience = PATIENCE.get(spec, 60.0)
    real = _ask(caller, provider.url, patience=patience)
    with edges.replay() as edge:
        plan.write(edge.settings.run_dir, TEST, [grammar.parse(spec, where=NODE)])
        ours = _ask(caller, edge.url, whose, patience=patience)
        plan.end(edge.settings.run_dir, TEST)
        assert [line["fault"] for line in _calls(edge, "injected")] == [spec]
        # Of a test without a plan nothing is changed, though it is the same edge; nothing is recorded for it.
        other = _ask(caller, edge.url, {"X-Provider-Data": json.dumps({"__test_id": f"{NODE}_too"})})
        assert other.status == 424
    assert (ours.error, ours.status, ours.body) == (real.error, real.status, real.body)
    assert ours.headers.get("retry-after") == real.headers.get("retry-after")
