"""Every block of README and docs is run, or loaded, or parsed, or has a reason; none is left out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.e2e.docs import loading, page_runs
from tests.e2e.docs.blocks import pages
from tests.e2e.docs.command_lines import wrong
from tests.e2e.docs.projects import Rooms
from tests.e2e.docs.spoken import strange
from tests.e2e.docs.table import Entry, Way, commands, table

# Blocks for which there is nothing better. A new one is run, or its number has to be raised here, in sight.
_AT_MOST = {Way.PLANNED: 29, Way.COMMANDS: 25, Way.SAID: 41, Way.EXCUSED: 19}


def entries(*ways: Way) -> list[Entry]:
    """The blocks with which this is done."""
    return [entry for page in table().values() for entry in page.entries if entry.way in ways]


def places(found: list[Entry]) -> list[str]:
    """The names of their tests."""
    return [entry.block.place for entry in found]


def counted() -> dict[str, int]:
    """How many blocks each way has, and each reason."""
    found = entries(*Way)
    ways = Counter(entry.way.value for entry in found)
    whys = Counter(f"  {entry.way.value}: {entry.why.value}" for entry in found if entry.why is not None)
    return {"blocks": len(found), **{way.value: ways[way.value] for way in Way}, **dict(sorted(whys.items()))}


def test_every_page_is_looked_at() -> None:
    assert [told for page in table().values() for told in page.problems] == []
    assert len(pages()) > 60
    assert {"README.md", "docs/adopting.md", "docs/how-to/kubernetes.md"} <= set(pages())


def test_the_blocks_are_counted() -> None:
    told = counted()
    assert told["blocks"] == sum(told[way.value] for way in Way)
    shown = "\n".join(f"{number:4}  {words}" for words, number in told.items())
    print(shown)
    assert {way: told[way.value] for way in _AT_MOST if told[way.value] > _AT_MOST[way]} == {}, shown


@pytest.mark.parametrize("entry", entries(Way.LOADED), ids=places(entries(Way.LOADED)))
def test_a_file_of_ours_is_loaded(entry: Entry, tmp_path: Path) -> None:
    loading.load(entry, tmp_path)


@pytest.mark.parametrize("entry", entries(Way.PARSED), ids=places(entries(Way.PARSED)))
def test_another_language_is_parsed(entry: Entry) -> None:
    loading.parse(entry.block.language, entry.block.text)


@pytest.mark.parametrize("entry", entries(Way.TYPED), ids=places(entries(Way.TYPED)))
def test_of_a_form_every_command_and_option_is_typed(entry: Entry) -> None:
    assert page_runs.untyped(entry) == []


@pytest.mark.parametrize("entry", entries(Way.PLANNED), ids=places(entries(Way.PLANNED)))
def test_a_run_that_takes_too_long_is_planned_as_the_page_shows_it(entry: Entry, rooms: Rooms) -> None:
    assert list(page_runs.planned(entry, rooms.shared())) == []


@pytest.mark.parametrize(
    "entry", entries(Way.COMMANDS, Way.PLANNED, Way.TYPED), ids=places(entries(Way.COMMANDS, Way.PLANNED, Way.TYPED))
)
def test_a_command_that_is_not_run_would_be_understood(entry: Entry) -> None:
    assert [told for line in commands(entry.block) for told in wrong(line)] == []


@pytest.mark.parametrize("entry", entries(Way.SAID), ids=places(entries(Way.SAID)))
def test_what_other_tests_provoke_is_said_in_these_words(entry: Entry) -> None:
    assert strange(entry.block.text) == []


# What is done with how many: python -m tests.e2e.docs.test_every_block
if __name__ == "__main__":
    for words, number in counted().items():
        print(f"{number:4}  {words}")
