"""Searches that the gateway does before the model speaks.

The models of small machines call no tools by themselves, so the last text of the user is the question, and the model
reads what was found as the result of a tool call that it never made.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from reference_stack.answers import RefusedError
from reference_stack.ids import Kind, new_id


@dataclass(frozen=True, kw_only=True, slots=True)
class Searched:
    """One search: the item that the caller sees, with all that can be in it, and the items that the model reads."""

    item: dict[str, Any]
    for_the_model: list[dict[str, Any]]


def as_tool_call(kind: str, question: str, found: str) -> list[dict[str, Any]]:
    """A search as the model reads it."""
    call = new_id(Kind.TOOL_CALL)
    return [
        {"type": "function_call", "call_id": call, "name": kind, "arguments": json.dumps({"query": question})},
        {"type": "function_call_output", "call_id": call, "output": found},
    ]


def question_of(items: list[dict[str, Any]], kind: str) -> str:
    """The last text of the user; 400 without one."""
    for item in reversed(items):
        if item.get("role") != "user":
            continue
        content = item.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        text = " ".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))
        if text.strip():
            return text
    raise RefusedError(400, f"The tool {kind!r} needs a text of the user to search for.", param="input")
