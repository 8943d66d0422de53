"""Named rules that fold volatile parts of a request, each bound to a path and never touching other text.

A rule is a mapping with `name` and, where it narrows a built-in one, `path`. Its name is written into every recording
whose request it changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

FLOAT_PLACES = 5


def apply(form: dict[str, Any], active: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The form after the active rules, in their order. KeyError names a rule that does not exist."""
    body = form["body"]
    value = body.get("json") if isinstance(body, dict) else None
    if value is None:
        return form
    for rule in active:
        value = BUILT_IN[str(rule["name"])](value)
    return {**form, "body": {"json": value}}


def acted(before: dict[str, Any], active: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of the rules that change this form."""
    return [str(rule["name"]) for rule in active if apply(before, [rule]) != before]


def _floats(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, FLOAT_PLACES)
    if isinstance(value, list):
        return [_floats(item) for item in value]
    if isinstance(value, dict):
        return {key: _floats(item) for key, item in value.items()}
    return value


def _nulls(value: Any) -> Any:
    if isinstance(value, list):
        return [_nulls(item) for item in value]
    if isinstance(value, dict):
        return {key: _nulls(item) for key, item in value.items() if item is not None}
    return value


def _bedrock(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if key != "stream_options"}
    return value


def _project_id(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        key: {name: part for name, part in item.items() if name != "project_id"}
        if key in ("extra_body", "extra_query") and isinstance(item, dict)
        else item
        for key, item in value.items()
    }


BUILT_IN: Mapping[str, Callable[[Any], Any]] = {
    "floats": _floats,
    "nulls": _nulls,
    "bedrock": _bedrock,
    "project_id": _project_id,
}
