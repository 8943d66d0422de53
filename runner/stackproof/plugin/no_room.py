"""Ends a session of tests that cannot keep what it has to keep: nothing after that would be proven, or recorded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackproof import disk
from stackproof.evidence import jsonfile
from stackproof.recorder.settings import Settings
from stackproof.stack import start


def waiting(settings: Settings) -> str:
    """What becomes of answers that were recorded and are not in their place."""
    return disk.promote(settings.run_id) if settings.mode.records else ""


@contextlib.contextmanager
def ending(cell_dir: Path, *, keep: str = "") -> Iterator[None]:
    """Where the machine refuses a file, say so to the run around this session, and end with the code of that.

    keep: what to do about what is kept already.
    """
    try:
        yield
    except OSError as error:
        told = disk.refusal(error, near=cell_dir, keep=keep)
        if told is None:
            raise
        with contextlib.suppress(OSError):  # where it is this folder that is full, the exit code has to do
            jsonfile.write(cell_dir / start.ERROR, start.error_facts(told))
        hint = "".join(f"\n  {line}" for line in (told.hint or "").splitlines())
        pytest.exit(f"stackproof: {told.message}{hint}", returncode=int(told.exit_code))
