"""A pytest plugin that writes down when the first test began, in seconds of the wall clock."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logstart() -> None:
    """Each test says so; the first one's word stays."""
    path = Path(os.environ["OGX_SUITE_FIRST_TEST"])
    if not path.exists():
        path.write_text(str(time.time()), encoding="ascii")
