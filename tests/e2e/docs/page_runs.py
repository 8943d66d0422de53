"""Runs all blocks of a page, in a project of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator

import pytest
from tests.e2e.docs import running
from tests.e2e.docs.having import lacking
from tests.e2e.docs.projects import Rooms
from tests.e2e.docs.table import Home, Page, Way, table
from tests.e2e.engine_turn import alone

_RUN = {Way.RUN, Way.COMPARED}


def names(homes: Collection[Home]) -> list[str]:
    """The pages of which something is run in one of these projects."""
    found = (page for page in table().values() if page.home in homes)
    return [page.name for page in found if any(entry.way in _RUN for entry in page.entries)]


def check(name: str, rooms: Rooms) -> None:
    """Fail with all that was not as the page shows it; skip where the machine lacks what some of its blocks need."""
    page = table()[name]
    lacks = set[str]()
    # Other tests count what stands on the engine.
    turn = alone() if any("docker" in entry.needs for entry in page.entries) else contextlib.nullcontext()
    with turn:
        told = list(_told(page, rooms, lacks))
    assert told == [], "\n\n".join(told)
    if lacks:
        pytest.skip(f"some blocks of {name} need what is not here: {', '.join(sorted(lacks))}")


def _told(page: Page, rooms: Rooms, lacks: set[str]) -> Iterator[str]:
    room = rooms.of(page.home, page.name.removesuffix(".md").replace("/", "-"))
    for entry in page.entries:
        if entry.way is Way.FILE:
            running.write(entry, room)
        if entry.way not in _RUN:
            continue
        if missing := lacking(entry.needs):
            lacks.update(missing)
            continue
        yield from running.run(entry, room)
