"""What stands around question and answer in a recording, read so that an edited file is no fault of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MARKS = ("synthetic", "synthetic_weights")


def origin(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """`provenance`; empty where it is none."""
    return _mapping(content.get("provenance"))


def weights(content: Mapping[str, Any]) -> str:
    """The file of weights that the answer came from; empty where that is not known."""
    found = _mapping(origin(content).get("model")).get("weights")
    return found if isinstance(found, str) else ""


def marks(content: Mapping[str, Any]) -> tuple[str, ...]:
    """What says that the answer is not a real model's: some of `MARKS`."""
    return tuple(mark for mark in MARKS if origin(content).get(mark))


def rules(content: Mapping[str, Any]) -> list[str]:
    """Names of the rules that changed the compared form."""
    found = content.get("rules")
    return [str(name) for name in found] if isinstance(found, list) else []


def ids(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Written id → the provider's own."""
    return _mapping(content.get("id_normalization_mapping"))


def query(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The query of the request, pair by pair."""
    found = content["request"].get("query")
    pairs = found if isinstance(found, list) else []
    return [(str(pair[0]), str(pair[1])) for pair in pairs if isinstance(pair, list) and len(pair) == 2]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
