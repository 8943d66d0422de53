"""`python -m stackproof.measure.combine RUN_DIR`: puts together what the cells of a run measured, and writes reports.

The current folder is the project, whose configuration of coverage says how. A process of its own, since coverage keeps
settings for the whole process. Writes `RUN_DIR/coverage/`: `.coverage`, `coverage.xml` (Cobertura), `coverage.json`,
`html/`, and `summary.json`, which is what Stackproof itself reads.
"""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stackproof.evidence import jsonfile
from stackproof.evidence.coverage import FOLDER, SCHEMA, SUMMARY
from stackproof.measure import begin, marks, package

DATA, XML, JSON, HTML = ".coverage", "coverage.xml", "coverage.json", "html"


def main(run_dir: Path) -> None:
    """Combine and report; the cells' own files stay as they are."""
    into = run_dir / FOLDER
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir()
    parts: list[Path] = []
    cells = {}
    for asked in sorted(run_dir.glob(f"cells/*/{FOLDER}/{begin.ASKED}")):
        cell_dir = asked.parents[1]
        told = jsonfile.read(asked) or {}
        paths = jsonfile.table(told, "paths")
        found = {}
        for who in jsonfile.strings(told, "who"):
            part = into / f"{cell_dir.name}.{who}"
            found[who] = {**_processes(cell_dir, who), **_one(asked.parent, who, part, paths)}
            parts += [part] if part.is_file() else []
        cells[cell_dir.name] = found
    total = _reported(into, parts)
    for part in parts:
        part.unlink()
    jsonfile.write(into / SUMMARY, {"schema": SCHEMA, "total": total, "cells": cells})


def _one(folder: Path, who: str, part: Path, paths: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """One file of all that the processes of one kind measured, with the paths of this machine; what is in it."""
    files = [str(path) for path in sorted(folder.glob(f"{who}.*")) if path.is_file()]
    if not files:
        return {"files": 0, "lines": 0}
    found = package.of_project()
    # What the project says of its paths comes first.
    found.set_option("paths", {**found.get_option("paths"), **paths})
    data = _combined(found, files, part)
    executed = [path for path in data.measured_files() if data.lines(path)]
    return {"files": len(executed), "lines": sum(len(set(data.lines(path) or ())) for path in executed)}


def _combined(found: Any, files: Sequence[str], into: Path) -> Any:
    found.set_option("run:data_file", str(into))
    found.combine(files, strict=False, keep=True)
    found.save()
    return found.get_data()


def _reported(into: Path, parts: Sequence[Path]) -> dict[str, Any] | None:
    """The numbers of all together; None where no process has measured a file."""
    if not parts:
        return None
    found = package.of_project()
    _combined(found, [str(part) for part in parts], into / DATA)
    nothing = importlib.import_module(f"{package.NAME}.exceptions").NoDataError
    try:
        found.json_report(outfile=str(into / JSON), ignore_errors=True)
        found.xml_report(outfile=str(into / XML), ignore_errors=True)
        found.html_report(directory=str(into / HTML), ignore_errors=True)
    except nothing:
        return None
    report = jsonfile.read(into / JSON) or {}
    totals = jsonfile.table(report, "totals")
    names = ("covered_lines", "num_statements", "missing_lines", "num_branches", "covered_branches")
    numbers = {name: totals[name] for name in names if name in totals}
    return {
        "percent": round(float(totals["percent_covered"]), 2),
        "files": len(jsonfile.table(report, "files")),
        "branch": bool(jsonfile.table(report, "meta").get("branch_coverage")),
        **numbers,
    }


def _processes(cell_dir: Path, who: str) -> dict[str, Any]:
    found = marks.read(cell_dir, who)
    return {
        "processes": found.saved,
        "lost": found.started,
        "without": [
            *(f"no coverage in {python}" for python in found.missing),
            *(f"{python}: {why}" for python, why in found.refused),
        ],
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
