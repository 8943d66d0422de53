"""What a probe met: how the run's ids come to the edge. A line of `probes.jsonl` in the cell's folder for each call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stackproof.edge.ownership import Whose

NAME = "probes.jsonl"


def note(run_dir: str, asked: Whose) -> None:
    """Write down how a probe's id arrived."""
    entry = {"scope": asked.owner.name if asked.owner else None, "how": asked.how.value}
    with Path(run_dir, NAME).open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")
