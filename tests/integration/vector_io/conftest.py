"""A small library of texts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from openai import OpenAI

TEXTS = {
    "garden.txt": "Ada grows pears and plums in her garden behind the mill.",
    "ship.txt": "The ship Aurora leaves the harbour at seven in the morning.",
    "bread.txt": "Bread needs flour, water, salt, yeast and a hot oven.",
}
Upload = Callable[[str], str]


@pytest.fixture
def upload(openai_client: OpenAI) -> Upload:
    """Upload the text of that name; the file's id."""

    def one(name: str) -> str:
        return openai_client.files.create(file=(name, TEXTS[name].encode()), purpose="assistants").id

    return one


@pytest.fixture
def library(openai_client: OpenAI, upload: Upload, embedding_model: str) -> str:
    """The id of a vector store with all texts in it."""
    files = [upload(name) for name in TEXTS]
    return openai_client.vector_stores.create(name="library", file_ids=files).id


@pytest.fixture(scope="session")
def shelf(openai_client: OpenAI, embedding_model: str) -> str:
    """The id of a vector store that several tests read: made once, with the calls that this takes."""
    file = openai_client.files.create(file=("ship.txt", TEXTS["ship.txt"].encode()), purpose="assistants")
    return openai_client.vector_stores.create(name="shelf", file_ids=[file.id]).id
