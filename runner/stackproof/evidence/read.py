"""Reads a run folder into facts. Nothing here judges, and nothing in the folder can raise."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from sys import intern
from typing import Any

from stackproof.evidence import (
    benchmark,
    claims,
    jsonfile,
    junit,
    live,
    manifest,
    recordings,
    shards,
    testlog,
    typecheck,
)
from stackproof.evidence.benchmark import BenchmarkFacts
from stackproof.evidence.claims import ClaimFacts
from stackproof.evidence.junit import Report
from stackproof.evidence.live import LiveEvidence
from stackproof.evidence.manifest import ManifestFacts
from stackproof.evidence.recordings import Misses, RecordingFacts
from stackproof.evidence.shards import Sharded, ShardFacts
from stackproof.evidence.testlog import TestLog
from stackproof.evidence.times import NO_TIMES, Times
from stackproof.evidence.typecheck import TypecheckFacts
from stackproof.evidence.witnesses import Tests

RESULT_SCHEMA = 1
_CELLS = "cells"
# What tells one piece of evidence from another; the report comes first.
_TELLING = ("junit.xml", "tests.jsonl", "result.json", "shard.json")


@dataclass(frozen=True, kw_only=True, slots=True)
class CellError:
    """Why a cell ended before, or beside, its tests."""

    kind: str
    message: str
    exit_code: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CellFacts:
    """One cell of a run. `result` is False when there is no `result.json` that can be read.

    runner: who ran the tests. exit_code: its, in pytest's numbers, None when it never ended by itself. report_digest:
    SHA-256 that the manifest has for the JUnit report. misses: provider calls without a recording. injected: the faults
    that whoever ran the cell had put into the answers of every test. digests: what the manifest has for the files that
    tell one piece of evidence from another. machine: on which it ran, for people. versions: of what ran, as JSON.
    shard: which part of a cell it is.

    Of a cell that was put together from several folders, `joined` has its tests, and where these were shards of it,
    `shards` says what became of them.
    """

    id: str
    result: bool = True
    run_id: str | None = None
    suite: str | None = None
    setup: str | None = None
    stack: str | None = None
    inference_mode: str | None = None
    injected: tuple[str, ...] = ()
    runner: str = "pytest"
    commit: str | None = None
    dirty: bool = False
    policy: str | None = None
    suite_digest: str | None = None
    recordings_digest: str | None = None
    exit_code: int | None = None
    signal: str | None = None
    error: CellError | None = None
    sealed: str | None = None
    report: Report = field(default_factory=lambda: Report(path=Path("junit.xml")))
    report_digest: str | None = None
    log: TestLog = field(default_factory=TestLog)
    misses: Misses = field(default_factory=Misses)
    command: str | None = None
    started: str | None = None
    stopped: str | None = None
    digests: tuple[str | None, ...] = ()
    machine: str = ""
    versions: str = ""
    shard: ShardFacts | None = None
    joined: Tests | None = None
    shards: Sharded | None = None

    @property
    def places(self) -> tuple[str, ...]:
        """The names of its folders below `cells/`."""
        return (self.id,) if self.shards is None else tuple(sorted(self.shards.places))


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """Everything that a run folder holds, or several. notes: what was seen and changes nothing; contradictions: what
    two folders say differently.
    """

    manifest: ManifestFacts
    cells: Mapping[str, CellFacts] = field(default_factory=dict)
    typecheck: TypecheckFacts | None = None
    benchmark: BenchmarkFacts | None = None
    recordings: RecordingFacts | None = None
    claims: ClaimFacts | None = None
    live: LiveEvidence = live.NONE
    times: Times = NO_TIMES
    notes: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = ()


def read(run_dir: Path) -> Evidence:
    """Read everything in `run_dir`, each cell by itself, shards too; what is missing is None or empty."""
    found = outline(run_dir)
    return replace(found, cells={name: whole(cell, run_dir / _CELLS / name) for name, cell in found.cells.items()})


def outline(run_dir: Path) -> Evidence:
    """The same without what tests said: no report, log or miss of a cell. See `whole`."""
    facts = manifest.verify(run_dir)
    cells = {folder.name: _cell(folder, facts.files) for folder in _folders(run_dir / _CELLS)}
    if not (run_dir / "checks").is_dir():  # most of very many folders hold a shard and nothing else
        return Evidence(manifest=facts, cells=cells)
    return Evidence(
        manifest=facts,
        cells=cells,
        typecheck=typecheck.read(run_dir / "checks/typecheck.json"),
        benchmark=benchmark.read(run_dir / "checks/benchmark.json"),
        recordings=recordings.read(run_dir / "checks/recordings.json"),
        claims=claims.read(run_dir),
        live=live.of_run(run_dir),
    )


def whole(cell: CellFacts, folder: Path) -> CellFacts:
    """A cell of an outline with what its tests said."""
    return replace(
        cell,
        report=junit.read(folder / "junit.xml"),
        log=testlog.read(folder / "tests.jsonl"),
        misses=recordings.misses(folder / "misses.jsonl"),
    )


def _folders(cells: Path) -> list[Path]:
    try:
        return sorted(folder for folder in cells.iterdir() if folder.is_dir())
    except OSError:
        return []


def _cell(folder: Path, listed: Mapping[str, str]) -> CellFacts:
    data = jsonfile.read(folder / "result.json")
    usable = data is not None and data.get("schema") == RESULT_SCHEMA and data.get("kind") == "cell"
    result: dict[str, Any] = data if data is not None and usable else {}
    names, digests = jsonfile.table(result, "cell"), jsonfile.table(result, "digests")
    options = jsonfile.table(jsonfile.read(folder / "cell.json") or {}, "options")
    of = tuple(listed.get(f"{_CELLS}/{folder.name}/{name}") for name in _TELLING)
    return CellFacts(
        id=folder.name,
        result=usable and jsonfile.text(names, "id") == folder.name,
        run_id=jsonfile.text(result, "run_id"),
        suite=_shared(names, "suite"),
        setup=_shared(names, "setup"),
        stack=_shared(names, "stack"),
        inference_mode=_shared(names, "inference_mode"),
        injected=jsonfile.strings(options, "inject"),
        runner=_shared(names, "runner") or "pytest",
        commit=_shared(result, "commit"),
        dirty=result.get("dirty") is not False,
        policy=_shared(digests, "policy"),
        suite_digest=_shared(digests, "suite"),
        recordings_digest=_shared(digests, "recordings"),
        exit_code=_integer(result.get("exit_code")),
        signal=None if result.get("signal") is None else str(result["signal"]),
        error=_error(result.get("error")),
        sealed=_shared(result, "sealed"),
        report=Report(path=folder / "junit.xml"),
        report_digest=of[0],
        command=jsonfile.text(result, "command"),
        started=jsonfile.text(result, "started"),
        stopped=jsonfile.text(result, "stopped"),
        digests=of,
        machine=intern(str(jsonfile.table(result, "environment"))),
        versions=intern(json.dumps(jsonfile.table(result, "versions"), sort_keys=True)),
        shard=shards.read(folder, result),
    )


def _shared(data: Mapping[str, Any], key: str) -> str | None:
    """As `jsonfile.text`; what thousands of cells say alike is held once."""
    text = jsonfile.text(data, key)
    return None if text is None else intern(text)


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _error(value: object) -> CellError | None:
    if value is None:
        return None
    data = value if isinstance(value, dict) else {"message": str(value)}
    return CellError(
        kind=jsonfile.text(data, "kind") or "error",
        message=jsonfile.text(data, "message") or "the cell ended with an error",
        exit_code=_integer(data.get("exit_code")),
    )
