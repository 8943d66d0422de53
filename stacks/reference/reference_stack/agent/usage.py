"""What a turn has used: the sum over its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def added(before: Mapping[str, Any] | None, usage: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Both together, number by number, in the API's form of `usage` (`input_tokens`, …, nested details)."""
    if before is None or usage is None:
        return usage if before is None else before
    names = [*before, *(name for name in usage if name not in before)]
    return {name: _sum(before.get(name), usage.get(name)) for name in names}


def _sum(one: Any, other: Any) -> Any:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return added(one, other)
    if _number(one) and _number(other):
        return one + other
    return one if other is None else other


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
