"""What a provider refuses and how it fails, at the level of the SDK: recorded once, replayed as the same exception."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.plugin.keeping import note_unanswered
from stackproof.recorder import install, scope
from stackproof.recorder.mode import Mode

if TYPE_CHECKING:
    from tests.e2e.errors.conftest import Raised, Sdk
    from tests.unit.recorder_wire.conftest import Bench, LoopbackProvider, Wire

# Seconds that an SDK listens to silence; the next where a machine was too slow for what was to be heard before.
_PATIENCE = (0.25, 2.0, 15.0)
_LONG_ENOUGH = (60.0,)
# SDKs wait longer than that between any two attempts in replay, unless the recorder leaves it out.
_NO_WAIT = 30.0
# SDKs that wait between attempts. That those waits are long is what replay has to cope with; recording has not.
_RETRYING = tuple(
    f"{name}._base_client"
    for name in ("openai", "anthropic", "groq", "together", "fireworks", "llama_api_client", "cerebras.cloud.sdk")
)


def _refuse(status: int, **headers: str) -> Callable[[Wire], None]:
    def script(wire: Wire) -> None:
        error = {"type": "some_error", "message": f"no: {status}", "code": "why"}
        told = (
            {"error": error["message"]} if wire.asked.path.endswith("/api/chat") else {"type": "error", "error": error}
        )
        wire.json(told, status=status, **headers)

    return script


def _slow_down(wire: Wire) -> None:
    wire.whole(b"slow down", 429, "text/plain", retry_after="50")


def _events(wire: Wire) -> Iterator[bytes]:
    """The first three events of a stream, as the API that was called has them."""
    wire.head(content_type="application/x-ndjson" if wire.asked.path.endswith("/api/chat") else "text/event-stream")
    for word in ("one", "two", "three"):
        if wire.asked.path.endswith("/api/chat"):
            message = {"role": "assistant", "content": word}
            part = {"model": "m", "created_at": "2026-01-02T03:04:05Z", "message": message, "done": False}
            yield json.dumps(part).encode() + b"\n"
        elif wire.asked.path.endswith("/messages"):
            delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}}
            yield b"event: content_block_delta\ndata: " + json.dumps(delta).encode() + b"\n\n"
        else:
            choice = {"index": 0, "delta": {"content": word}, "finish_reason": None}
            about = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
            yield b"data: " + json.dumps({**about, "choices": [choice]}).encode() + b"\n\n"


def _reset(wire: Wire) -> None:
    for event in _events(wire):
        wire.chunk(event)
    wire.taken()
    wire.reset()


def _stall(wire: Wire) -> None:
    for event in _events(wire):
        wire.chunk(event)
    # And nothing more, until the caller has left; so with the next two.


def _say_nothing(_: Wire) -> None:
    pass


def _stop_after_head(wire: Wire) -> None:
    wire.head()
    wire.chunk(b'{"id": ')


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """What happens at the provider. kept: also where errors are not asked for. retried: SDKs that do so ask again."""

    script: Callable[[Wire], None] | None = None
    stream: bool = False
    patience: tuple[float, ...] = _LONG_ENOUGH
    host: str = "127.0.0.1"
    kept: bool = False
    retried: bool = True
    status: int | None = None
    heard: int = 0


FAILURES = {
    "400": Failure(script=_refuse(400), kept=True, retried=False, status=400),
    "404": Failure(script=_refuse(404), kept=True, retried=False, status=404),
    "401": Failure(script=_refuse(401, www_authenticate="Bearer"), retried=False, status=401),
    "429 with retry-after": Failure(script=_slow_down, status=429),
    "500": Failure(script=_refuse(500), status=500),
    "500 to a stream": Failure(script=_refuse(500), stream=True, status=500),
    "refused": Failure(),
    "name not found": Failure(host="nobody.invalid"),
    "timeout before the headers": Failure(script=_say_nothing, patience=_PATIENCE),
    "timeout after the headers": Failure(script=_stop_after_head, patience=_PATIENCE),
    "timeout in a stream": Failure(script=_stall, patience=_PATIENCE, stream=True, retried=False, heard=3),
    "reset in a stream": Failure(script=_reset, stream=True, retried=False, heard=3),
}


@pytest.fixture(params=FAILURES)
def failure(request: pytest.FixtureRequest, provider: LoopbackProvider) -> Failure:
    """Each way to fail, with the provider told to."""
    chosen = FAILURES[request.param]
    provider.host = chosen.host
    if chosen.script is None:
        provider.stop()
    else:
        provider.script = chosen.script
    return chosen


@contextlib.contextmanager
def _impatient() -> Iterator[None]:
    """SDKs' own waits cut short, for recording only."""
    with pytest.MonkeyPatch.context() as patch:
        for name in _RETRYING:
            if name in sys.modules:
                patch.setattr(sys.modules[name].BaseClient, "_calculate_retry_timeout", lambda *_, **__: 0.01)
        yield


