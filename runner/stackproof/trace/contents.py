"""What a file of a trace holds, line by line: exchanges of the current version, and what is wrong with the others."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from stackproof.trace.errors import DamagedTraceError, TraceVersionError, UnknownEventError
from stackproof.trace.events import JsonObject
from stackproof.trace.exchange import Exchange, LineError, LineEventError, from_json, read_line
from stackproof.trace.framing import Framing, framing_of
from stackproof.trace.locking import PATIENCE, reading, refused
from stackproof.trace.versions import CURRENT, FORMAT, Migration, steps_from, upgraded, version_of

_PIECE = 1 << 20
_OPENING = b'{"'  # what each line of ours begins with: what does not is nothing that a killed writer left


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A line: its exchange, in the current version whatever the file has, or what is wrong with it.

    number: counted from 1, the header included. content: the object of the current version, where it is an object.
    """

    number: int
    exchange: Exchange | None = None
    content: JsonObject | None = None
    damage: DamagedTraceError | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Contents:
    """A file. `size`: bytes on disk. An empty file is of the current version and has no lines."""

    path: Path
    version: int
    size: int
    lines: tuple[Line, ...]

    @property
    def damage(self) -> DamagedTraceError | None:
        """The first thing that is wrong."""
        return next((line.damage for line in self.lines if line.damage is not None), None)

    @property
    def is_torn(self) -> bool:
        """Whether a writer was killed while it wrote the last line."""
        return bool(self.lines) and (last := self.lines[-1].damage) is not None and last.torn


def read(path: Path, *, patience: float = PATIENCE) -> Contents:
    """Everything in the file, read while nobody writes.

    TraceFileError where it cannot be opened, DamagedTraceError where it is no trace as a whole, TraceVersionError for a
    version that is to come. Lines that are damaged are told in the contents.
    """
    framing = framing_of(path)
    with reading(path, patience=patience) as handle:
        raw = all_of(path, handle)
    return understood(path, raw, framing)


def all_of(path: Path, handle: int, start: int = 0) -> bytes:
    """The bytes of an open file from `start` on."""
    pieces = []
    try:
        while piece := os.pread(handle, _PIECE, start):
            pieces.append(piece)
            start += len(piece)
    except OSError as error:
        raise refused(path, error) from None
    return b"".join(pieces)


def understood(path: Path, raw: bytes, framing: Framing) -> Contents:
    """The contents that these bytes are. DamagedTraceError and TraceVersionError as in `read`."""
    text, torn = framing.unpack(raw)
    rows = text.split(b"\n")
    last = rows.pop()
    if last and not is_torn(last):
        rows.append(last)  # whole but for its line feed
        last = b""
    version = _version(path, rows[0]) if rows else CURRENT
    if not rows and last and not _may_be_header(last):
        raise DamagedTraceError(path, "is no trace: it has no line that is whole")
    first = 1 if version else 0
    steps = steps_from(version)
    lines = [_line(path, number, row, steps) for number, row in enumerate(rows[first:], first + 1)]
    if last or torn:
        # What is cut short inside a whole frame was so before it was compressed: nobody can drop it alone.
        droppable = not (last and framing.is_packed)
        error = DamagedTraceError(path, "is cut short", line=len(rows) + 1, torn=droppable)
        lines.append(Line(number=len(rows) + 1, damage=error))
    return Contents(path=path, version=version, size=len(raw), lines=tuple(lines))


def is_torn(last: bytes) -> bool:
    """Whether the end of a file, which has no line feed, is the beginning of a line whose writer was killed."""
    if not last.startswith(_OPENING[: len(last)]):
        return False
    try:
        read_line(last)
    except LineError:
        return True
    return False


def _may_be_header(last: bytes) -> bool:
    return last.startswith(f'{{"format":"{FORMAT}"'.encode()[: len(last)]) and len(last) < 80


def _version(path: Path, first: bytes) -> int:
    try:
        header = read_line(first)
    except LineError as error:
        raise DamagedTraceError(path, f"is no trace: its first line {error}") from None
    version = version_of(header)
    if version is None:
        what = "a header that cannot be understood" if header.get("format") == FORMAT else "no header and no exchange"
        raise DamagedTraceError(path, f"is no trace: its first line is {what}")
    if version > CURRENT:
        raise TraceVersionError(
            f"{path} has version {version} of the trace format; this Stackproof reads up to version {CURRENT}",
            hint="a newer Stackproof wrote it: install that one",
        )
    return version


def _line(path: Path, number: int, row: bytes, steps: list[Migration]) -> Line:
    content: JsonObject | None = None
    try:
        content = read_line(row)
        if content.get("format") == FORMAT:
            raise LineError("is a second header: two traces were put together")  # noqa: TRY301 - as the others
        content = upgraded(content, steps)
        return Line(number=number, exchange=from_json(content), content=content)
    except LineEventError as error:
        return Line(number=number, content=content, damage=UnknownEventError(path, str(error), line=number))
    except LineError as error:
        return Line(number=number, content=content, damage=DamagedTraceError(path, str(error), line=number))
