"""How far a cell is, read from `tests.jsonl` and `events.jsonl` while they are written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackproof.evidence import jsonfile
from stackproof.evidence.outcomes import Counts, Outcome, count, worst


class Tail:
    """Gives the complete JSON lines that were appended to a file since the last time it was asked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def read(self) -> Iterator[dict[str, Any]]:
        """New objects; a line that is not finished yet waits for the next call."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                text = file.read()
        except OSError:
            return
        end = text.rfind(b"\n") + 1
        self._offset += end
        for line in text[:end].splitlines():
            try:
                data = json.loads(line)
            except ValueError:
                continue
            if isinstance(data, dict):
                yield data


@dataclass(kw_only=True, slots=True)
class Progress:
    """Tests so far. total: how many were collected, 0 while that is not known."""

    total: int = 0
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    skips: dict[str, str] = field(default_factory=dict)

    def note(self, event: dict[str, Any]) -> None:
        """Take in one line of `tests.jsonl`."""
        match event.get("event"):
            case "collected":
                self.total = max(self.total, len(set(jsonfile.strings(event, "nodeids"))))
            case "test" if nodeid := jsonfile.text(event, "nodeid"):
                try:
                    outcome = Outcome(event.get("outcome", ""))
                except ValueError:  # a repetition: the last attempt counts
                    self.outcomes.pop(nodeid, None)
                    return
                before = self.outcomes.get(nodeid)
                self.outcomes[nodeid] = outcome if before is None else worst((before, outcome))
                if outcome is Outcome.SKIPPED and (reason := jsonfile.text(event, "reason")):
                    self.skips[nodeid] = reason
            case _:
                pass

    @property
    def done(self) -> int:
        """How many tests have a result."""
        return len(self.outcomes)

    @property
    def counts(self) -> Counts:
        """Counts so far."""
        return count(self.outcomes.values(), collected=self.total or None)

    def words(self) -> str:
        """`33 passed, 1 skipped (needs a vision model)`: a reason is named when all skipped tests share it."""
        reasons = set(self.skips.values())
        return self.counts.words() + (f" ({_short(next(iter(reasons)))})" if len(reasons) == 1 else "")


def _short(reason: str) -> str:
    reason = " ".join(reason.removeprefix("Skipped: ").split())
    return reason if len(reason) <= 80 else f"{reason[:79]}…"
