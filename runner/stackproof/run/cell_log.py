"""`events.jsonl`: what the process of a cell tells its orchestrator while it runs, one JSON object a line.

{"event": "ready", "name", "url", "seconds", "log"} · {"event": "say", "text"} · {"event": "keep", "url"}
"""

from __future__ import annotations

import json
from pathlib import Path

NAME = "events.jsonl"


class CellLog:
    """Appends events to `cell_dir/events.jsonl`."""

    def __init__(self, cell_dir: Path) -> None:
        self._path = cell_dir / NAME

    def ready(self, name: str, url: str, seconds: float, log: Path | None) -> None:
        """A stack or a service answers at `url` and took `seconds` to do so."""
        self._write(event="ready", name=name, url=url, seconds=seconds, log=None if log is None else str(log))

    def say(self, text: str) -> None:
        """One line for the person who waits."""
        self._write(event="say", text=text)

    def keep(self, url: str) -> None:
        """The tests are over and the stack stays up until a signal."""
        self._write(event="keep", url=url)

    def _write(self, **event: object) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")
