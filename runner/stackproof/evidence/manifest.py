"""`manifest.json`: every evidence file of a run with its digest, so that what is missing or changed afterwards shows.

It protects against accidents and careless hands. It is not signed: who rewrites the evidence and the manifest together
is not found out by it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from stackproof.evidence import digests, git, jsonfile, junit, testlog

SCHEMA = 1
NAME = "manifest.json"

# What counts as evidence: (pattern below the run folder, kind). Anything else in the folder is no evidence.
_EVIDENCE = (
    ("plan.json", "plan"),
    ("cells/*/cell.json", "cell"),
    ("cells/*/outcome.json", "outcome"),
    ("cells/*/result.json", "result"),
    ("cells/*/shard.json", "shard"),
    ("cells/*/junit.xml", "junit"),
    ("cells/*/tests.jsonl", "tests"),
    ("cells/*/running", "running"),
    ("cells/*/calls.jsonl", "calls"),
    ("cells/*/misses.jsonl", "misses"),
    ("cells/*/drift.json", "drift"),
    ("cells/*/budget.json", "budget"),
    ("cells/*/pytest.log", "log"),
    ("cells/*/tests.log", "log"),
    ("cells/*/cell.log", "log"),
    ("cells/*/stack.log", "log"),
    ("cells/*/service.log", "log"),
    ("checks/typecheck.json", "typecheck"),
    ("checks/benchmark.json", "benchmark"),
    ("checks/recordings.json", "recordings"),
    ("checks/claims.json", "claims"),
    ("checks/live.json", "live"),
    ("checks/claims/observations.jsonl", "observations"),
    ("checks/claims/tests.jsonl", "tests"),
    ("checks/claims/junit.xml", "junit"),
    ("checks/claims/pytest.log", "log"),
    ("coverage/summary.json", "coverage"),
    ("coverage/coverage.json", "coverage"),
    ("coverage/coverage.xml", "coverage"),
    ("coverage/.coverage", "coverage"),
)
_CELLS = "cells"
_OF_RUN = {pattern: kind for pattern, kind in _EVIDENCE if "*" not in pattern}
_OF_CELL = {pattern.rpartition("/")[2]: kind for pattern, kind in _EVIDENCE if pattern.startswith(f"{_CELLS}/*/")}


class DamageKind(StrEnum):
    """How a file differs from what the manifest says."""

    NO_MANIFEST = "no manifest"
    MISSING = "missing"
    CHANGED = "changed"
    UNLISTED = "unlisted"


@dataclass(frozen=True, kw_only=True, slots=True)
class Damage:
    """One difference; `path` is relative to the run folder, which is named where there are several."""

    kind: DamageKind
    path: str
    run: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ManifestFacts:
    """What the manifest says and what differs from it. Without a manifest, `damage` holds NO_MANIFEST alone."""

    run_id: str | None = None
    commit: str | None = None
    dirty: bool = False
    policy: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    damage: tuple[Damage, ...] = ()


def write(run_dir: Path, *, run_id: str, project: Path, source: git.SourceState | None = None) -> None:
    """Write `run_dir/manifest.json` over every evidence file there is now. To be called last."""
    source = git.state(project) if source is None else source
    files = {
        name: {
            "sha256": digests.file(run_dir / name),
            "bytes": (run_dir / name).stat().st_size,
            "kind": kind,
            "count": _count(run_dir / name, kind),
        }
        for name, kind in sorted(_present(run_dir).items())
    }
    nodeids = {
        log.parent.name: sorted(testlog.read(log).collected or ())
        for log in sorted(run_dir.glob("cells/*/tests.jsonl"))
    }
    content = {
        "schema": SCHEMA,
        "run_id": run_id,
        "commit": source.commit,
        "dirty": source.dirty,
        "policy": digests.policy(project),
        "nodeids": nodeids,
        "files": files,
    }
    jsonfile.write(run_dir / NAME, content)


def verify(run_dir: Path) -> ManifestFacts:
    """Compare a run folder with its manifest: files that are missing, changed, or there without being listed."""
    data = jsonfile.read(run_dir / NAME)
    whole = data is not None and isinstance(data.get("files"), dict) and isinstance(data.get("run_id"), str)
    if data is None or not whole or data.get("schema") != SCHEMA:
        return ManifestFacts(damage=(Damage(kind=DamageKind.NO_MANIFEST, path=NAME),))
    files = {name: facts for name, facts in data["files"].items() if isinstance(facts, dict)}
    return ManifestFacts(
        run_id=jsonfile.text(data, "run_id"),
        commit=jsonfile.text(data, "commit"),
        dirty=data.get("dirty") is True,
        policy=jsonfile.text(data, "policy"),
        files={name: str(facts.get("sha256")) for name, facts in files.items()},
        damage=tuple(_damage(run_dir, files)),
    )


def _damage(run_dir: Path, files: Mapping[str, Mapping[str, Any]]) -> Iterator[Damage]:
    base = os.path.realpath(run_dir)
    places: dict[str, str] = {}  # of each folder, where it really is
    for name, facts in sorted(files.items()):
        path = run_dir / name
        try:
            # A manifest that points outside its own folder is not believed.
            same = _is_inside(path, base, places) and digests.file(path) == facts.get("sha256")
        except (OSError, ValueError):  # no name can have a zero byte
            yield Damage(kind=DamageKind.MISSING, path=name)
            continue
        if not same:
            yield Damage(kind=DamageKind.CHANGED, path=name)
    for name in sorted(_present(run_dir).keys() - files.keys()):
        yield Damage(kind=DamageKind.UNLISTED, path=name)


def _is_inside(path: Path, base: str, places: dict[str, str]) -> bool:
    """Whether a file lies below `base`, links followed. places: of the folders that were asked for before."""
    folder = str(path.parent)
    if (place := places.get(folder)) is None:
        place = places[folder] = os.path.realpath(folder)
    real = os.path.realpath(path) if path.name in ("", ".", "..") or path.is_symlink() else f"{place}/{path.name}"
    return real.startswith(f"{base}/")


def _present(run_dir: Path) -> dict[str, str]:
    """Evidence files and their kinds. Folders are listed once: there may be thousands of cells."""
    top = {entry.name for entry in _entries(run_dir)}
    found = {name: kind for name, kind in _OF_RUN.items() if name.split("/")[0] in top and (run_dir / name).is_file()}
    for cell in _entries(run_dir / _CELLS):
        for entry in _entries(cell.path) if cell.is_dir() else ():
            if entry.name in _OF_CELL and entry.is_file():
                found[f"{_CELLS}/{cell.name}/{entry.name}"] = _OF_CELL[entry.name]
    return found


def _entries(folder: Path | str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _count(path: Path, kind: str) -> int | None:
    """Tests, lines, type errors or samples, so that a file that lost its content is seen at a glance."""
    match kind:
        case "junit":
            return junit.read(path).counts.total
        case "tests" | "calls" | "misses" | "observations":
            return sum(1 for _ in jsonfile.lines(path))
        case "typecheck":
            return len((jsonfile.read(path) or {}).get("messages", ()))
        case "benchmark":
            lines = (jsonfile.read(path) or {}).get("lines", ())
            return sum(jsonfile.number(line, "samples") or 0 for line in lines if isinstance(line, dict))
        case _:
            return None
