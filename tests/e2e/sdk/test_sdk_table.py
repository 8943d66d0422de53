"""Every SDK records and replays, plain and streamed, whatever HTTP library it sends through."""

from __future__ import annotations

import json
from typing import Any

import pytest

# SDKs warn about themselves and each other; none of that is ours to fix.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
_ROWS = (
    "openai_sync", "openai_async", "openai_aiohttp", "openai_legacy_httpx", "openai_legacy_httpx_async",
    "anthropic_sync", "anthropic_async",
    "google_genai_sync", "google_genai_async",
    "ollama_sync", "ollama_async",
    "tavily_sync", "tavily_async",
    "litellm_sync", "litellm_async",
    "bedrock",
    "mistral_sync", "mistral_async",
    "cohere_sync", "cohere_async",
    "groq_sync", "groq_async",
    "langchain_sync", "langchain_async",
)  # fmt: skip


@pytest.mark.parametrize("row", _ROWS)
def test_an_sdk_gets_equal_objects_from_its_recordings(
    bench: Any, provider: Any, wires: Any, clients: Any, row: str
) -> None:
    use = getattr(clients, row)
    provider.script = wires.answer
    with bench.record():
        recorded = use(provider.url)
    assert len(provider.asked) == 2
    files = bench.recordings()
    assert len(files) == 2, "each call is recorded once"
    assert all(kept["response"]["complete"] and kept["response"]["status"] == 200 for kept in files)
    provider.stop()
    with bench.replay() as brain:
        replayed = use(provider.url)
        kinds = [call["kind"] for call in brain.ledger.read("calls")[0]]
        misses, _ = brain.ledger.read("misses")
    assert kinds == ["replayed", "replayed"]
    assert misses == []
    assert json.dumps(replayed, default=repr) == json.dumps(recorded, default=repr)
    assert "".join(wires.TEXT) in json.dumps(recorded[0], default=repr)
    assert len(recorded[1]) >= (1 if row.startswith("tavily") else len(wires.TEXT))
