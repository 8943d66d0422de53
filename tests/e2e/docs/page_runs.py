"""Runs all blocks of a page, in a project of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator

import pytest
from tests.e2e.docs import forms, inside, planning, running
from tests.e2e.docs.blocks import Step
from tests.e2e.docs.fold import difference
from tests.e2e.docs.having import lacking
from tests.e2e.docs.projects import Room, Rooms
from tests.e2e.docs.table import Entry, Home, Page, Way, commands, guests, table
from tests.e2e.engine_turn import alone

_RUN = {Way.RUN, Way.COMPARED, Way.TYPED}


def names(homes: Collection[Home]) -> list[str]:
    """The pages of which something is run in one of these projects."""
    found = (page for page in table().values() if page.home in homes)
    return [page.name for page in found if any(entry.way in _RUN and not entry.room for entry in page.entries)]


def check(name: str, rooms: Rooms) -> None:
    """Fail with all that was not as the page shows it; skip where the machine lacks what some of its blocks need."""
    page = table()[name]
    lacks = set[str]()
    # Other tests count what stands on the engine.
    turn = alone() if any("docker" in entry.needs for entry in _entries(page)) else contextlib.nullcontext()
    with turn:
        told = list(_told(page, rooms, lacks))
    assert told == [], "\n\n".join(told)
    if lacks:
        pytest.skip(f"some blocks of {name} need what is not here: {', '.join(sorted(lacks))}")


def untyped(entry: Entry) -> list[str]:
    """What a form has that is typed neither in its place nor on the page in whose project that is."""
    page = table()[entry.room or entry.block.page]
    typed = [step.command for each in (*page.entries, entry) if each.way in _RUN for step in running.steps(each)]
    return list(forms.untyped(commands(entry.block), typed))


def planned(entry: Entry, room: Room) -> Iterator[str]:
    """What is planned otherwise than the page shows it, of the runs of a block that are not carried out."""
    if entry.before:
        room.shell(entry.before)
    steps = entry.block.steps() or tuple(Step(command=line, output=()) for line in commands(entry.block))
    for step in steps:
        if not (line := planning.plan_of(step.command)):
            continue
        call = inside.read(line)
        assert call is not None, f"{entry.block.place}: {line}"
        code, printed = inside.run(call, room)
        if code != 0:
            yield f"{entry.block.place}: exit code {code} of {line}\n" + "\n".join(printed)
        elif (shown := planning.head(step.output)) and (told := difference(shown, printed)):
            yield f"{entry.block.place}: {line}\n{told}"


def _entries(page: Page) -> tuple[Entry, ...]:
    return (*(entry for entry in page.entries if not (entry.room or entry.during)), *guests(page.name))


def _during(page: Page, entry: Entry) -> list[Entry]:
    return [each for each in page.entries if each.during and entry.block.text.startswith(each.during)]


def _reads(entry: Entry) -> bool:
    """Whether it changes nothing, so that pages may share a project for it."""
    calls = [inside.read(step.command) for step in running.steps(entry)]
    return not (entry.before or entry.after) and all(call is not None and call.reads for call in calls)


def _told(page: Page, rooms: Rooms, lacks: set[str]) -> Iterator[str]:
    shared = page.home is Home.REPOSITORY and all(_reads(entry) for entry in page.entries if entry.way in _RUN)
    room = rooms.shared() if shared else rooms.of(page.home, page.name.removesuffix(".md").replace("/", "-"))
    for entry in _entries(page):
        if entry.way is Way.FILE:
            running.write(entry, room)
        if entry.way not in _RUN:
            continue
        if missing := lacking(entry.needs):
            lacks.update(missing)
            continue
        meanwhile = _during(page, entry)
        lacks.update(word for each in meanwhile for word in lacking(each.needs))
        yield from running.run(entry, room, [each for each in meanwhile if not lacking(each.needs)])
