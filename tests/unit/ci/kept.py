"""Which names of files an upload of artifacts and Windows refuse."""

from __future__ import annotations

import os
from pathlib import Path

_REFUSED = frozenset('":<>|*?\r\n\\')
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{name}{number}" for name in ("com", "lpt") for number in range(10))}
)


def assert_can_be_kept(folder: Path) -> None:
    """As upload-artifact and Windows refuse them (actions/toolkit, artifact: path-and-artifact-name-validation.ts)."""
    found = [name for _, folders, files in os.walk(folder) for name in (*folders, *files)]
    assert len(found) > 5
    for name in found:
        assert not _REFUSED & set(name), name
        assert not any(ord(character) < 32 for character in name), name
        assert name.rstrip(". ") == name, name
        assert len(name.encode()) <= 255, name
        assert name.partition(".")[0].lower() not in _DEVICES, name
