"""Templates in the words of YAML files: `{port}` and its like stand for what only a run knows."""

from __future__ import annotations

from collections.abc import Mapping


def filled(text: str, values: Mapping[str, str]) -> str:
    """`text` with each `{name}` of `values` replaced by its value; other braces are somebody's JSON, and stay."""
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text
