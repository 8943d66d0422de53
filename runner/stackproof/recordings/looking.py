"""Where a scope's recordings are looked up, and which names are known of a scope of which there is only a digest."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from stackproof.evidence import jsonfile
from stackproof.recorder.scope import STACK_NAME, Scope
from stackproof.recorder.store import Store
from stackproof.recordings import observed

_RUNS_READ = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A folder that a call looks in. `files` are the paths there that would answer it, in the order of numbers."""

    setup: str
    folder: Path
    files: tuple[Path, ...] = ()


def folders(root: Path, setup: str, scope: str, integration_root: str) -> tuple[Path, ...]:
    """The folders in which a run looks for a scope's recordings, in its order."""
    store = Store(str(root), setup, "", integration_root)
    return tuple(Path(folder) for folder in store.folders(Scope(name=scope)))


def scopes_of_runs(project: Path, root: Path) -> Iterator[str]:
    """Names of scopes that the last few runs knew: of their tests, and of calls that were made or missed."""
    yield STACK_NAME
    cells = observed.read(project, root)
    last = list(dict.fromkeys(cell.run for cell in cells))[:_RUNS_READ]
    for cell in cells:
        if cell.run in last:
            yield from cell.log.collected or ()
            for line in itertools.chain(cell.calls(), cell.misses()):
                yield from filter(None, (jsonfile.text(line, "scope"),))


def named(digest: str, names: Iterable[str]) -> str | None:
    """The name whose digest begins with these digits; None where none of `names` has it."""
    return next((name for name in names if Scope(name=name).digest.startswith(digest)), None)
