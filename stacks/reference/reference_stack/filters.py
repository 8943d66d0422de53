"""Filters on the attributes of files, as a search may carry them: comparisons, and `and`/`or` of filters."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from reference_stack.answers import RefusedError

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
    "in": lambda value, wanted: value in wanted,
    "nin": lambda value, wanted: value not in wanted,
}
_JOIN: Mapping[str, Callable[[Any], bool]] = {"and": all, "or": any}


def passes(attributes: Mapping[str, Any], condition: Any) -> bool:
    """Whether a file with these attributes is meant; None means every file. 400 for what is no filter."""
    if condition is None:
        return True
    kind = str(condition.get("type")) if isinstance(condition, dict) else ""
    if kind in _JOIN and isinstance(condition.get("filters"), list):
        # Every part is looked at, so that a wrong one is found whatever the others say.
        return _JOIN[kind]([passes(attributes, part) for part in condition["filters"]])
    if kind in _COMPARE and isinstance(condition.get("key"), str) and "value" in condition:
        if condition["key"] not in attributes:
            return kind in ("ne", "nin")
        try:
            return _COMPARE[kind](attributes[condition["key"]], condition["value"])
        except TypeError:
            return False  # text is not less than a number, nor more
    text = f"A filter compares ({', '.join(_COMPARE)}) a 'key' with a 'value', or joins 'filters' (and, or)."
    raise RefusedError(400, text, param="filters")
