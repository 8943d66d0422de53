"""What pages show of a terminal is what happens, in this repository or in an empty folder."""

from __future__ import annotations

import pytest
from tests.e2e.docs import page_runs
from tests.e2e.docs.projects import Rooms
from tests.e2e.docs.table import Home


@pytest.mark.parametrize("name", page_runs.names({Home.REPOSITORY, Home.SCRATCH}))
def test_a_page_shows_what_happens(name: str, rooms: Rooms) -> None:
    page_runs.check(name, rooms)
