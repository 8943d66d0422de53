"""Tools by name. A turn runs with the plan that was taken when it began, whatever is registered meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from reference_stack.agent.cancel import CancelToken
from reference_stack.agent.model import ToolSpec


class ToolFailedError(Exception):
    """A tool could not do what it was called for; the text is for the model."""


class ToolTimedOutError(ToolFailedError):
    """A tool was stopped at its deadline."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolContext:
    """What a tool gets beside its arguments: whose call it is, and when it has to stop."""

    turn_id: str
    call_id: str
    cancel: CancelToken


class Tool(Protocol):
    """What a model can call and the session runs."""

    @property
    def spec(self) -> ToolSpec:
        """How the model is told of it."""
        ...

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> str:
        """The result, for the model. Raises ToolFailedError; when it is cancelled it leaves nothing running."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolPlan:
    """The tools of one turn. `returned` names those that the caller of the turn runs himself."""

    generation: int
    tools: Mapping[str, Tool]
    specs: tuple[ToolSpec, ...]
    returned: frozenset[str] = field(default_factory=frozenset)

    def find(self, name: str) -> Tool | None:
        """The tool of that name that the session runs."""
        return self.tools.get(name)


class ToolRegistry:
    """The tools there are now. Each change makes a new generation."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._generation = 0

    @property
    def generation(self) -> int:
        """How often the set has changed."""
        return self._generation

    def register(self, tool: Tool) -> None:
        """Add a tool. Raises ValueError where one has its name."""
        if tool.spec.name in self._tools:
            raise ValueError(f"There is a tool named {tool.spec.name!r} already.")
        self._put({**self._tools, tool.spec.name: tool})

    def replace(self, *tools: Tool) -> None:
        """Have these tools and no others, as after a catalogue was read anew. Raises ValueError for a name twice."""
        named = {tool.spec.name: tool for tool in tools}
        if len(named) != len(tools):
            raise ValueError("Two of the tools have the same name.")
        self._put(named)

    def plan(self) -> ToolPlan:
        """What a turn that begins now runs with."""
        tools = dict(self._tools)
        return ToolPlan(
            generation=self._generation,
            tools=MappingProxyType(tools),
            specs=tuple(tool.spec for tool in tools.values()),
        )

    def _put(self, tools: dict[str, Tool]) -> None:
        self._tools = tools
        self._generation += 1
