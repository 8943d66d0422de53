"""The evidence of a shard as an archive: which files it has, packed in the task, and taken in as what somebody sent."""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from stackproof.errors import NotProvenError

# All that a verdict, a report or a person looks at; what else lies in the folder of a cell is of the processes there.
FILES = frozenset(
    {
        "budget.json",
        "calls.jsonl",
        "cell.json",
        "cell.log",
        "claims",
        "drift.json",
        "events.jsonl",
        "junit.xml",
        "misses.jsonl",
        "outcome.json",
        "pytest.log",
        "recorder.json",
        "result.json",
        "running",
        "shard.json",
        "shared.jsonl",
        "stack.log",
        "tests.jsonl",
    }
)
LARGEST = 512 << 20
"""Bytes of all files of one shard."""
_IN_MEMORY = 8 << 20


def packed(cell_dir: Path) -> IO[bytes]:
    """An archive of the evidence in the folder of a cell, without its owners."""
    spool: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - the caller closes it
    with tarfile.open(fileobj=spool, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(FILES):
            path = cell_dir / name
            if path.is_file() and not path.is_symlink():
                entry = tarfile.TarInfo(name)
                found = path.stat()
                entry.size, entry.mtime, entry.mode = found.st_size, int(found.st_mtime), 0o644
                with path.open("rb") as file:
                    archive.addfile(entry, file)
    spool.seek(0)
    return spool


def unpacked(archive: IO[bytes], cell_dir: Path, *, what: str) -> tuple[str, ...]:
    """Write what an archive holds to the folder of its cell, all of it or nothing; the names.

    what: for messages. NotProvenError where it holds anything that no shard has: then nothing was written.
    """
    partial = cell_dir.with_name(f"{cell_dir.name}.partial")
    partial.mkdir(parents=True, exist_ok=True)
    try:
        with tarfile.open(fileobj=archive, mode="r:") as opened:
            names = tuple(_written(opened, partial, what))
    except (tarfile.TarError, EOFError, ValueError, OverflowError) as error:  # of a number that is none, too
        _clear(partial)
        raise NotProvenError(f"what {what} delivered is no archive that can be read: {error}") from error
    except BaseException:
        _clear(partial)
        raise
    if "outcome.json" not in names or "result.json" not in names:
        _clear(partial)
        raise NotProvenError(f"what {what} delivered says nothing of its end: outcome.json and result.json are missing")
    partial.rename(cell_dir)
    return names


def _written(opened: tarfile.TarFile, folder: Path, what: str) -> Iterator[str]:
    total, seen = 0, set()
    for entry in opened:
        if not entry.isreg() or entry.name not in FILES or entry.name in seen:
            raise NotProvenError(f"what {what} delivered holds {entry.name!r}, which is no evidence of a shard")
        total += entry.size
        if total > LARGEST:
            raise NotProvenError(f"what {what} delivered is larger than {LARGEST >> 20} MB")
        content = opened.extractfile(entry)
        data = b"" if content is None else content.read()
        if len(data) != entry.size:
            raise NotProvenError(f"what {what} delivered is cut in {entry.name}")
        (folder / entry.name).write_bytes(data)
        seen.add(entry.name)
        yield entry.name


@contextmanager
def inner(pieces: Iterable[bytes]) -> Iterator[IO[bytes]]:
    """The one file that an engine's archive of it holds; tarfile.TarError where it holds none, or is cut."""
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as outer:
        for piece in pieces:
            outer.write(piece)
        outer.seek(0)
        with tarfile.open(fileobj=outer, mode="r:") as opened:
            found = next((opened.extractfile(entry) for entry in opened if entry.isreg()), None)
            if found is None:
                raise tarfile.ReadError("there is no file in it")
            yield found


def _clear(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
