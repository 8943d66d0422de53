"""`steps.json`: what each cell and each check of a release took. It is no evidence, and no verdict depends on it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from stackproof.evidence import jsonfile

NAME = "steps.json"
SCHEMA = 1


def write(run_dir: Path, took: Mapping[str, float]) -> None:
    """Write the seconds of each step, by its name."""
    seconds = {name: round(value, 3) for name, value in took.items()}
    jsonfile.write(run_dir / NAME, {"schema": SCHEMA, "kind": "steps", "seconds": seconds})


def read(run_dir: Path) -> dict[str, float]:
    """The seconds of each step; empty where there are none, without those that are no duration."""
    data = jsonfile.read(run_dir / NAME) or {}
    seconds = jsonfile.table(data, "seconds") if data.get("schema") == SCHEMA else {}
    return {
        name: float(value)
        for name, value in seconds.items()
        if isinstance(value, int | float) and math.isfinite(value) and 0 <= value < 1e9
    }
