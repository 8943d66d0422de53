"""Whatever is made on an engine says whose it is: or nobody could tell what a killed run left from the rest."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import stackproof

PACKAGE = Path(stackproof.__file__).parent
MAKERS = ("ContainerSpec", "JobSpec", "create_network", "create_overlay", "create_secret", "create_volume")


def made() -> Iterator[tuple[str, bool]]:
    """Where something is made, and whether labels are given with it."""
    for path in PACKAGE.rglob("*.py"):
        if path.is_relative_to(PACKAGE / "stack" / "engine"):
            continue  # it hands on what it is given
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if name in MAKERS:
                    yield (
                        f"{path.relative_to(PACKAGE)}:{node.lineno}",
                        any(key.arg == "labels" for key in node.keywords),
                    )


def test_every_container_network_and_volume_gets_labels() -> None:
    places = dict(made())
    assert len(places) > 5, "nothing is made: the search finds nothing"
    assert [place for place, labelled in places.items() if not labelled] == []
