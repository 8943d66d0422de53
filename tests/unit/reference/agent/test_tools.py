"""A plan is what was registered when it was taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from reference_stack.agent.model import ToolSpec
from reference_stack.agent.tools import ToolContext, ToolRegistry


@dataclass(frozen=True)
class Named:
    name: str
    answer: str = ""

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(name=self.name, description=self.answer, parameters={})

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> str:
        return self.answer


def test_a_plan_does_not_follow_the_registry() -> None:
    registry = ToolRegistry()
    registry.register(Named("a", "old"))
    plan = registry.plan()
    registry.replace(Named("a", "new"), Named("b"))
    assert (plan.generation, [spec.description for spec in plan.specs]) == (1, ["old"])
    assert plan.find("a") == Named("a", "old")
    assert plan.find("b") is None
    after = registry.plan()
    assert (after.generation, [spec.name for spec in after.specs]) == (2, ["a", "b"])


def test_a_plan_cannot_be_changed() -> None:
    registry = ToolRegistry()
    plan = registry.plan()
    with pytest.raises(TypeError):
        plan.tools["a"] = Named("a")  # type: ignore[index]


def test_two_tools_of_one_name_are_refused_and_nothing_changes() -> None:
    registry = ToolRegistry()
    registry.register(Named("a"))
    with pytest.raises(ValueError, match="'a' already"):
        registry.register(Named("a", "other"))
    with pytest.raises(ValueError, match="same name"):
        registry.replace(Named("b"), Named("b"))
    assert (registry.generation, registry.plan().find("a")) == (1, Named("a"))
