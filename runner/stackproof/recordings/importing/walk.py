"""From a folder of foreign recordings to a report: finds files, tells their format by their content, places them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from stackproof.recorder.store import COMMON
from stackproof.recordings.importing.imported import Choices, Reader, RefusedSource, Source
from stackproof.recordings.importing.place import Place
from stackproof.recordings.importing.report import Report, Tally

# Larger than any recording that means something; read whole, so there has to be an end.
SIZE_LIMIT = 64 * 1024 * 1024


def sources(root: Path, readers: Sequence[Reader]) -> Iterator[Path]:
    """The files below `root` that a reader may know, folder by folder, each in the order of names.

    A folder `common` comes after its neighbours: what lies beside a test is looked up before what all tests share.
    """
    suffixes = tuple(suffix for reader in readers for suffix in reader.SUFFIXES)
    for folder, below, names in os.walk(root):
        below[:] = sorted((name for name in below if name[0] != "."), key=lambda name: (name == COMMON, name))
        yield from (Path(folder, name) for name in sorted(names) if name.endswith(suffixes) and name[0] != ".")


@dataclass(frozen=True, kw_only=True, slots=True)
class Import:
    """One import of the folder `root` with everything that it needs."""

    root: Path
    readers: Sequence[Reader]
    choices: Choices
    place: Place

    def run(self, paths: Iterable[Path]) -> Report:
        """Import the files, one after the other. What is refused is in the report; nothing is raised for a file."""
        tally = Tally()
        for path in paths:
            tally.file()
            name = path.relative_to(self.root).as_posix()
            try:
                self._bring_in(_read(path, name), tally)
            except RefusedSource as refused:
                tally.refused(name, refused)
        return tally.report()

    def _bring_in(self, source: Source, tally: Tally) -> None:
        # Where there is one only, it says itself what it misses in a file.
        known = (reader for reader in self.readers if len(self.readers) == 1 or reader.recognises(source))
        reader = next(known, None)
        if reader is None:
            raise RefusedSource(f"it is no recording of {' or '.join(reader.NAME for reader in self.readers)}")
        for item in reader.read(source, self.choices):
            if isinstance(item, RefusedSource):
                tally.refused(_called(source.name, item), item)
                continue
            try:
                fate = self.place.put(source, item, reader.NAME)
            except RefusedSource as refused:
                refused.number = refused.number or item.number
                tally.refused(_called(source.name, refused), refused)
            else:
                tally.placed(item.kind, item.setup.name, fate)
                tally.lost(item.lost)


def _called(name: str, refused: RefusedSource) -> str:
    return name if refused.number is None else f"{name}, interaction {refused.number}"


def _read(path: Path, name: str) -> Source:
    try:
        told = path.stat()
        if not stat.S_ISREG(told.st_mode):
            raise RefusedSource("it is no ordinary file")  # a pipe would be waited for, a device has no end
        if told.st_size > SIZE_LIMIT:
            raise RefusedSource(f"it is larger than {SIZE_LIMIT >> 20} MiB")
        return Source(name=name, raw=path.read_bytes(), path=path)
    except OSError as error:
        raise RefusedSource(f"it cannot be read: {error.strerror}") from None
