"""The one archive that all tasks of a run fetch: the project, the recordings, Stackproof itself, and their order."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

from stackproof.errors import DockerError
from stackproof.plaintext import counted
from stackproof.plan import Cell, Plan
from stackproof.shards import timings, timings_file
from stackproof.stack import contained_tests, luggage, project
from stackproof.stack.luggage import Folder
from stackproof.swarm import order as orders
from stackproof.swarm.order import Order

_TIMINGS = orders.HOME / "timings.json"


def packed(plan: Plan, pieces: Sequence[Cell], *, owner: tuple[int, int], every: float) -> tuple[IO[bytes], str]:
    """The archive, to be unpacked at `/`, and what it holds, in words: `1373 files, 6.5 MB`.

    DockerError where it cannot be packed.
    """
    root = plan.project / plan.options.recording_dir
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        options = plan.options
        if options.timings:
            # Where they are here may be nowhere there.
            known = timings.read(options.timings, project=plan.project)
            (folder / _TIMINGS.name).write_text(timings_file.text(known.cells, known.rows), encoding="utf-8")
            options = replace(options, timings=(str(_TIMINGS),))
        order = Order(
            run_id=plan.run_id,
            project=plan.project.absolute(),
            pieces=tuple(orders.options_of(cell, options) for cell in pieces),
            every=every,
            owner=owner,
        )
        (folder / orders.PLACE.name).write_bytes(order.to_json())
        folders = (
            *(
                replace(luggage.everything(source), inside=Path(target), as_mounted=True)
                for source, target in contained_tests.ourselves()
            ),
            project.files(plan.project, without=root),
            _recordings(plan.cells, root),
            replace(luggage.everything(folder), inside=orders.HOME, as_mounted=True),
        )
        try:
            archive = luggage.packed(folders, owner=owner)
        except OSError as error:
            raise DockerError(
                f"what the shards need cannot be packed: {error}",
                hint="make room on this machine's disk, then run again",
            ) from error
    files = sum(len(each.files) for each in folders)
    return archive, f"{counted(files, 'file')}, {archive_size(archive) / 1e6:.1f} MB"


def archive_size(archive: IO[bytes]) -> int:
    """Bytes of an archive that is read from its beginning afterwards."""
    size = archive.seek(0, 2)
    archive.seek(0)
    return size


def _recordings(cells: Sequence[Cell], root: Path) -> Folder:
    found: dict[Path, None] = {}
    for cell in cells:
        folder = luggage.recordings(root, cell.setup.name, cell.paths, cell.integration_root)
        found |= dict.fromkeys(folder.files)
    return Folder(path=root, files=tuple(found))
