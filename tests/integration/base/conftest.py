"""What several modules of this suite share."""

from __future__ import annotations

import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletion


@pytest.fixture(scope="session")
def opening(openai_client: OpenAI, text_model: str) -> ChatCompletion:
    """The first answer of a conversation: one provider call for the whole session."""
    return openai_client.chat.completions.create(
        model=text_model,
        messages=[{"role": "user", "content": "Name one colour."}],
        temperature=0,
        max_tokens=8,
    )
