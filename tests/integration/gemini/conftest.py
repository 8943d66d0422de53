"""A model of Google's, or a reason to skip."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def gemini_model(text_model: str) -> str:
    """The text model, where it is one of Gemini's."""
    if not text_model.startswith("gemini/"):
        pytest.skip(f"{text_model} is no model of Gemini's (--setup gemini)")
    return text_model
