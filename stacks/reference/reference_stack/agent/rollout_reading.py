"""Reading a rollout: every whole line, or where it is damaged."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reference_stack.agent.records import Record
from reference_stack.agent.rollout import RolloutError

FORMAT = 1
HEADER: Record = {"record": "rollout", "format": FORMAT}
"""The first record of a file."""


class RolloutDamagedError(RolloutError):
    """A line that is whole is not what the writer writes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadRollout:
    """What a file keeps.

    records: without the header. lines: how many the file has with it, which is the number of the next one. dropped: the
    bytes of a last line that has no end; it was never confirmed, and is no part of the records.
    """

    records: tuple[Record, ...]
    lines: int
    dropped: int

    @property
    def said(self) -> str | None:
        """A sentence for the user where something was dropped."""
        if not self.dropped:
            return None
        return f"The last line had no end ({self.dropped} bytes): it had not been confirmed and was dropped."


def read_rollout(path: Path) -> ReadRollout:
    """All records of the file at `path`, also while it is being written.

    RolloutError where it cannot be read, RolloutDamagedError where a line is not one of ours, stands twice or is gone.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RolloutError(f"The rollout {path} cannot be read: {error.strerror}.") from error
    *lines, torn = content.split(b"\n")
    records = [_record(path, number, line) for number, line in enumerate(lines)]
    if records and records[0] != HEADER:
        raise RolloutDamagedError(f"{path} does not begin as a rollout of format {FORMAT} does: {dict(records[0])}.")
    return ReadRollout(records=tuple(records[1:]), lines=len(records), dropped=len(torn))


def _record(path: Path, number: int, line: bytes) -> Record:
    where = f"Line {number + 1} of the rollout {path}"
    try:
        value: Any = json.loads(line)
    except ValueError as error:
        raise RolloutDamagedError(f"{where} is not JSON: {error}.") from error
    if not isinstance(value, dict) or "record" not in value:
        raise RolloutDamagedError(f"{where} is not a record.")
    found = value.pop("n", None)
    if found != number:
        raise RolloutDamagedError(f"{where} has the number {found} and not {number}: a line is doubled or missing.")
    return value
