"""A tool that knows a table by heart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reference_stack.agent.model import ToolSpec
from reference_stack.agent.tools import ToolContext, ToolFailedError


@dataclass(frozen=True, kw_only=True, slots=True)
class LookUp:
    """The row that the argument `by` names."""

    spec: ToolSpec
    by: str
    rows: Mapping[str, str]

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> str:
        """The text of that row. Raises ToolFailedError where there is none."""
        del context
        asked = arguments.get(self.by)
        if not isinstance(asked, str):
            raise ToolFailedError(f"the argument {self.by!r} must be a text")
        if asked not in self.rows:
            raise ToolFailedError(f"nothing is known of {asked!r}")
        return self.rows[asked]
