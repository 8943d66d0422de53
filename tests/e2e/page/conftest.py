"""A browser for the whole session, and pages of run folders that are made up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.page.chromium import Chromium, Page, program
from tests.unit.verdict_outputs.conftest import Made, example
from tests.unit.verdict_outputs.test_page import hostile, many


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """The system's own browser; nothing is downloaded."""
    command = program()
    if command is None:
        pytest.skip("needs Chromium (apt-get install chromium)")
    browser = Chromium(command, tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


Open = Callable[..., Page]


@pytest.fixture
def show(chromium: Chromium, tmp_path: Path) -> Iterator[Open]:
    """Make a page of a kind (`pass`, `fail`, `unproven`, `hostile`, `large`) and open it.

    At the end it must not have asked for anything but itself, and must not have complained.
    """
    opened: list[tuple[Page, Path]] = []

    def shown(kind: str, **how: Any) -> Page:
        file = tmp_path / kind / "verdict.html"
        if not file.is_file():
            made(kind, tmp_path / kind).publish()
        opened.append((chromium.open(file, **how), file))
        return opened[-1][0]

    yield shown
    for page, file in opened:
        page.evaluate("1")  # what was said until now has arrived
        assert {url.partition("#")[0] for url in page.requests} == {file.as_uri()}
        assert page.complaints == []
        page.close()


def made(kind: str, folder: Path) -> Made:
    """A run folder of a kind."""
    run = Made(folder=folder)
    match kind:
        case "hostile":
            return hostile(run)
        case "large":
            for stack in ("library:reference", "server:reference"):
                run.cell(stack, many(10_000))
            return run
        case _:
            return example(run, kind)
