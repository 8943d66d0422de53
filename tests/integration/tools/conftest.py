"""A stack that can search the web, or a reason to skip."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="session")
def searching_model(text_model: str) -> str:
    """The text model, where the setup has a search of the web beside it."""
    if not os.environ.get("TAVILY_URL"):
        pytest.skip("the setup has no search of the web (--setup tavily)")
    return text_model
