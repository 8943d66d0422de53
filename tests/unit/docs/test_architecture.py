"""docs/architecture.md and its drawing name the rooms that there are, and imports go where its arrow goes: down."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

PROJECT = Path(__file__).parents[3]
RUNNER = PROJECT / "runner" / "stackproof"
PAGE = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")
DRAWING = ElementTree.parse(PROJECT / "docs" / "architecture.svg").getroot()  # noqa: S314 - our own
SVG = "{http://www.w3.org/2000/svg}"

# Imports that go up, and what would have to move for them not to. A new one belongs elsewhere; one that is gone, gone.
UP = {
    ("catalog", "shards"): "a suite's `together` is checked with the words that --together has",
    ("environment", "edge"): "a stack at the edge gets its providers' URLs there",
    ("shards", "stack"): "the image of a Kubernetes pod is built as that of a stack",
    ("shards", "swarm"): "and with what a swarm's image has beside it",
}


def floors() -> list[tuple[str, set[str], set[str]]]:
    """(name, rooms, single modules) of each floor, from the top, as the page's table has them."""
    rows = re.findall(r"^\| ([a-z ]+) \| (`.*?) \| (.*?)\|$", PAGE.partition("## Rooms")[2], re.MULTILINE)
    return [
        (name, set(re.findall(r"`(\w+)`", rooms)), set(re.findall(r"`(\w+)`", single))) for name, rooms, single in rows
    ]


def drawn() -> list[set[str]]:
    """The rooms on each floor of the drawing, from the top."""
    bands = [(float(each.attrib["y"]), float(each.attrib["height"])) for each in DRAWING.iter(f"{SVG}rect")
             if each.attrib.get("class") == "floor"]  # fmt: skip
    names = [(float(each.attrib["y"]), each.text or "") for each in DRAWING.iter(f"{SVG}text")
             if each.attrib.get("class") == "name"]  # fmt: skip
    return [{name for y, name in names if top < y < top + height} for top, height in bands]


def room(path: Path) -> str:
    """The folder that a module belongs to, or its own name where it lies in none."""
    first = path.relative_to(RUNNER).parts[0]
    return first.removesuffix(".py")


def imported(path: Path) -> Iterator[str]:
    """The rooms and modules that a module imports, wherever in it."""
    package = ["stackproof", *path.relative_to(RUNNER).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            whole = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{whole}.{alias.name}" for alias in node.names] if whole == "stackproof" else [whole]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("stackproof."))


@cache
def arrows() -> dict[tuple[str, str], list[str]]:
    """(from, to) -> the modules that import so, where both are different rooms."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in sorted(RUNNER.rglob("*.py")):
        for target in imported(path):
            if target != room(path) and not target.startswith("_"):
                found[room(path), target].append(path.relative_to(RUNNER).as_posix())
    return found


def test_the_page_and_the_drawing_name_the_rooms_and_modules_that_there_are() -> None:
    there = {path.parent.name for path in RUNNER.glob("*/__init__.py")}
    single = {path.stem for path in RUNNER.glob("*.py")} - {"__init__"}
    say = "docs/architecture.md, the table of rooms: a room or module belongs on the floor that its imports allow"
    assert set().union(*(rooms for _, rooms, _ in floors())) == there, say
    assert set().union(*(modules for _, _, modules in floors())) == single, say
    assert drawn() == [rooms for _, rooms, _ in floors()]


def test_imports_go_down() -> None:
    level = {name: number for number, (_, *both) in enumerate(floors()) for names in both for name in names}
    known = {arrow: modules for arrow, modules in arrows().items() if level.keys() >= set(arrow)}
    up = {arrow: modules for arrow, modules in known.items() if level[arrow[1]] < level[arrow[0]]}
    assert up.keys() == UP.keys(), {arrow: up[arrow] for arrow in up.keys() - UP.keys()}


def test_the_recorder_imports_nothing_of_the_rest() -> None:
    assert [arrow for arrow in arrows() if arrow[0] == "recorder"] == []


@pytest.mark.parametrize("element", ["title", "desc"])
def test_the_drawing_says_what_it_shows_to_who_cannot_see_it(element: str) -> None:
    (said,) = DRAWING.findall(f"{SVG}{element}")
    assert said.text
    assert said.attrib["id"] in DRAWING.attrib["aria-labelledby"].split()
