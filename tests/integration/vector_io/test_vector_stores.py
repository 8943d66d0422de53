"""Vector stores: files in, files out, and what is told about them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import openai
import pytest
from openai import AsyncOpenAI, OpenAI


def test_an_empty_store_is_described(openai_client: OpenAI, embedding_model: str) -> None:
    store = openai_client.vector_stores.create(name="nothing yet", metadata={"shelf": "3"})
    assert store.object == "vector_store"
    assert store.id.startswith("vs_")
    assert (store.name, store.metadata, store.status) == ("nothing yet", {"shelf": "3"}, "completed")
    assert (store.file_counts.total, store.usage_bytes) == (0, 0)
    assert openai_client.vector_stores.retrieve(store.id) == store


def test_a_file_is_added_and_counted(openai_client: OpenAI, upload: Callable[[str], str], embedding_model: str) -> None:
    store = openai_client.vector_stores.create(name="one")
    name = upload("ship.txt")
    added = openai_client.vector_stores.files.create(store.id, file_id=name, attributes={"kind": "sea"})
    assert (added.id, added.object, added.status) == (name, "vector_store.file", "completed")
    assert (added.vector_store_id, added.attributes, added.last_error) == (store.id, {"kind": "sea"}, None)
    assert openai_client.vector_stores.files.retrieve(name, vector_store_id=store.id) == added
    counted = openai_client.vector_stores.retrieve(store.id)
    assert (counted.file_counts.completed, counted.file_counts.total) == (1, 1)
    assert counted.usage_bytes == added.usage_bytes > 0


def test_files_named_at_the_start_are_in_it(openai_client: OpenAI, library: str) -> None:
    files = list(openai_client.vector_stores.files.list(library))
    assert {file.status for file in files} == {"completed"}
    assert len(files) == 3


def test_a_long_text_is_cut_into_chunks_with_a_common_edge(openai_client: OpenAI, embedding_model: str) -> None:
    words = [f"word{number}" for number in range(90)]
    file = openai_client.files.create(file=("long.txt", " ".join(words).encode()), purpose="assistants")
    store = openai_client.vector_stores.create()
    openai_client.vector_stores.files.create(
        store.id,
        file_id=file.id,
        chunking_strategy={"type": "static", "static": {"max_chunk_size_tokens": 40, "chunk_overlap_tokens": 10}},
    )
    found = openai_client.vector_stores.search(store.id, query="word50", max_num_results=50)
    chunks = sorted((each.content[0].text.split() for each in found), key=lambda chunk: words.index(chunk[0]))
    assert [chunk[0] for chunk in chunks] == ["word0", "word30", "word60"]
    assert [len(chunk) for chunk in chunks] == [40, 40, 30]


def test_several_files_are_added_as_a_batch(
    openai_client: OpenAI, upload: Callable[[str], str], embedding_model: str
) -> None:
    store = openai_client.vector_stores.create()
    names = [upload("garden.txt"), upload("bread.txt")]
    batch = openai_client.vector_stores.file_batches.create(store.id, file_ids=names)
    assert batch.id.startswith("batch_")
    assert (batch.status, batch.file_counts.completed, batch.file_counts.total) == ("completed", 2, 2)
    assert openai_client.vector_stores.file_batches.retrieve(batch.id, vector_store_id=store.id) == batch


def test_what_is_no_text_fails_and_the_file_says_why(openai_client: OpenAI, embedding_model: str) -> None:
    file = openai_client.files.create(file=("picture.png", b"\x89PNG\xff\xfe"), purpose="assistants")
    store = openai_client.vector_stores.create()
    added = openai_client.vector_stores.files.create(store.id, file_id=file.id)
    assert added.status == "failed"
    assert added.last_error is not None
    assert "picture.png" in added.last_error.message
    assert openai_client.vector_stores.retrieve(store.id).file_counts.failed == 1


def test_a_file_that_is_taken_out_is_found_no_more(openai_client: OpenAI, library: str) -> None:
    files = {file.id for file in openai_client.vector_stores.files.list(library)}
    found = openai_client.vector_stores.search(library, query="When does the ship leave?").data
    first = found[0].file_id
    assert first in files
    openai_client.vector_stores.files.delete(first, vector_store_id=library)
    again = openai_client.vector_stores.search(library, query="When does the ship leave?").data
    assert {each.file_id for each in again} == files - {first}
    assert openai_client.files.retrieve(first).id == first, "the file itself stays"


def test_a_file_that_is_deleted_leaves_its_stores(openai_client: OpenAI, library: str) -> None:
    name = next(iter(openai_client.vector_stores.files.list(library))).id
    openai_client.files.delete(name)
    assert name not in [file.id for file in openai_client.vector_stores.files.list(library)]


def test_what_was_made_is_listed_the_newest_first(openai_client: OpenAI, embedding_model: str) -> None:
    mine = [openai_client.vector_stores.create(name=str(number)).id for number in range(3)]
    listed = [store.id for store in openai_client.vector_stores.list(limit=100)]
    assert [name for name in listed if name in mine] == mine[::-1]


def test_a_deleted_store_is_gone_and_its_files_stay(
    openai_client: OpenAI, upload: Callable[[str], str], embedding_model: str
) -> None:
    name = upload("bread.txt")
    store = openai_client.vector_stores.create(file_ids=[name])
    assert openai_client.vector_stores.delete(store.id).deleted
    with pytest.raises(openai.NotFoundError, match=store.id):
        openai_client.vector_stores.retrieve(store.id)
    with pytest.raises(openai.NotFoundError, match=store.id):
        openai_client.vector_stores.search(store.id, query="bread")
    assert openai_client.files.retrieve(name).id == name


def test_an_unknown_file_or_model_is_refused(
    openai_client: OpenAI, upload: Callable[[str], str], embedding_model: str
) -> None:
    store = openai_client.vector_stores.create()
    with pytest.raises(openai.NotFoundError, match="file-nothing"):
        openai_client.vector_stores.files.create(store.id, file_id="file-nothing")
    name = f"{embedding_model.partition('/')[0]}/no-such-model"
    other = openai_client.vector_stores.create(extra_body={"embedding_model": name})
    with pytest.raises(openai.APIStatusError) as caught:
        openai_client.vector_stores.files.create(other.id, file_id=upload("ship.txt"))
    assert 400 <= caught.value.status_code < 500
    assert "no-such-model" in caught.value.message
    assert openai_client.vector_stores.retrieve(other.id).file_counts.total == 0


def test_an_async_client_makes_and_searches_a_store(async_openai_client: AsyncOpenAI, embedding_model: str) -> None:
    async def ask() -> list[str]:
        async with async_openai_client as client:
            file = await client.files.create(file=("sky.txt", b"The sky is blue."), purpose="assistants")
            store = await client.vector_stores.create(file_ids=[file.id])
            found = await client.vector_stores.search(store.id, query="Which colour is the sky?")
            return [each.file_id for each in found.data]

    assert len(asyncio.run(ask())) == 1
