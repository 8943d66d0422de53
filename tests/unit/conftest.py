"""Unit tests see the same on a laptop, under a CI system and at any terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

# What CI systems and terminals say of themselves. Whoever tests what is made of it sets it.
_SAID = ("CI", "COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR", "PY_COLORS")
_SAID_BY_SYSTEMS = ("CI_", "GITHUB_", "GITLAB_", "RUNNER_")


@pytest.fixture(autouse=True, scope="module")
def _of_no_machine() -> Iterator[None]:
    """Take out for a module what the machine says, and put it back."""
    said = {name: value for name, value in os.environ.items() if name in _SAID or name.startswith(_SAID_BY_SYSTEMS)}
    for name in said:
        del os.environ[name]
    yield
    os.environ.update(said)
