"""Bodies under a content-encoding, undone piece by piece as they come.

gzip and deflate are the standard library's. For br and zstd a package is looked for, in this process and only when such
an answer comes; where there is none the body stays as it is.
"""

from __future__ import annotations

import contextlib
import importlib
import zlib
from collections.abc import Callable, Sequence
from typing import Any

Undo = Callable[[bytes], bytes]
# Undone in every process. A recording keeps these names beside a body that no longer is so encoded.
_ALWAYS = ("gzip", "x-gzip", "deflate")
# Undone where there is a package for it. A recording keeps the name only of a body that still is so encoded.
_WHERE_POSSIBLE = ("br", "zstd")


class UndecodableError(zlib.error):
    """A body that is not what its content-encoding says; transports know the standard library's error for that."""


def is_undone(header: str, value: str) -> bool:
    """Whether a response header in a recording names an encoding that the recorded body no longer has."""
    return header == "content-encoding" and value.strip().lower() in _ALWAYS


def needs_a_package(encoding: str) -> bool:
    """Whether bodies under this content-encoding are read only where a package for it is installed."""
    return encoding.strip().lower() in _WHERE_POSSIBLE


def is_signed(authorization: str | None) -> bool:
    """Whether a signature covers which encodings a request asks for (AWS, Signature Version 4): then they must stay."""
    _, found, names = (authorization or "").partition("SignedHeaders=")
    return bool(found) and "accept-encoding" in names.partition(",")[0].strip().lower().split(";")


def told(encodings: Sequence[str]) -> str:
    """What a run says of answers that stayed encoded, one name for each."""
    answers = "1 answer" if len(encodings) == 1 else f"{len(encodings)} answers"
    return f"{answers} kept as {' and '.join(sorted(set(encodings)))}, for want of a package that reads it"


def undo(encoding: str) -> Undo | None:
    """What undoes the encoding for one body; None where nothing here can. It raises zlib.error for a wrong body."""
    match encoding.strip().lower():
        case "gzip" | "x-gzip":
            return _members(lambda: zlib.decompressobj(wbits=zlib.MAX_WBITS | 16), zlib.error)
        case "deflate":
            return _deflate()
        case "br":
            return _brotli()
        case "zstd":
            return _zstd()
        case _:
            return None


def _members(make: Callable[[], Any], error_class: type[Exception]) -> Undo:
    """One compressed part after another is one body (RFC 1952 2.2 for gzip, RFC 8878 3.1 for zstd)."""
    parts = [make()]

    def decompress(chunk: bytes) -> bytes:
        decoded = []
        while chunk and parts:
            try:
                if parts[-1].eof:
                    parts.append(make())
                decoded.append(parts[-1].decompress(chunk))
                chunk = parts[-1].unused_data if parts[-1].eof else b""
            except error_class as error:
                if len(parts) == 1:
                    raise UndecodableError(str(error)) from error
                parts.clear()  # what follows a whole part and is none itself is padding, for clients too
        return b"".join(decoded)

    return decompress


def _deflate() -> Undo:
    first = bytearray()
    inflate: list[Undo] = []

    def decompress(chunk: bytes) -> bytes:
        if inflate:
            return inflate[0](chunk)
        # Servers disagree on whether "deflate" has a zlib header (RFC 9110 says it has): its two bytes tell.
        first.extend(chunk)
        if len(first) < 2:
            return b""
        has_header = first[0] & 0x0F == 8 and int.from_bytes(first[:2], "big") % 31 == 0
        inflate.append(zlib.decompressobj(wbits=zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS).decompress)
        return inflate[0](bytes(first))

    return decompress


def _brotli() -> Undo | None:
    module = _first("brotli", "brotlicffi")
    if module is None:
        return None
    process = getattr(module.Decompressor(), "process", None)
    if process is None:
        return None  # an unmaintained package under the same name

    def decompress(chunk: bytes) -> bytes:
        try:
            return bytes(process(chunk)) if chunk else b""
        except module.error as error:
            raise UndecodableError(str(error)) from error

    return decompress


def _zstd() -> Undo | None:
    module = _first("compression.zstd", "backports.zstd", "zstandard")
    if module is None:
        return None
    if module.__name__ == "zstandard":
        return _members(lambda: module.ZstdDecompressor().decompressobj(), module.ZstdError)
    return _members(module.ZstdDecompressor, module.ZstdError)


def _first(*names: str) -> Any:
    """The first of these modules that can be imported, else None."""
    for name in names:
        # One that is there and broken is no reason to fail a call.
        with contextlib.suppress(Exception):
            return importlib.import_module(name)
    return None
