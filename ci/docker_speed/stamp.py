"""A pytest plugin that writes down when the last test ended, in seconds since the epoch."""

from __future__ import annotations

import os
import time
from pathlib import Path

VARIABLE = "DOCKER_SPEED_STAMP"


def pytest_runtest_logfinish() -> None:
    """Called after each test; the last one stays."""
    Path(os.environ[VARIABLE]).write_text(repr(time.time()))
