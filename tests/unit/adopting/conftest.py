"""Small repositories of other people."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Repository = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A folder with the files that are named; their texts may be indented. It is in no Git repository."""

    def make(files: Mapping[str, str]) -> Path:
        root = tmp_path / "repo"
        root.mkdir(exist_ok=True)
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")
        return root

    return make
