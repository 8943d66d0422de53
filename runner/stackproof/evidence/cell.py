"""`result.json`: what one cell proved, and what it belongs to."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stackproof import __version__
from stackproof.evidence import digests, git, jsonfile, junit, machine, testlog
from stackproof.evidence.outcomes import Counts
from stackproof.plan import Cell

SCHEMA = 1
_UNDER_TEST = ("pytest", "pytest-xdist", "pytest-rerunfailures", "openai", "anthropic", "httpx", "httpx2", "starlette")


def write_result(
    cell_dir: Path,
    *,
    cell: Cell,
    project: Path,
    recordings: Path,
    run_id: str,
    command: str,
    source: git.SourceState | None = None,
    policy: str | None = None,
) -> Mapping[str, Any]:
    """Write `cell_dir/result.json` from `outcome.json`, `tests.jsonl` and `junit.xml`, and return what was written.

    To be called when the cell has ended, however it ended: what is missing is written down as missing. `recordings` is
    the recording directory that holds all setups; `command` runs exactly this cell again. `source` and `policy` (the
    digest) are asked for when not given; a run of many cells asks once.
    """
    source = git.state(project) if source is None else source
    outcome = jsonfile.read(cell_dir / "outcome.json") or {}
    log = testlog.read(cell_dir / "tests.jsonl")
    result = {
        "schema": SCHEMA,
        "kind": "cell",
        "cell": {
            "id": cell.id,
            "whole": cell.whole_id,
            "shard": None if cell.shard is None else {"index": cell.shard.index, "total": cell.shard.total},
            "suite": cell.suite.name,
            "setup": cell.setup.name,
            "stack": cell.stack.name,
            "mode": cell.mode.value,
            "inference_mode": str(getattr(cell.inference_mode, "value", cell.inference_mode)),
            "runner": "pytest" if cell.suite.runner is None else cell.suite.runner.name,
        },
        "run_id": run_id,
        "commit": source.commit,
        "dirty": source.dirty,
        "digests": {
            "policy": digests.policy(project) if policy is None else policy,
            "suite": digests.suite(project, cell.suite.roots),
            "recordings": digests.recordings(recordings, cell.setup.name),
        },
        "versions": {**_versions(), **jsonfile.table(jsonfile.table(outcome, "stack"), "versions")},
        "environment": asdict(machine.fingerprint()),
        "exit_code": outcome.get("exit_code"),
        "signal": outcome.get("signal"),
        "error": outcome.get("error") if outcome else {"kind": "killed", "message": "the cell left no outcome.json"},
        "counts": asdict(_counts(cell_dir, log)),
        "calls": {kind: jsonfile.number(log.calls, kind) for kind in testlog.CALLS} if log.calls is not None else None,
        "sealed": outcome.get("sealed"),
        "started": outcome.get("started"),
        "stopped": outcome.get("stopped"),
        "command": command,
    }
    jsonfile.write(cell_dir / "result.json", result)
    return result


def _counts(cell_dir: Path, log: testlog.TestLog) -> Counts:
    return log.counts if log.present else junit.read(cell_dir / "junit.xml").counts


def _versions() -> dict[str, str]:
    found = {"stackproof": __version__, "python": ".".join(map(str, sys.version_info[:3]))}
    for name in _UNDER_TEST:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
