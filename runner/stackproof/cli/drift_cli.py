"""`stackproof drift`: how the live answers of a run differ in shape from the recordings of the same tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from stackproof import console
from stackproof.cli import completing
from stackproof.cli.cli_words import json_option
from stackproof.cli.recordings_words import Room, room
from stackproof.cli.surroundings import Surroundings, run_folder
from stackproof.drift import cell, markdown, telling
from stackproof.errors import ExitCode, NotProvenError, UsageError
from stackproof.evidence import age, drift, jsonfile
from stackproof.evidence.drift import DriftFacts
from stackproof.plan import RUNS
from stackproof.recorder.mode import Mode
from stackproof.recordings.wording import json_text
from stackproof.shards import left


@click.command("drift")
@click.argument("run", shell_complete=completing.run, required=False)
@json_option
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown, for an issue or a comment.")
@click.option("--all", "everything", is_flag=True, help="Show every difference, not only a dozen lines.")
@click.option(
    "--strict",
    is_flag=True,
    help="End with 6 where there is breaking or additive drift, with 7 where a cell compared nothing.",
)
@click.pass_obj
def command(
    around: Surroundings, /, *, run: str | None, as_json: bool, as_markdown: bool, everything: bool, strict: bool
) -> ExitCode:
    """Say how live answers differ in shape from the recordings of the same tests.

    RUN is an id or a folder (default: the newest run with --inference-mode verify). Differences are worth a look and no
    failure: the exit code is 0, and with --strict 6, or 7 where a cell compared nothing.
    """
    if as_json and as_markdown:
        raise UsageError("--json and --markdown exclude each other", hint="leave one of them out")
    where = room(around, None)
    folder = run_folder(around.project, run) if run is not None else _newest(around.project)
    cells = {path: content for path in _cells(folder) if (content := _content(path, where, around)) is not None}
    facts = {path.name: found for path, content in cells.items() if (found := drift.of(content)) is not None}
    if all(found.is_empty for found in facts.values()):
        raise UsageError(
            f"run {where.short(folder)} has observed nothing that could be compared",
            hint="a run with --inference-mode verify asks the provider and compares its answers",
        )
    if as_json:
        console.out(json_text(_facts(folder, cells)))
    elif as_markdown:
        console.out(markdown.report(list(facts.items()), run=folder.name).rstrip("\n"))
    else:
        again = f"stackproof drift {where.short(folder) if folder.parent.parent.name != RUNS.parts[0] else folder.name}"
        for number, (name, found) in enumerate(facts.items()):
            if len(facts) > 1:
                console.told(f"{'' if number == 0 else chr(10)}{name}")
            for line in telling.lines(found, more=f"{again} --all", everything=everything):
                console.told(line)
    if not strict:
        return ExitCode.PASS
    if any(found.drifted for found in facts.values()):
        return ExitCode.RECORDINGS
    _require_evidence({path: facts[path.name] for path in cells if path.name in facts})
    return ExitCode.PASS


def _require_evidence(facts: Mapping[Path, DriftFacts]) -> None:
    """NotProvenError for a cell that compared nothing: no drift would be said of it without evidence."""
    for cell_dir, found in facts.items():
        if found.is_empty and (cell_dir / left.NAME).exists():
            continue  # a shard may have been left with tests that call nobody
        again = found.unrecorded_calls[0].again if found.unrecorded_calls else ""
        if (lacking := telling.unproven(found, record=again)) is not None:
            raise NotProvenError(f"{cell_dir.name}: {lacking.why} (--strict)", hint=lacking.hint)


def _newest(project: Path) -> Path:
    """The newest run that has a cell in `verify`; UsageError when there is none."""
    found = [path for path in (project / RUNS).glob("*/cells/*/recorder.json") if _observed(path.parent)]
    if not found:
        raise UsageError(
            "no run has observed live answers yet", hint="`stackproof run --inference-mode verify` makes one"
        )
    return max(found, key=age.changed).parents[2]


def _observed(folder: Path) -> bool:
    settings = cell.settings_of(folder)
    return settings is not None and settings.mode is Mode.VERIFY


def _cells(folder: Path) -> list[Path]:
    """The folders of cells of a run, or the one that is named itself."""
    if (folder / "recorder.json").is_file() or (folder / drift.NAME).is_file():
        return [folder]
    return sorted(path for path in folder.glob("cells/*") if path.is_dir())


def _content(folder: Path, where: Room, around: Surroundings) -> dict[str, Any] | None:
    """What its `drift.json` says, else what is found now (a pytest that was called alone compares nothing itself)."""
    kept = jsonfile.read(folder / drift.NAME)
    if kept is not None and drift.of(kept) is not None:
        return kept
    return cell.found(folder, where.project, around.environ, root=where.root)


def _facts(folder: Path, cells: dict[Path, dict[str, Any]]) -> dict[str, Any]:
    counted = [jsonfile.table(content, "counts") for content in cells.values()]
    return {
        "schema": 1,
        "kind": "drift-of-run",
        "run": folder.name,
        "counts": {name: sum(jsonfile.number(counts, name) or 0 for counts in counted) for name in drift.SEVERITIES},
        "cells": [{"cell": path.name, **content} for path, content in cells.items()],
    }