@contextlib.contextmanager
def _patient() -> Iterator[None]:
    """SDKs' own waits made so long that nobody takes a busy machine for one."""
    with pytest.MonkeyPatch.context() as patch:
        for name in _RETRYING:
            if name in sys.modules:
                for each in ("INITIAL_RETRY_DELAY", "MAX_RETRY_DELAY"):
                    patch.setattr(sys.modules[name], each, 2 * _NO_WAIT)
        yield


def _ask(sdk: Sdk, provider: LoopbackProvider, failure: Failure, patience: float = _LONG_ENOUGH[0]) -> Raised:
    url = provider.url.removesuffix("/v1") if sdk.name.startswith("anthropic") else provider.url
    return sdk.ask(url, stream=failure.stream, timeout=patience)


def _recorded(
    bench: Bench, provider: LoopbackProvider, sdk: Sdk, failure: Failure, **more: Any
) -> tuple[Bench, Raised, float]:
    """What the SDK raised where nothing came in between, with the bench that has it and the SDK's patience."""
    asked = 0 if failure.script is None else sdk.attempts if failure.retried else 1
    made: list[tuple[Bench, Raised, float]] = []
    for patience in failure.patience:
        provider.asked.clear()
        kept = replace(bench, folder=bench.folder / f"{patience:g}")
        with kept.record(**more), _impatient():
            made.append((kept, _ask(sdk, provider, failure, patience), patience))
        if (len(provider.asked), len(made[-1][1].heard)) == (asked, failure.heard):
            break
    return made[-1]


def test_a_failure_is_the_sdks_own_exception_again_and_takes_no_time(
    bench: Bench, provider: LoopbackProvider, sdk: Sdk, failure: Failure
) -> None:
    attempts = sdk.attempts if failure.retried else 1
    bench, recorded, patience = _recorded(bench, provider, sdk, failure, record_errors=True)
    assert len(bench.files()) == attempts
    assert len(provider.asked) == (0 if failure.script is None else attempts)
    provider.stop()
    with bench.replay() as brain, _patient():
        replayed = _ask(sdk, provider, failure, patience)
        assert [told["kind"] for told in brain.ledger.read("calls")[0]] == ["replayed"] * attempts
        assert brain.ledger.read("misses")[0] == []
    assert replayed == recorded
    assert (recorded.status, len(recorded.heard)) == (failure.status or recorded.status, failure.heard)
    assert replayed.seconds < _NO_WAIT


def test_only_what_the_provider_always_says_is_kept_where_errors_are_not_asked_for(
    bench: Bench, provider: LoopbackProvider, sdk: Sdk, failure: Failure
) -> None:
    bench, _, _ = _recorded(bench, provider, sdk, failure)
    assert len(bench.files()) == (1 if failure.kept else 0)


@pytest.mark.parametrize("status", [401, 429, 503])
def test_a_bad_minute_costs_no_good_file(bench: Bench, provider: LoopbackProvider, sdk: Sdk, status: int) -> None:
    provider.script = _refuse(404)  # lasting, so it is kept as any good answer is
    failure = FAILURES["404"]
    with bench.record():
        good = _ask(sdk, provider, failure)
    before = {path: path.read_bytes() for path in bench.files()}
    provider.script = _refuse(status)
    with install.installed(bench.settings(Mode.RECORD), {}) as brain, scope.use(_owner(bench)), _impatient():
        _ask(sdk, provider, failure)
        unanswered: dict[tuple[str, int], set[str]] = {}
        note_unanswered(brain.ledger.read("calls")[0], unanswered)
        brain.store.promote(_owner(bench), replace=True, prune=not any(unanswered.values()))
    assert {path: path.read_bytes() for path in bench.files()} == before
    provider.stop()
    with bench.replay():
        assert _ask(sdk, provider, failure) == good


def _owner(bench: Bench) -> Any:
    (kept,) = bench.recordings()
    return scope.Scope(name=kept["scope"], test_id=kept["test_id"])


def test_a_recorded_wait_stays_in_its_header(bench: Bench, provider: LoopbackProvider, sdk: Sdk) -> None:
    provider.script = _slow_down
    failure = FAILURES["429 with retry-after"]
    with bench.record(record_errors=True), _impatient():
        _ask(sdk, provider, failure)
    provider.stop()
    with bench.replay():
        replayed = _ask(sdk, provider, failure)
    if replayed.headers:  # Ollama's SDK hands none on
        assert replayed.headers["retry-after"] == "50"
        assert replayed.headers["content-type"] == "text/plain"


def test_sdks_of_one_make_do_not_wait_in_replay(bench: Bench, provider: LoopbackProvider, sdk_made_alike: Sdk) -> None:
    provider.stop()
    failure = FAILURES["refused"]
    with bench.record(record_errors=True), _impatient():
        recorded = _ask(sdk_made_alike, provider, failure)
    assert len(bench.files()) == sdk_made_alike.attempts
    with bench.replay(), _patient():
        replayed = _ask(sdk_made_alike, provider, failure)
    assert replayed == recorded
    assert replayed.seconds < _NO_WAIT
