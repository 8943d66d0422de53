"""`/v1/files`: uploads, kept as they came."""

from __future__ import annotations

import time
from typing import Any

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from reference_stack.answers import RefusedError
from reference_stack.asked import answering, page, store_of
from reference_stack.ids import Kind, new_id
from reference_stack.store import Table

PURPOSES = ("assistants", "batch", "fine-tune", "vision", "user_data", "evals")
LARGEST = 64 * 1024 * 1024  # bytes: a file is held in memory while it is read


async def create(request: Request) -> Response:
    """Keep an upload: form data with the parts `file` and `purpose`."""
    async with request.form(max_files=1) as form:
        upload, purpose = form.get("file"), form.get("purpose")
        if not isinstance(upload, UploadFile):
            raise RefusedError(400, "Missing required parameter: 'file', a part of form data with a file name.")
        if purpose not in PURPOSES:
            text = f"The parameter 'purpose' is one of {', '.join(PURPOSES)}, not {purpose!r}."
            raise RefusedError(400, text, param="purpose")
        content = await upload.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise RefusedError(413, f"A file may have {LARGEST} bytes.", param="file")
        value: dict[str, Any] = {
            "id": new_id(Kind.FILE),
            "object": "file",
            "bytes": len(content),
            "created_at": int(time.time()),
            "filename": upload.filename or "",
            "purpose": purpose,
            "status": "processed",
        }
    await store_of(request).put(Table.FILE, value["id"], value, content)
    return JSONResponse(value)


async def listed(request: Request) -> Response:
    """Files, the newest first, those of one `purpose` if it is given."""
    files = await store_of(request).every(Table.FILE)
    purpose = request.query_params.get("purpose")
    wanted = [file for file in files if purpose in (None, file["purpose"])]
    return JSONResponse(page(request, wanted, largest=10_000, usual=10_000))


async def retrieve(request: Request) -> Response:
    """What is known of a file."""
    return JSONResponse(await file_of(request, request.path_params["file_id"]))


async def content(request: Request) -> Response:
    """A file's bytes."""
    file = await file_of(request, request.path_params["file_id"])
    return Response(await content_of(request, file), media_type="application/octet-stream")


async def delete(request: Request) -> Response:
    """Forget a file; vector stores forget what they had of it."""
    name, store = request.path_params["file_id"], store_of(request)
    await file_of(request, name)
    for member in await store.every(Table.VECTOR_STORE_FILE):
        if member["id"] == name:
            await store.delete(Table.VECTOR_STORE_FILE, f"{member['vector_store_id']}/{name}")
            await store.put_chunks(member["vector_store_id"], name, [])
    await store.delete(Table.FILE, name)
    return JSONResponse({"id": name, "object": "file", "deleted": True})


async def file_of(request: Request, name: str) -> dict[str, Any]:
    """The file of that id; 404."""
    file = await store_of(request).get(Table.FILE, name)
    if file is None:
        raise RefusedError(404, f"No such File object: {name}", param="id")
    return file


async def content_of(request: Request, file: dict[str, Any]) -> bytes:
    """Its bytes; 404 when somebody has deleted it meanwhile."""
    found = await store_of(request).content(Table.FILE, file["id"])
    if found is None:
        raise RefusedError(404, f"No such File object: {file['id']}", param="id")
    return found


ROUTES = (
    Route("/v1/files", answering(create), methods=["POST"]),
    Route("/v1/files", answering(listed)),
    Route("/v1/files/{file_id}", answering(retrieve)),
    Route("/v1/files/{file_id}", answering(delete), methods=["DELETE"]),
    Route("/v1/files/{file_id}/content", answering(content)),
)
