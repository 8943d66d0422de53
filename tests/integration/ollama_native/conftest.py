"""Models behind Ollama's own API, or a reason to skip."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="session")
def native_model(text_model: str) -> str:
    """The text model, where its provider speaks Ollama's own API."""
    return _spoken(text_model)


@pytest.fixture(scope="session")
def native_embedding_model(embedding_model: str) -> str:
    """The embedding model, where its provider speaks Ollama's own API."""
    return _spoken(embedding_model)


def _spoken(model: str) -> str:
    provider = model.partition("/")[0]
    if provider not in ("ollama", "echo"):
        pytest.skip(f"{model} is not behind Ollama's own API (--setup echo, or ollama with an Ollama)")
    if provider == "ollama" and os.environ.get("STACKPROOF_INFERENCE_MODE") == "replay":
        pytest.skip("no Ollama was at hand to record its own API; the wire format is proven by --setup echo")
    return model
