"""The tool that the scripted model calls: as a function of the caller, and as one that the stack hosts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from openai.types.responses import FunctionToolParam
from openai.types.responses.tool_param import Mcp


@pytest.fixture
def weather() -> FunctionToolParam:
    """A function that the caller runs."""
    return {
        "type": "function",
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "strict": False,
    }


@pytest.fixture
def hosted() -> Callable[[str], Mcp]:
    """Tools that the stack runs, by the label of their server."""

    def named(label: str) -> Mcp:
        return {"type": "mcp", "server_label": label, "require_approval": "never"}

    return named
