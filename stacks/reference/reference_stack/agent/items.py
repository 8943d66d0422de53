"""Items of a history: making them, and finding the calls among them that have no result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reference_stack.agent.model import Item, ToolCall

ABORTED = "aborted"


def user_message(text: str) -> Item:
    """What a user says."""
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def assistant_message(text: str) -> Item:
    """What the model said."""
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def function_call(call: ToolCall) -> Item:
    """A call that the model made."""
    return {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}


def function_call_output(call_id: str, output: str) -> Item:
    """The result of a call."""
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def open_calls(history: Iterable[Item]) -> tuple[str, ...]:
    """The ids of the calls that have no result, in the order they were made."""
    waiting: dict[Any, None] = {}
    for item in history:
        match item.get("type"):
            case "function_call":
                waiting[item["call_id"]] = None
            case "function_call_output":
                waiting.pop(item["call_id"], None)
            case _:
                pass
    return tuple(waiting)
