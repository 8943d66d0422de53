"""Reads a run folder into facts. Nothing here judges, and nothing in the folder can raise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackproof.evidence import benchmark, claims, jsonfile, junit, live, manifest, recordings, testlog, typecheck
from stackproof.evidence.benchmark import BenchmarkFacts
from stackproof.evidence.claims import ClaimFacts
from stackproof.evidence.junit import Report
from stackproof.evidence.live import LiveEvidence
from stackproof.evidence.manifest import ManifestFacts
from stackproof.evidence.recordings import Misses, RecordingFacts
from stackproof.evidence.testlog import TestLog
from stackproof.evidence.typecheck import TypecheckFacts

RESULT_SCHEMA = 1


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
    that whoever ran the cell had put into the answers of every test.
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
    notes: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = ()


def read(run_dir: Path) -> Evidence:
    """Read everything in `run_dir`; what is missing is None or empty."""
    facts = manifest.verify(run_dir)
    return Evidence(
        manifest=facts,
        cells={
            folder.name: _cell(folder, facts.files.get(f"cells/{folder.name}/junit.xml"))
            for folder in sorted(run_dir.glob("cells/*"))
            if folder.is_dir()
        },
        typecheck=typecheck.read(run_dir / "checks/typecheck.json"),
        benchmark=benchmark.read(run_dir / "checks/benchmark.json"),
        recordings=recordings.read(run_dir / "checks/recordings.json"),
        claims=claims.read(run_dir),
        live=live.of_run(run_dir),
    )


def _cell(folder: Path, report_digest: str | None) -> CellFacts:
    data = jsonfile.read(folder / "result.json")
    usable = data is not None and data.get("schema") == RESULT_SCHEMA and data.get("kind") == "cell"
    result: dict[str, Any] = data if data is not None and usable else {}
    names, digests = jsonfile.table(result, "cell"), jsonfile.table(result, "digests")
    options = jsonfile.table(jsonfile.read(folder / "cell.json") or {}, "options")
    return CellFacts(
        id=folder.name,
        result=usable and jsonfile.text(names, "id") == folder.name,
        run_id=jsonfile.text(result, "run_id"),
        suite=jsonfile.text(names, "suite"),
        setup=jsonfile.text(names, "setup"),
        stack=jsonfile.text(names, "stack"),
        inference_mode=jsonfile.text(names, "inference_mode"),
        injected=jsonfile.strings(options, "inject"),
        runner=jsonfile.text(names, "runner") or "pytest",
        commit=jsonfile.text(result, "commit"),
        dirty=result.get("dirty") is not False,
        policy=jsonfile.text(digests, "policy"),
        suite_digest=jsonfile.text(digests, "suite"),
        recordings_digest=jsonfile.text(digests, "recordings"),
        exit_code=_integer(result.get("exit_code")),
        signal=None if result.get("signal") is None else str(result["signal"]),
        error=_error(result.get("error")),
        sealed=jsonfile.text(result, "sealed"),
        report=junit.read(folder / "junit.xml"),
        report_digest=report_digest,
        log=testlog.read(folder / "tests.jsonl"),
        misses=recordings.misses(folder / "misses.jsonl"),
        command=jsonfile.text(result, "command"),
        started=jsonfile.text(result, "started"),
        stopped=jsonfile.text(result, "stopped"),
    )


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
