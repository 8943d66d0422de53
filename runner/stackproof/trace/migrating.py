"""Brings a trace to the current version: a new file beside it takes its place, whole or not at all."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from stackproof.trace.contents import Contents, all_of, understood
from stackproof.trace.exchange import to_json, to_line
from stackproof.trace.framing import Framing, framing_of
from stackproof.trace.locking import reading, refused, writing
from stackproof.trace.versions import HEADER_LINE, steps_from


@dataclass(frozen=True, kw_only=True, slots=True)
class Migrated:
    """What was done to a file, or would be. `version`: the one that it had. `dropped`: its torn last line went."""

    file: str
    version: int
    exchanges: int
    partial: int
    dropped: bool
    steps: tuple[str, ...]

    @property
    def is_changed(self) -> bool:
        """Whether there was anything to do."""
        return bool(self.steps) or self.dropped


def migrate(path: Path, *, dry_run: bool = False, drop_torn: bool = False) -> Migrated:
    """Migrate the file at `path`, or only say what that would do; a file that is current is left untouched.

    Nobody appends meanwhile, and who waits to append finds the new file. A link stays, and what it means is replaced.
    DamagedTraceError for a line that is no exchange, for a torn last line too unless `drop_torn`; TraceVersionError,
    TraceFileError. Whatever it raises, the file is as it was.
    """
    framing = framing_of(path)
    if dry_run:
        with reading(path) as handle:
            return _made(_contents(path, handle, framing, drop_torn=drop_torn))
    with writing(path, create=False) as handle:
        contents = _contents(path, handle, framing, drop_torn=drop_torn)
        made = _made(contents)
        if made.is_changed:
            lines = [HEADER_LINE, *(to_line(to_json(line.exchange)) for line in contents.lines if line.exchange)]
            try:
                _replace(Path(os.path.realpath(path)), b"".join(map(framing.pack, lines)), handle)
            except OSError as error:
                raise refused(path, error) from None
    return made


def _contents(path: Path, handle: int, framing: Framing, *, drop_torn: bool) -> Contents:
    contents = understood(path, all_of(path, handle), framing)
    damage = contents.damage
    if damage is not None and not (damage.torn and drop_torn):
        raise damage
    return contents


def _made(contents: Contents) -> Migrated:
    found = [line.exchange for line in contents.lines if line.exchange is not None]
    steps = steps_from(contents.version)
    return Migrated(
        file=str(contents.path),
        version=contents.version,
        exchanges=len(found),
        partial=sum(exchange.why is not None for exchange in found),
        dropped=contents.is_torn,
        steps=tuple(f"{step.source} → {step.source + 1}: {step.says}" for step in steps),
    )


def _replace(path: Path, content: bytes, old: int) -> None:
    temporary = path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")
    try:
        with temporary.open("xb") as file:
            os.fchmod(file.fileno(), os.fstat(old).st_mode & 0o7777)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
