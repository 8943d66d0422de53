"""What SDKs make of each fault: the same as of a loopback server that really does it, as docs/faults.md says."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.faults import grammar
from stackproof.recorder.inject import body, dialect

if TYPE_CHECKING:
    from tests.unit.recorder_wire.conftest import Bench, LoopbackProvider, Wire

DOCS = Path(__file__).parents[3] / "docs" / "faults.md"
# Seconds of silence after which a client gives up: where something comes first, the machine has time for that.
PATIENCE = {"stall:1,60": 2.5, "slow-first-byte:60": 0.8}
LONGEST = 60.0
ASKED: list[dict[str, str]] = [{"role": "user", "content": "hello"}]


def _sse(*values: dict[str, Any], named: bool = False) -> tuple[bytes, ...]:
    head = [f"event: {value['type']}\n".encode() if named else b"" for value in values]
    return tuple(
        name + b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"
        for name, value in zip(head, values, strict=True)
    )


def _chunk(text: str) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}
    return {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}


def _line(text: str, *, done: bool) -> bytes:
    told = {"model": "m", "created_at": "1970-01-01T00:00:00Z", "message": {"role": "assistant", "content": text}}
    return json.dumps({**told, "done": done}, separators=(",", ":")).encode() + b"\n"


_DELTA = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}}
_USAGE = {"input_tokens": 1, "output_tokens": 1}
_MESSAGE = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": None, "stop_sequence": None}


@dataclass(frozen=True, kw_only=True, slots=True)
class Sdk:
    """ask: calls, streamed or not, and reads to the end, with so many seconds of patience."""

    wire: dialect.Wire
    events: tuple[bytes, ...]
    plain: dict[str, Any]
    ask: Callable[[str, bool, float], None]

    @property
    def content_type(self) -> str:
        """Of its streams."""
        return "application/x-ndjson" if self.wire is dialect.Wire.OLLAMA else "text/event-stream"


def _openai(url: str, streamed: bool, patience: float) -> None:
    sdk = importlib.import_module("openai")
    with sdk.OpenAI(base_url=url, api_key="none", max_retries=0, timeout=patience) as client:
        given = client.chat.completions.create(model="m", messages=ASKED, stream=streamed)
        _ = list(given) if streamed else given.choices[0].message.content


def _anthropic(url: str, streamed: bool, patience: float) -> None:
    sdk = importlib.import_module("anthropic")
    with sdk.Anthropic(base_url=url, api_key="none", max_retries=0, timeout=patience) as client:
        given = client.messages.create(model="m", max_tokens=9, messages=ASKED, stream=streamed)
        _ = list(given) if streamed else given.content[0].text


def _ollama(url: str, streamed: bool, patience: float) -> None:
    sdk = importlib.import_module("ollama")
    client = sdk.Client(host=url, timeout=patience, trust_env=False)
    try:
        given = client.chat(model="m", messages=ASKED, stream=streamed)
        _ = list(given) if streamed else given.message.content
    finally:
        client._client.close()


SDKS = {
    "openai": Sdk(
        wire=dialect.Wire.CHAT,
        events=(*_sse(_chunk("a"), _chunk("b"), _chunk("c")), b"data: [DONE]\n\n"),
        plain={
            "id": "c", "object": "chat.completion", "created": 0, "model": "m",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}],
        },
        ask=_openai,
    ),
    "anthropic": Sdk(
        wire=dialect.Wire.MESSAGES,
        events=_sse(
            {"type": "message_start", "message": {**_MESSAGE, "content": [], "usage": _USAGE}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            _DELTA, _DELTA, {"type": "content_block_stop", "index": 0}, {"type": "message_stop"},
            named=True,
        ),
        plain={**_MESSAGE, "content": [{"type": "text", "text": "a"}], "usage": _USAGE},
        ask=_anthropic,
    ),
    "ollama": Sdk(
        wire=dialect.Wire.OLLAMA,
        events=(_line("a", done=False), _line("b", done=False), _line("", done=True)),
        plain=json.loads(_line("a", done=True)),
        ask=_ollama,
    ),
}  # fmt: skip


def _stream(sdk: Sdk, *events: bytes, end: Callable[[Wire], None]) -> Callable[[Wire], None]:
    def script(wire: Wire) -> None:
        wire.head(content_type=sdk.content_type)
        for event in events:
            wire.chunk(event)
            wire.taken()
        end(wire)

    return script


def _silent(wire: Wire) -> None:
    wire._connection.recv(1)  # until the client has left


def _whole(sdk: Sdk) -> Callable[[Wire], None]:
    def script(wire: Wire) -> None:
        if wire.asked.json.get("stream"):
            _stream(sdk, *sdk.events, end=lambda there: there.end())(wire)
        else:
            wire.whole(_plain(sdk), 200, "application/json")

    return script


def _plain(sdk: Sdk) -> bytes:
    return json.dumps(sdk.plain, separators=(",", ":")).encode()


def _real(spec: str, sdk: Sdk) -> Callable[[Wire], None]:
    framing: Any = "ndjson" if sdk.wire is dialect.Wire.OLLAMA else "sse"
    first, second, *rest = sdk.events
    ends: Callable[[Wire], None] = lambda wire: wire.end()  # noqa: E731
    return {
        "cut": _stream(sdk, first, second, end=lambda wire: wire.leave()),
        "damage": _stream(sdk, first, body.damaged(framing, second), *rest, end=ends),
        "error-event": _stream(sdk, first, dialect.error_event(sdk.wire, framing, 2), end=ends),
        "status": lambda wire: wire.whole(dialect.error_body(sdk.wire, 429), 429, "application/json"),
        "refused": ends,
        "slow-first-byte": _silent,
        "stall": _stream(sdk, first, end=_silent),
        "content-type": lambda wire: wire.whole(_plain(sdk), 200, "text/html"),
        "truncate": lambda wire: wire.whole(_plain(sdk)[:20], 200, "application/json"),
    }[spec.partition(":")[0]]


def _heard(sdk: Sdk, url: str, streamed: bool, patience: float = LONGEST) -> str:
    try:
        sdk.ask(url, streamed, patience)
    except Exception as error:  # noqa: BLE001 - which one is what the test is about
        return f"`{type(error).__module__.partition('.')[0]}.{type(error).__name__}`"
    return "none"


def documented(fault: str, name: str) -> str:
    """What the table of docs/faults.md has for a fault and an SDK."""
    rows = [line.strip("| ").split(" | ") for line in DOCS.read_text(encoding="utf-8").splitlines() if " | " in line]
    head = next(row for row in rows if row[0] == "fault" and name in row)
    return next(row for row in rows if row[0] == f"`{fault}`" and len(row) == len(head) and row != head)[
        head.index(name)
    ]


SPECS = (
    "cut:2", "damage:2", "error-event:2", "status:429", "refused", "slow-first-byte:60", "stall:1,60",
    "content-type:text/html", "truncate:20",
)  # fmt: skip


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("name", SDKS)
def test_an_sdk_raises_what_it_raises_of_a_broken_provider(
    name: str, spec: str, bench: Bench, provider: LoopbackProvider, unused_port: int
) -> None:
    pytest.importorskip(name, reason=f"{name} is not installed")
    sdk = SDKS[name]
    base = f"http://127.0.0.1:{provider.port}"
    path = "" if name == "anthropic" else "/v1"  # it adds that itself
    streamed = not spec.startswith(("content-type", "truncate"))
    provider.script = _whole(sdk)
    with bench.record():
        assert _heard(sdk, base + path, streamed) == "none"
    provider.script = _real(spec, sdk)
    where, patience = f"http://127.0.0.1:{unused_port}" if spec == "refused" else base, PATIENCE.get(spec, LONGEST)
    real = _heard(sdk, where + path, streamed, patience)
    with bench.replay(faults=(grammar.parse(spec, where="").to_data(),)) as brain:
        ours = _heard(sdk, base + path, streamed, patience)
        assert [line["fault"] for line in brain.ledger.read("calls")[0] if line["kind"] == "injected"] == [spec]
    assert ours == real
    assert documented(spec.partition(":")[0], name) == ours
