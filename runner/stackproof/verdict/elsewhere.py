"""Writes the verdict over several run folders, of the jobs of a CI system say, into a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from stackproof.errors import UsageError
from stackproof.evidence import manifest
from stackproof.evidence.read import Evidence
from stackproof.verdict import publish
from stackproof.verdict.policy import Policy
from stackproof.verdict.publish import Publication
from stackproof.verdict.records import Verdict

_CELLS = "cells"


def write(
    output: Path,
    run_dirs: Sequence[Path],
    verdict: Verdict,
    found: Evidence,
    *,
    project: Path,
    environ: Mapping[str, str],
    secrets: Mapping[str, str],
    policy: Policy,
) -> Publication:
    """Everything that `publish.write` writes, in `output`, which is made; the run folders stay as they are.

    UsageError where `output` is a run folder, or cannot be written.
    """
    if (output / manifest.NAME).exists():
        raise UsageError(
            f"{output} is a run folder: the verdict over others does not belong there",
            hint="name a folder of its own, as .stackproof/verdict",
        )
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{output} cannot be made: {error.strerror}", hint="name another folder") from error
    with _cells(output, run_dirs):
        return publish.write(
            output, verdict, project=project, environ=environ, secrets=secrets, policy=policy, found=found
        )


@contextmanager
def _cells(output: Path, run_dirs: Sequence[Path]) -> Iterator[None]:
    """Lay the folders of all cells side by side, as in one run: logs and misses are shown from there."""
    place = output / _CELLS
    place.mkdir(exist_ok=True)
    # The first folder that has a cell is the one that is shown, as it is the one that counts.
    there = [cell for run in reversed(run_dirs) for cell in (run / _CELLS).glob("*") if cell.is_dir()]
    links = {cell.name: cell.resolve() for cell in there}
    try:
        for name, cell in links.items():
            (place / name).unlink(missing_ok=True)
            (place / name).symlink_to(cell, target_is_directory=True)
        yield
    finally:
        for name in links:
            (place / name).unlink(missing_ok=True)
        place.rmdir()
