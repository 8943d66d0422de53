"""What the evidence was made with: once where all cells agree, cell by cell where they do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stackproof.evidence import jsonfile
from stackproof.evidence.read import Evidence

_NAMES = 80
_SHARDS = 64  # of one cell


def of(evidence: Evidence, run_dir: Path) -> dict[str, Any]:
    """Versions and machines of the cells that say any."""
    folders = [place for cell in evidence.cells.values() for place in cell.places[:_SHARDS]]
    by_cell = {name: found for name in folders if (found := _of_cell(run_dir / "cells" / name))}
    names = sorted({name for found in by_cell.values() for name in found}, key=lambda name: (name not in _FIRST, name))
    same, differing = [], []
    for name in names[:_NAMES]:
        values: dict[str, list[str]] = {}
        for cell, found in by_cell.items():
            if name in found:
                values.setdefault(found[name], []).append(cell)
        if len(values) == 1:
            same.append({"name": name, "value": next(iter(values))})
        else:
            listed = [{"value": value, "cells": cells} for value, cells in values.items()]
            differing.append({"name": name, "values": listed})
    return {"same": same, "differing": differing}


_FIRST = ("machine", "stackproof", "python")


def _of_cell(folder: Path) -> dict[str, str]:
    result = jsonfile.read(folder / "result.json") or {}
    machine, versions = jsonfile.table(result, "environment"), jsonfile.table(result, "versions")
    found = {name: str(value) for name, value in versions.items()}
    if machine:
        words = (machine.get("processor"), f"{machine.get('cpus')} CPUs", machine.get("system"))
        found["machine"] = ", ".join(str(word) for word in words)
    return found
