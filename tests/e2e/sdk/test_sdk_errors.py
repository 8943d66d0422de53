"""What a provider refuses, and how it fails, comes back as the SDK's own exception, without the SDK's own waits."""

from __future__ import annotations

import time
from typing import Any

import pytest

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
_ROWS = (
    "openai_sync", "openai_async", "openai_aiohttp",
    "anthropic_sync", "anthropic_async",
    "google_genai_sync", "google_genai_async",
    "ollama_sync", "ollama_async",
    "tavily_sync", "tavily_async",
    "litellm_sync", "litellm_async",
    "bedrock",
)  # fmt: skip


def _caught(use: Any, url: str) -> tuple[str, str, Any]:
    """Class, text and status of what the SDK raised."""
    try:
        use(url)
    except Exception as error:  # noqa: BLE001 - which one is the question
        kind = f"{type(error).__module__}.{type(error).__qualname__}"
        status = getattr(error, "status_code", getattr(error, "code", None))
        return kind, str(error), status
    pytest.fail("nothing was raised")


def _refuse(status: int) -> Any:
    def script(wire: Any) -> None:
        path = wire.asked.path
        if "/model/" in path:
            kind = {400: "ValidationException", 404: "ResourceNotFoundException", 429: "ThrottlingException"}
            wire.json(
                {"message": "not so"}, status=status, x_amzn_errortype=kind.get(status, "InternalServerException")
            )
        elif path.endswith("/search"):
            wire.json({"detail": {"error": "not so"}}, status=status)
        elif path.endswith("/api/chat"):
            wire.json({"error": "not so"}, status=status)
        else:
            error = {"type": "invalid_request_error", "code": status, "message": "not so", "status": "REFUSED"}
            wire.json({"type": "error", "error": error}, status=status)

    return script


@pytest.mark.parametrize("status", [400, 404, 429, 500])
@pytest.mark.parametrize("row", _ROWS)
def test_a_refusal_is_the_sdks_own_exception_again(
    bench: Any, provider: Any, clients: Any, row: str, status: int
) -> None:
    use = getattr(clients, row)
    provider.script = _refuse(status)
    with bench.record(record_errors=True):
        recorded = _caught(use, provider.url)
    assert len(bench.files()) == len(provider.asked), "each attempt once"
    provider.stop()
    with bench.replay() as brain:
        replayed = _caught(use, provider.url)
        assert brain.ledger.read("misses")[0] == []
    assert recorded == replayed


@pytest.mark.parametrize("row", _ROWS)
def test_a_refused_connection_is_the_sdks_own_exception_again(
    bench: Any, provider: Any, clients: Any, row: str
) -> None:
    use = getattr(clients, row)
    provider.stop()
    with bench.record(record_errors=True):
        recorded = _caught(use, provider.url)
    with bench.replay() as brain:
        replayed = _caught(use, provider.url)
        assert brain.ledger.read("misses")[0] == []
        assert {call["kind"] for call in brain.ledger.read("calls")[0]} == {"replayed"}
    assert recorded[0] == replayed[0]


@pytest.mark.parametrize("row", [row for row in _ROWS if not row.startswith("tavily")])
def test_a_stream_that_breaks_is_the_sdks_own_exception_again(
    bench: Any, provider: Any, wires: Any, clients: Any, row: str
) -> None:
    use = getattr(clients, row)

    class Breaking:
        """The provider's side, which is gone in the middle of the second stream event."""

        def __init__(self, wire: Any) -> None:
            self._wire, self.asked, self._sent = wire, wire.asked, 0

        def __getattr__(self, name: str) -> Any:
            return getattr(self._wire, name)

        def chunk(self, data: bytes) -> None:
            self._sent += 1
            if self._sent == 2:
                self._wire.chunk(data[: len(data) // 2])
                self._wire.taken()
                self._wire.reset()
                raise ConnectionResetError
            self._wire.chunk(data)

    provider.script = lambda wire: wires.answer(Breaking(wire))
    with bench.record(record_errors=True):
        recorded = _caught(use, provider.url)
    assert len(bench.files()) == len(provider.asked), "each attempt once"
    provider.stop()
    with bench.replay() as brain:
        replayed = _caught(use, provider.url)
        assert brain.ledger.read("misses")[0] == []
    assert recorded[0] == replayed[0]


def test_botocore_does_not_wait_between_its_attempts_in_replay(
    bench: Any, provider: Any, wires: Any, clients: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    boto3, config = clients.installed("boto3"), clients.installed("botocore.config", "boto3")

    def script(wire: Any) -> None:
        if len(provider.asked) < 3:
            _refuse(429)(wire)
        else:
            wires.answer(wire)

    def use(url: str) -> tuple[Any, int, int]:
        client = boto3.client(
            "bedrock-runtime",
            region_name="eu-central-1",
            endpoint_url=url,
            aws_access_key_id="id",
            aws_secret_access_key=clients.KEY,
            config=config.Config(retries={"total_max_attempts": 4, "mode": "standard"}),
        )
        waits.clear()
        said = client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "Hi"}]}])
        client.close()
        return said["output"], said["ResponseMetadata"]["RetryAttempts"], len(waits)

    provider.script = script
    with bench.record(record_errors=True):
        recorded = use(provider.url)
    assert len(bench.files()) == 3
    with bench.replay():
        replayed = use(provider.url)
    assert recorded[:2] == replayed[:2]
    assert recorded[1:] == (2, 2)
    assert replayed[1:] == (2, 0)


def test_only_what_finally_worked_is_kept_where_errors_are_not_asked_for(
    bench: Any, provider: Any, wires: Any, clients: Any
) -> None:
    boto3 = clients.installed("boto3")

    def script(wire: Any) -> None:
        if len(provider.asked) == 1:
            _refuse(500)(wire)
        else:
            wires.answer(wire)

    def use(url: str) -> Any:
        keys = {"aws_access_key_id": "id", "aws_secret_access_key": clients.KEY}
        client = boto3.client("bedrock-runtime", region_name="eu-central-1", endpoint_url=url, **keys)
        said = client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "Hi"}]}])
        client.close()
        return said["output"], said["ResponseMetadata"]["RetryAttempts"]

    provider.script = script
    with bench.record():
        assert use(provider.url)[1] == 1
    assert len(bench.files()) == 1
    with bench.replay():
        assert use(provider.url)[1] == 0
