"""`file_search` as a tool of Responses, done by the gateway before the model speaks.

The models of small machines call no tools by themselves, so the last text of the user is the question, and the model
reads what was found as the result of a tool call that it never made.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from reference_stack.answers import RefusedError
from reference_stack.ids import Kind, new_id
from reference_stack.retrieval import Found, search
from reference_stack.vector_stores import vector_store_of

KIND = "file_search"


@dataclass(frozen=True, kw_only=True, slots=True)
class Searched:
    """One search: the item that the caller sees, with the results in it, and the items that the model reads."""

    item: dict[str, Any]
    for_the_model: list[dict[str, Any]]


async def search_files(request: Request, tool: dict[str, Any], items: list[dict[str, Any]]) -> Searched:
    """Search as the tool's definition says. 400 for one that cannot be followed, 404 for an unknown vector store."""
    names = tool.get("vector_store_ids")
    if not isinstance(names, list) or not names:
        text = "The tool 'file_search' must name the stores that it searches in 'vector_store_ids'."
        raise RefusedError(400, text, param="tools")
    question = _question(items)
    stores = [await vector_store_of(request, str(name)) for name in names]
    found = await search(request, stores, [question], tool)
    call = new_id(Kind.TOOL_CALL)
    return Searched(
        item={
            "id": new_id(Kind.FILE_SEARCH_CALL),
            "type": "file_search_call",
            "status": "completed",
            "queries": [question],
            "results": [{**one.shown(), "text": one.chunk.text} for one in found],
        },
        for_the_model=[
            {"type": "function_call", "call_id": call, "name": KIND, "arguments": json.dumps({"query": question})},
            {"type": "function_call_output", "call_id": call, "output": told(found)},
        ],
    )


def told(found: list[Found]) -> str:
    """Search results as the model reads them."""
    lines = [f"file_search found {len(found)} pieces of text."]
    for number, one in enumerate(found, 1):
        name = one.chunk.file_id
        facts = f"document_id: {name}, score: {one.score}, attributes: {json.dumps(dict(one.attributes))}"
        lines.append(f"[{number}] {facts} (cite as <|{name}|>)\n{one.chunk.text}")
    return "\n".join(lines)


def _question(items: list[dict[str, Any]]) -> str:
    for item in reversed(items):
        if item.get("role") != "user":
            continue
        content = item.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        text = " ".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))
        if text.strip():
            return text
    raise RefusedError(400, "The tool 'file_search' needs a text of the user to search for.", param="input")
