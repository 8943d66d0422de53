"""Text that XML 1.0 allows: reading files that hold more than that, writing files that do not."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

# https://www.w3.org/TR/xml/#charsets
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REFERENCE = re.compile(r"&#(?:x([0-9A-Fa-f]{1,8})|([0-9]{1,8}));")
_DECLARED = re.compile(rb"""<\?xml[^>]{0,200}encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']""")
_CHUNK = 1 << 16
_LONGEST_REFERENCE = 16


def clean(text: str) -> str:
    """`text` with every character that XML cannot hold written as `\\xNN`, so that it stays visible."""
    return _ILLEGAL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def _clean_references(text: str) -> str:
    def visible(match: re.Match[str]) -> str:
        number = int(match[1], 16) if match[1] else int(match[2])
        legal = number <= 0x10FFFF and not _ILLEGAL.match(chr(number))
        return match[0] if legal else f"\\x{number:02x}"

    return _REFERENCE.sub(visible, text)


def _encoding(head: bytes) -> str:
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if head.startswith(mark):
            return name
    declared = _DECLARED.match(head.lstrip())
    if declared is None:
        return "utf-8"
    name = declared[1].decode("ascii")
    try:
        # A file whose declaration can be read byte by byte is not UTF-16, whatever it claims.
        return "utf-8" if codecs.lookup(name).name.startswith(("utf-16", "utf-32")) else name
    except LookupError:
        return "utf-8"


def chunks(path: Path) -> Iterator[bytes]:
    """The file as UTF-8 in pieces that an XML parser accepts: bounded memory, nothing illegal in it.

    A wrong or unknown declared encoding costs single characters (they become U+FFFD), never the file.
    """
    with path.open("rb") as file:
        data = file.read(_CHUNK)
        decoder = codecs.getincrementaldecoder(_encoding(data[:512]))(errors="replace")
        held = ""
        while data:
            text = held + decoder.decode(data)
            # A character reference may be cut in two by the edge of a piece.
            cut = text.rfind("&", max(0, len(text) - _LONGEST_REFERENCE))
            held = "" if cut < 0 else text[cut:]
            text = text if cut < 0 else text[:cut]
            yield _clean_references(clean(text)).encode()
            data = file.read(_CHUNK)
        yield _clean_references(clean(held + decoder.decode(b"", final=True))).encode()
