"""A Response as this gateway makes it (https://platform.openai.com/docs/api-reference/responses/object)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# What the API answers where the caller did not say.
_ELSE: Mapping[str, Any] = {
    "background": False,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": None,
    "service_tier": None,
    "store": False,
    "temperature": None,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
    "truncation": "disabled",
    "user": None,
}


def response_object(
    asked: Mapping[str, Any],
    *,
    response_id: str,
    created_at: int,
    status: str,
    output: list[dict[str, Any]],
    usage: Mapping[str, Any] | None = None,
    error: Mapping[str, str] | None = None,
    incomplete: str | None = None,
) -> dict[str, Any]:
    """The object, with what the caller asked for in it.

    created_at: seconds since 1970. incomplete: why a response with the status `incomplete` is.
    """
    said = {name: other if asked.get(name) is None else asked[name] for name, other in _ELSE.items()}
    return {
        "id": response_id,
        "object": "response",
        "created_at": created_at,
        "status": status,
        "error": error,
        "incomplete_details": None if incomplete is None else {"reason": incomplete},
        "model": asked["model"],
        "output": output,
        "usage": usage,
        **said,
    }
