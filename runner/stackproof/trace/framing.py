"""How lines become bytes of a file: as they are, or each in a zstd frame of its own.

A frame for each line, so that one can be appended without touching those before it, a killed writer tears only the last
one, and `zstdcat` shows the file. RFC 8878 section 3: frames one behind the other are one content; lines of several
exchanges in one frame, as `zstd` makes of a plain file, are read as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from stackproof.trace.errors import DamagedTraceError, MissingPackageError

COMPRESSED = ".zst"
_CHUNK = 1 << 16
_MAGIC = b"\x28\xb5\x2f\xfd"


class Framing(Protocol):
    """Packs a line, and unpacks what lies in a file."""

    def pack(self, lines: bytes) -> bytes:
        """What is appended for these lines."""

    @property
    def is_packed(self) -> bool:
        """Whether the file's bytes are others than its content's."""

    def unpack(self, raw: bytes) -> tuple[bytes, int]:
        """The content of all that is whole in `raw`, and how many bytes at its end are not. DamagedTraceError."""


def framing_of(path: Path) -> Framing:
    """The framing that the file's name asks for: `….zst` is compressed. MissingPackageError without `zstandard`."""
    return _Compressed(path) if path.suffix == COMPRESSED else _Plain()


class _Plain:
    is_packed = False

    def pack(self, lines: bytes) -> bytes:
        return lines

    def unpack(self, raw: bytes) -> tuple[bytes, int]:
        return raw, 0


class _Compressed:
    is_packed = True

    def __init__(self, path: Path) -> None:
        try:
            self._zstd: Any = import_module("zstandard")
        except ImportError:
            raise MissingPackageError(
                f"{path} is compressed, and the package zstandard, which reads and writes it, is not installed",
                hint=f"pip install zstandard, or use an uncompressed trace: {path.with_suffix('')}",
            ) from None
        self._path = path

    def pack(self, lines: bytes) -> bytes:
        # The checksum tells a damaged frame from a whole one; without it, changed bytes could be read as other words.
        packed: bytes = self._zstd.ZstdCompressor(write_checksum=True).compress(lines)
        return packed

    def unpack(self, raw: bytes) -> tuple[bytes, int]:
        contents, end = [], 0
        for content, end in self._frames(raw):  # noqa: B007 - the last one is what counts
            contents.append(content)
        torn = raw[end:]
        if not torn.startswith(_MAGIC[: len(torn)]):
            raise DamagedTraceError(self._path, f"is not zstd at byte {end}")
        if _MAGIC in torn[len(_MAGIC) :]:
            # A killed writer leaves nothing behind the frame that it tore: whole frames there must not be dropped.
            raise DamagedTraceError(self._path, f"has a damaged zstd frame at byte {end}")
        return b"".join(contents), len(torn)

    def _frames(self, raw: bytes) -> Iterator[tuple[bytes, int]]:
        """(content, offset of its end) of each whole frame."""
        start = 0
        while start < len(raw):
            undo, pieces, at = self._zstd.ZstdDecompressor().decompressobj(), [], start
            while not undo.eof and at < len(raw):
                chunk = raw[at : at + _CHUNK]
                try:
                    pieces.append(undo.decompress(chunk))
                except self._zstd.ZstdError as error:
                    what = "has a damaged zstd frame" if raw.startswith(_MAGIC, start) else "is not zstd"
                    raise DamagedTraceError(self._path, f"{what} at byte {start}: {error}") from None
                at += len(chunk)
            if not undo.eof:
                return
            start = at - len(undo.unused_data)
            yield b"".join(pieces), start
