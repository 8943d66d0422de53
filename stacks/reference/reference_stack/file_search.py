"""`file_search` as a tool of Responses, done by the gateway before the model speaks."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request

from reference_stack.answers import RefusedError
from reference_stack.ids import Kind, new_id
from reference_stack.retrieval import Found, search
from reference_stack.searching import Searched, as_tool_call, question_of
from reference_stack.vector_stores import vector_store_of

KIND = "file_search"


async def search_files(request: Request, tool: dict[str, Any], items: list[dict[str, Any]]) -> Searched:
    """Search as the tool's definition says. 400 for one that cannot be followed, 404 for an unknown vector store."""
    names = tool.get("vector_store_ids")
    if not isinstance(names, list) or not names:
        text = "The tool 'file_search' must name the stores that it searches in 'vector_store_ids'."
        raise RefusedError(400, text, param="tools")
    question = question_of(items, KIND)
    stores = [await vector_store_of(request, str(name)) for name in names]
    found = await search(request, stores, [question], tool)
    return Searched(
        item={
            "id": new_id(Kind.FILE_SEARCH_CALL),
            "type": "file_search_call",
            "status": "completed",
            "queries": [question],
            "results": [{**one.shown(), "text": one.chunk.text} for one in found],
        },
        for_the_model=as_tool_call(KIND, question, told(found)),
    )


def told(found: list[Found]) -> str:
    """Search results as the model reads them."""
    lines = [f"file_search found {len(found)} pieces of text."]
    for number, one in enumerate(found, 1):
        name = one.chunk.file_id
        facts = f"document_id: {name}, score: {one.score}, attributes: {json.dumps(dict(one.attributes))}"
        lines.append(f"[{number}] {facts} (cite as <|{name}|>)\n{one.chunk.text}")
    return "\n".join(lines)
