"""`ci/expected/<cell>.json`: the tests that a cell must have run, and which of them may be skipped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stackproof.errors import UsageError
from stackproof.evidence import jsonfile
from stackproof.verdict.policy import Policy

FOLDER = Path("ci/expected")
CLAIMS = "claims"
"""The name of the file that lists the tests of claims; no cell is called so."""

SCHEMA = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Expectation:
    """nodeids: every test that must be collected. skips: node id -> reason. xfails: tests that may fail as marked."""

    nodeids: frozenset[str]
    skips: Mapping[str, str] = field(default_factory=dict)
    xfails: frozenset[str] = frozenset()


def names(policy: Policy) -> list[str]:
    """What a policy expects tests of: each of its cells, and the session of its claims."""
    return [*(cell.id for cell in policy.cells), *((CLAIMS,) if policy.claims is not None else ())]


def load(project: Path, cell: str) -> Expectation | None:
    """What is expected of a cell; None when there is no file. UsageError when the file is something else."""
    if not (project / path(cell)).is_file():
        return None
    data = jsonfile.read(project / path(cell))
    nodeids = data.get("nodeids") if data else None
    skips = data.get("skips", {}) if data else None
    xfails = data.get("xfails", []) if data else None
    if (
        data is None
        or data.get("schema") != SCHEMA
        or not _texts(nodeids)
        or not _texts(xfails)
        or not isinstance(skips, dict)
        or not _texts(list(skips.values()))
    ):
        raise UsageError(
            f"{path(cell).as_posix()} is no list of expected tests",
            hint="write it anew from a run that you have looked at: stackproof policy update RUN_DIR",
        )
    return Expectation(
        nodeids=frozenset(jsonfile.strings(data, "nodeids")),
        skips=skips,
        xfails=frozenset(jsonfile.strings(data, "xfails")),
    )


def save(project: Path, cell: str, expectation: Expectation) -> Path:
    """Write what is expected of a cell, sorted, and return the file."""
    jsonfile.write(project / path(cell), content(cell, expectation))
    return project / path(cell)


def path(cell: str) -> Path:
    """The file of a cell, below the project."""
    return FOLDER / f"{cell}.json"


def content(cell: str, expectation: Expectation) -> dict[str, object]:
    """What the file holds."""
    return {
        "schema": SCHEMA,
        "cell": cell,
        "nodeids": sorted(expectation.nodeids),
        "skips": dict(sorted(expectation.skips.items())),
        "xfails": sorted(expectation.xfails),
    }


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
