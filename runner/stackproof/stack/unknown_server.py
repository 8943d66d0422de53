"""Notices a server that the recorder is in and that it does not know: no id of a test reaches what runs there."""

from __future__ import annotations

import json
from pathlib import Path

_TEXT = "ids: not seen by the stack, whose server is unknown: its calls belong to no test (stackproof docs servers)"


def note(marks: Path) -> str | None:
    """What to say after the stack has answered; None where a server that is known did, or no recorder is expected.

    marks: the folder in which each process of the stack left `<pid>.json`; `server` is in the marks of those through
    whose server a request came.
    """
    found = []
    for path in marks.glob("*.json"):
        try:
            found.append("server" in json.loads(path.read_text()))
        except (OSError, ValueError):
            return None  # being written
    return _TEXT if found and not any(found) else None
