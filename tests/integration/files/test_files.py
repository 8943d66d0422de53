"""Files: uploaded, listed, read, deleted. No provider has a part in it."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor

import httpx2
import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types import FileObject

TEXT = "Pears grow in the garden of Ada.\nZwölf Äpfel – 東京 🍐\n".encode()
BYTES = bytes(range(256)) * 300


def upload(client: OpenAI, content: bytes = TEXT, name: str = "garden.txt") -> FileObject:
    """One file more."""
    return client.files.create(file=(name, content), purpose="assistants")


def test_an_upload_is_described(openai_client: OpenAI) -> None:
    file = upload(openai_client)
    assert file.object == "file"
    assert file.id.startswith("file-")
    assert (file.filename, file.purpose, file.bytes) == ("garden.txt", "assistants", len(TEXT))
    assert openai_client.files.retrieve(file.id) == file


@pytest.mark.parametrize(
    "content", [TEXT, BYTES, b"", b"\r\n--boundary--\r\n"], ids=["text", "bytes", "empty", "lines"]
)
def test_a_file_comes_back_byte_for_byte(openai_client: OpenAI, content: bytes) -> None:
    file = upload(openai_client, content, "any.bin")
    assert openai_client.files.content(file.id).content == content


def test_a_name_beyond_ascii_is_kept(openai_client: OpenAI) -> None:
    assert upload(openai_client, name="Gärten – 東京.txt").filename == "Gärten – 東京.txt"


def test_the_same_upload_twice_makes_two_files(openai_client: OpenAI) -> None:
    one, other = upload(openai_client), upload(openai_client)
    assert one.id != other.id
    openai_client.files.delete(one.id)
    assert openai_client.files.content(other.id).content == TEXT


def test_ids_of_one_test_follow_one_another(openai_client: OpenAI) -> None:
    if os.environ.get("STACKPROOF_INFERENCE_MODE") == "live":
        pytest.skip("in live mode the stack makes its own ids")
    numbers = [int(upload(openai_client).id[-12:]) for _ in range(3)]
    assert numbers == [1, 2, 3]


def test_uploads_at_once_get_ids_of_their_own(openai_client: OpenAI) -> None:
    with ThreadPoolExecutor(max_workers=8) as pool:
        files = list(pool.map(lambda _: upload(openai_client), range(16), timeout=60))
    assert len({file.id for file in files}) == 16


def test_what_was_uploaded_is_listed_the_newest_first(openai_client: OpenAI) -> None:
    mine = [upload(openai_client, name=f"{number}.txt").id for number in range(3)]
    listed = [file.id for file in openai_client.files.list()]
    assert [name for name in listed if name in mine] == mine[::-1]
    listed = [file.id for file in openai_client.files.list(order="asc")]
    assert [name for name in listed if name in mine] == mine


def test_a_list_has_pages(openai_client: OpenAI) -> None:
    mine = [upload(openai_client).id for _ in range(3)]
    page = openai_client.files.list(after=mine[2], limit=1)
    assert len(page.data) == 1
    # Uploads of other tests may lie between: the SDK follows the pages through them.
    found = [file.id for file in openai_client.files.list(after=mine[2], limit=1000) if file.id in mine]
    assert found == [mine[1], mine[0]]


def test_a_list_may_be_of_one_purpose(openai_client: OpenAI) -> None:
    other = openai_client.files.create(file=("q.jsonl", b"{}"), purpose="batch")
    mine = upload(openai_client)
    listed = {file.id: file.purpose for file in openai_client.files.list(purpose="batch")}
    assert other.id in listed
    assert mine.id not in listed
    assert set(listed.values()) == {"batch"}


def test_a_deleted_file_is_gone(openai_client: OpenAI) -> None:
    file = upload(openai_client)
    deleted = openai_client.files.delete(file.id)
    assert (deleted.id, deleted.object, deleted.deleted) == (file.id, "file", True)
    for ask in (openai_client.files.retrieve, openai_client.files.content, openai_client.files.delete):
        with pytest.raises(openai.NotFoundError, match=file.id):
            ask(file.id)
    assert file.id not in [each.id for each in openai_client.files.list()]


def test_an_async_client_uploads_too(async_openai_client: AsyncOpenAI) -> None:
    async def ask() -> bytes:
        async with async_openai_client as client:
            file = await client.files.create(file=("a.txt", TEXT), purpose="user_data")
            return (await client.files.content(file.id)).content

    assert asyncio.run(ask()) == TEXT


@pytest.mark.parametrize(
    ("parts", "word"),
    [
        ({"files": {"file": ("a.txt", b"x")}}, "purpose"),
        ({"files": {"file": ("a.txt", b"x")}, "data": {"purpose": "nothing"}}, "purpose"),
        ({"data": {"purpose": "assistants"}}, "file"),
        ({"json": {"purpose": "assistants"}}, "file"),
        ({"content": b"--x\r\n", "headers": {"content-type": "multipart/form-data"}}, "boundary"),
    ],
    ids=["no purpose", "an unknown purpose", "no file", "no form", "a form without boundary"],
)
def test_an_upload_that_makes_no_sense_is_a_bad_request(
    http_client: httpx2.Client, parts: dict[str, object], word: str
) -> None:
    response = http_client.request("POST", "/v1/files", **parts)  # type: ignore[arg-type]
    assert response.status_code == 400
    assert word in response.json()["error"]["message"]


def test_a_page_that_makes_no_sense_is_a_bad_request(http_client: httpx2.Client) -> None:
    for query in ("limit=0", "limit=ten", "limit=99999", "order=up", "after=file-nothing"):
        response = http_client.get(f"/v1/files?{query}")
        assert response.status_code == 400, query
        assert query.partition("=")[2] in response.json()["error"]["message"]
