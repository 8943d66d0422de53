"""Where the projects of pages are made."""

from __future__ import annotations

import pytest
from tests.e2e.docs.projects import Rooms, variables


@pytest.fixture(scope="session")
def rooms(tmp_path_factory: pytest.TempPathFactory) -> Rooms:
    """Projects, each in a folder of its own."""
    folder = tmp_path_factory.mktemp("docs")
    return Rooms(folder=folder, environ=variables(folder / "tools"))
