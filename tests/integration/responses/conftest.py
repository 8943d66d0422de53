"""A vector store for `file_search`."""

from __future__ import annotations

import pytest
from openai import OpenAI

TEXTS = {
    "garden.txt": "Ada grows pears in her garden behind the mill.",
    "ship.txt": "The ship Aurora leaves the harbour at seven in the morning.",
}


@pytest.fixture
def library(openai_client: OpenAI, embedding_model: str) -> str:
    """The id of a vector store with the texts in it."""
    files = [
        openai_client.files.create(file=(name, text.encode()), purpose="assistants").id for name, text in TEXTS.items()
    ]
    return openai_client.vector_stores.create(file_ids=files).id
