"""A test that runs again gets its ids again: what it makes then takes the place of what it made before."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx2
import pytest

from reference_stack.ids import set_id_override

Gateway = Callable[..., httpx2.Client]


@pytest.fixture(autouse=True)
def _same_ids() -> Iterator[None]:
    before = set_id_override(lambda kind, _: f"{kind}-1")
    yield
    set_id_override(before)


@pytest.fixture
def client(gateway: Gateway) -> httpx2.Client:
    def provider(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json={"data": [{"index": 0, "embedding": [1.0]}], "object": "list", "model": "e"})

    environ = {"OLLAMA_URL": "http://ollama.invalid/v1", "REFERENCE_EMBEDDING_MODEL": "ollama/e"}
    return gateway(provider, environ)


def upload(client: httpx2.Client, content: bytes) -> str:
    told = client.post("/v1/files", files={"file": ("a", content)}, data={"purpose": "assistants"}).json()
    return str(told["id"])


def test_a_file_is_the_last_one_of_its_id(client: httpx2.Client) -> None:
    assert upload(client, b"one") == upload(client, b"other") == "file-1"
    assert client.get("/v1/files/file-1/content").content == b"other"
    assert len(client.get("/v1/files").json()["data"]) == 1


def test_a_vector_store_begins_empty_whatever_was_in_the_one_of_its_id(client: httpx2.Client) -> None:
    upload(client, b"some words")
    first = client.post("/v1/vector_stores", json={"file_ids": ["file-1"]}).json()
    assert first["file_counts"]["total"] == 1
    batch = client.post(f"/v1/vector_stores/{first['id']}/file_batches", json={"file_ids": ["file-1"]}).json()
    second = client.post("/v1/vector_stores", json={}).json()
    assert second["id"] == first["id"]
    assert second["file_counts"]["total"] == 0
    assert client.post(f"/v1/vector_stores/{first['id']}/search", json={"query": "words"}).json()["data"] == []
    assert client.get(f"/v1/vector_stores/{first['id']}/file_batches/{batch['id']}").status_code == 404
