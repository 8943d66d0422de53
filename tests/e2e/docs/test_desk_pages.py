"""The same for pages that go on in the desk of docs/adopting.md."""

from __future__ import annotations

import pytest
from tests.e2e.docs import page_runs
from tests.e2e.docs.projects import Rooms
from tests.e2e.docs.table import Home

pytest.importorskip("fastapi", reason="fastapi is not installed, on which the desk of the pages is built")


@pytest.mark.parametrize("name", page_runs.names({Home.DESK, Home.NEW_DESK}))
def test_a_page_shows_what_happens(name: str, rooms: Rooms) -> None:
    page_runs.check(name, rooms)
