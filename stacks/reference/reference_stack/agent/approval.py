"""Whether a call of a tool may run. A call that may not has a result all the same, which says so to the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from reference_stack.agent.items import function_call_output
from reference_stack.agent.model import Item


@dataclass(frozen=True, kw_only=True, slots=True)
class Allowed:
    """The call runs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Denied:
    """The call does not run. `reason` is for the model."""

    reason: str


Decision = Allowed | Denied


class ApprovalPolicy(Protocol):
    """Who decides. It may take its time (a person is asked): a cancelled turn cancels the question."""

    async def decide(self, name: str, arguments: Mapping[str, Any]) -> Decision:
        """About a call of the tool `name`, before it runs. What this raises denies nothing and fails the turn."""
        ...


class AllowAll:
    """Every call runs."""

    async def decide(self, name: str, arguments: Mapping[str, Any]) -> Decision:
        """Yes."""
        del name, arguments
        return Allowed()


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """What holds for a tool's calls. `applies` looks at the arguments; without it the rule is for every call.

    tool: its name, or None for every tool.
    """

    tool: str | None
    decision: Decision
    applies: Callable[[Mapping[str, Any]], bool] = field(default=lambda _: True)


class Rules:
    """The first rule that fits decides; where none does, `otherwise`."""

    def __init__(self, rules: Sequence[Rule], *, otherwise: Decision) -> None:
        self._rules = tuple(rules)
        self._otherwise = otherwise

    async def decide(self, name: str, arguments: Mapping[str, Any]) -> Decision:
        """By the rules, in their order."""
        for rule in self._rules:
            if rule.tool in (None, name) and rule.applies(arguments):
                return rule.decision
        return self._otherwise


def denied_output(call_id: str, denied: Denied) -> Item:
    """The result of a call that did not run."""
    return function_call_output(call_id, denied_text(denied))


def denied_text(denied: Denied) -> str:
    """What the model is told of it."""
    return f"denied: {denied.reason}"
