"""`/v1/vector_stores`: files cut into chunks, with an embedding for each; searched by comparing all of them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from reference_stack.answers import RefusedError
from reference_stack.asked import answering, body_of, page, store_of
from reference_stack.files import content_of, file_of
from reference_stack.ids import Kind, new_id
from reference_stack.retrieval import OVERLAP, WORDS, embed, search, split
from reference_stack.store import Chunk, Table

_STATES = ("in_progress", "completed", "cancelled", "failed")


async def create(request: Request) -> Response:
    """A new vector store with the files of `file_ids` in it. `embedding_model`: whose embeddings, if not the usual."""
    body = await body_of(request)
    model = body.get("embedding_model") or request.state.embedding_model
    if not isinstance(model, str) or not model:
        text = "Missing required parameter: 'embedding_model', since this gateway was given no usual one."
        raise RefusedError(400, text, param="embedding_model")
    names = _texts(body, "file_ids") if body.get("file_ids") else []
    files = [await file_of(request, name) for name in names]
    value: dict[str, Any] = {
        "id": new_id(Kind.VECTOR_STORE),
        "object": "vector_store",
        "created_at": int(time.time()),
        "name": body.get("name"),
        "metadata": body.get("metadata") or {},
        "embedding_model": model,
        "expires_after": None,
    }
    await _empty(request, value["id"])  # the one of this id before, if there was one
    await store_of(request).put(Table.VECTOR_STORE, value["id"], value)
    for file in files:
        await _add(request, value, file, body)
    return JSONResponse(await _shown(request, value))


async def listed(request: Request) -> Response:
    """Vector stores, the newest first."""
    found = page(request, await store_of(request).every(Table.VECTOR_STORE))
    return JSONResponse({**found, "data": [await _shown(request, each) for each in found["data"]]})


async def retrieve(request: Request) -> Response:
    """One vector store."""
    return JSONResponse(await _shown(request, await vector_store_of(request)))


async def delete(request: Request) -> Response:
    """Forget a vector store; its files stay."""
    name = (await vector_store_of(request))["id"]
    await _empty(request, name)
    await store_of(request).delete(Table.VECTOR_STORE, name)
    return JSONResponse({"id": name, "object": "vector_store.deleted", "deleted": True})


async def add_file(request: Request) -> Response:
    """Put a file in. It is searchable when the answer comes, or its `status` is `failed` and `last_error` says why."""
    target, body = await vector_store_of(request), await body_of(request, ("file_id",))
    return JSONResponse(await _add(request, target, await file_of(request, str(body["file_id"])), body))


async def add_files(request: Request) -> Response:
    """Put several files in."""
    target, body = await vector_store_of(request), await body_of(request, ("file_ids",))
    files = [await file_of(request, name) for name in _texts(body, "file_ids")]
    added = [await _add(request, target, file, body) for file in files]
    value: dict[str, Any] = {
        "id": new_id(Kind.VECTOR_STORE_FILE_BATCH),
        "object": "vector_store.file_batch",
        "created_at": int(time.time()),
        "vector_store_id": target["id"],
        "status": "completed",
        "file_counts": _counts(added),
    }
    await store_of(request).put(Table.VECTOR_STORE_FILE_BATCH, f"{target['id']}/{value['id']}", value)
    return JSONResponse(value)


async def retrieve_batch(request: Request) -> Response:
    """What became of several files that were put in together."""
    target, name = await vector_store_of(request), request.path_params["batch_id"]
    found = await store_of(request).get(Table.VECTOR_STORE_FILE_BATCH, f"{target['id']}/{name}")
    if found is None:
        raise RefusedError(404, f"No such file batch in {target['id']}: {name}", param="batch_id")
    return JSONResponse(found)


async def listed_files(request: Request) -> Response:
    """The files of a vector store, the last one first."""
    target = await vector_store_of(request)
    return JSONResponse(page(request, await store_of(request).every(Table.VECTOR_STORE_FILE, below=f"{target['id']}/")))


async def retrieve_file(request: Request) -> Response:
    """One file of a vector store."""
    return JSONResponse(await _member(request, await vector_store_of(request)))


async def remove_file(request: Request) -> Response:
    """Take a file out; the file itself stays."""
    target = await vector_store_of(request)
    name = (await _member(request, target))["id"]
    await store_of(request).delete(Table.VECTOR_STORE_FILE, f"{target['id']}/{name}")
    await store_of(request).put_chunks(target["id"], name, [])
    return JSONResponse({"id": name, "object": "vector_store.file.deleted", "deleted": True})


async def search_in(request: Request) -> Response:
    """The chunks nearest to `query`, a text or several."""
    target, body = await vector_store_of(request), await body_of(request, ("query",))
    queries = [body["query"]] if isinstance(body["query"], str) else _texts(body, "query")
    found = await search(request, [target], queries, body)
    data = [{**one.shown(), "content": [{"type": "text", "text": one.chunk.text}]} for one in found]
    whole = {"object": "vector_store.search_results.page", "search_query": queries, "data": data}
    return JSONResponse({**whole, "has_more": False, "next_page": None})


async def vector_store_of(request: Request, name: str | None = None) -> dict[str, Any]:
    """The vector store of that id (default: the one in the path); 404."""
    wanted = request.path_params["vector_store_id"] if name is None else name
    found = await store_of(request).get(Table.VECTOR_STORE, wanted)
    if found is None:
        raise RefusedError(404, f"No vector store found with id {wanted!r}.", param="vector_store_id")
    return found


async def _member(request: Request, target: Mapping[str, Any]) -> dict[str, Any]:
    name = request.path_params["file_id"]
    found = await store_of(request).get(Table.VECTOR_STORE_FILE, f"{target['id']}/{name}")
    if found is None:
        raise RefusedError(404, f"No file {name!r} in vector store {target['id']!r}.", param="file_id")
    return found


async def _add(
    request: Request, target: Mapping[str, Any], file: dict[str, Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    words, overlap = _sizes(options.get("chunking_strategy"))
    value = {
        "id": file["id"],
        "object": "vector_store.file",
        "created_at": int(time.time()),
        "vector_store_id": target["id"],
        "filename": file["filename"],
        "status": "completed",
        "last_error": None,
        "usage_bytes": file["bytes"],
        "attributes": options.get("attributes") or {},
        "chunking_strategy": {
            "type": "static",
            "static": {"max_chunk_size_tokens": words, "chunk_overlap_tokens": overlap},
        },
    }
    try:
        texts = split((await content_of(request, file)).decode("utf-8"), words=words, overlap=overlap)
    except UnicodeDecodeError:
        reason = {"code": "unsupported_file", "message": f"The file {file['filename']!r} is no text in UTF-8."}
        value |= {"status": "failed", "last_error": reason, "usage_bytes": 0}
        texts = []
    vectors = await embed(request, target["embedding_model"], texts)
    chunks = [Chunk(file_id=file["id"], text=text, vector=vector) for text, vector in zip(texts, vectors, strict=True)]
    await store_of(request).put_chunks(target["id"], file["id"], chunks)
    await store_of(request).put(Table.VECTOR_STORE_FILE, f"{target['id']}/{file['id']}", value)
    return value


async def _empty(request: Request, name: str) -> None:
    for table in (Table.VECTOR_STORE_FILE, Table.VECTOR_STORE_FILE_BATCH):
        for each in await store_of(request).every(table, below=f"{name}/"):
            await store_of(request).delete(table, f"{name}/{each['id']}")
            if table is Table.VECTOR_STORE_FILE:
                await store_of(request).put_chunks(name, each["id"], [])


async def _shown(request: Request, value: Mapping[str, Any]) -> dict[str, Any]:
    files = await store_of(request).every(Table.VECTOR_STORE_FILE, below=f"{value['id']}/")
    return {
        **value,
        "status": "completed",
        "usage_bytes": sum(file["usage_bytes"] for file in files),
        "file_counts": _counts(files),
        "last_active_at": max([value["created_at"], *(file["created_at"] for file in files)]),
    }


def _counts(files: list[dict[str, Any]]) -> dict[str, int]:
    return {state: sum(file["status"] == state for file in files) for state in _STATES} | {"total": len(files)}


def _texts(body: Mapping[str, Any], name: str) -> list[str]:
    values = body[name]
    if not isinstance(values, list) or not values or not all(isinstance(value, str) for value in values):
        raise RefusedError(400, f"The parameter {name!r} must be a list of texts that is not empty.", param=name)
    return values


def _sizes(strategy: Any) -> tuple[int, int]:
    """Words in a chunk and words of overlap; the API calls them tokens."""
    if strategy is None or (isinstance(strategy, dict) and strategy.get("type") == "auto"):
        return WORDS, OVERLAP
    static = strategy.get("static") if isinstance(strategy, dict) else None
    if isinstance(static, dict):
        words, overlap = static.get("max_chunk_size_tokens"), static.get("chunk_overlap_tokens", 0)
        if isinstance(words, int) and isinstance(overlap, int) and 1 <= words <= 4096 and 0 <= 2 * overlap <= words:
            return words, overlap
    text = "A static chunking strategy has 1 to 4096 max_chunk_size_tokens, and at most half as many in common."
    raise RefusedError(400, text, param="chunking_strategy")


_ONE = "/v1/vector_stores/{vector_store_id}"
ROUTES = (
    Route("/v1/vector_stores", answering(create), methods=["POST"]),
    Route("/v1/vector_stores", answering(listed)),
    Route(_ONE, answering(retrieve)),
    Route(_ONE, answering(delete), methods=["DELETE"]),
    Route(f"{_ONE}/files", answering(add_file), methods=["POST"]),
    Route(f"{_ONE}/files", answering(listed_files)),
    Route(f"{_ONE}/files/{{file_id}}", answering(retrieve_file)),
    Route(f"{_ONE}/files/{{file_id}}", answering(remove_file), methods=["DELETE"]),
    Route(f"{_ONE}/file_batches", answering(add_files), methods=["POST"]),
    Route(f"{_ONE}/file_batches/{{batch_id}}", answering(retrieve_batch)),
    Route(f"{_ONE}/search", answering(search_in), methods=["POST"]),
)
