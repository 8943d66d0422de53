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
_HARMLESS = re.compile("[ !#-%'-;=?-~]*").fullmatch
_CHUNK = 1 << 16
_LONGEST = 16  # bytes of a character reference
_LEGAL = bytes(byte for byte in range(128) if byte >= 32 or byte in b"\t\n\r")


def clean(text: str) -> str:
    """`text` with every character that XML cannot hold written as `\\xNN`, so that it stays visible."""
    return _ILLEGAL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def _clean_references(text: str) -> str:
    def visible(match: re.Match[str]) -> str:
        number = int(match[1], 16) if match[1] else int(match[2])
        legal = number <= 0x10FFFF and not _ILLEGAL.match(chr(number))
        return match[0] if legal else f"\\x{number:02x}"

    return _REFERENCE.sub(visible, text)


def attribute(text: str) -> str:
    """`text` between quotes, as the value of an attribute; line ends survive the parser's normalising."""
    if _HARMLESS(text):
        return f'"{text}"'
    from xml.sax.saxutils import quoteattr  # noqa: PLC0415 - the whole of urllib.request comes with it

    return quoteattr(clean(text), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def content(text: str) -> str:
    """`text` as what stands between two tags."""
    from xml.sax.saxutils import escape  # noqa: PLC0415

    return escape(clean(text), {"\r": "&#13;"})


_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins as the mark of UTF-16 does
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    # Without a mark, as https://www.w3.org/TR/xml/#sec-guessing has it.
    (b"<\0\0\0", "utf-32-le"),
    (b"\0\0\0<", "utf-32-be"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)


def _encoding(head: bytes) -> str:
    if (marked := next((name for mark, name in _MARKS if head.startswith(mark)), None)) is not None:
        return marked
    declared = _DECLARED.match(head.lstrip())
    if declared is None:
        return "utf-8"
    name = declared[1].decode("ascii")
    try:
        # What could be read byte by byte to find the name is in no encoding that reads it in another way: a UTF-16 that
        # is none, or something that is no text encoding at all.
        usable = declared[0].decode(name, "replace") == declared[0].decode("ascii")
        codecs.getincrementaldecoder(name)(errors="replace").decode(declared[0])
    except (LookupError, UnicodeError, ValueError):
        return "utf-8"
    return name if usable else "utf-8"


def _is_clean(data: bytes) -> bool:
    """Whether a piece is ASCII in which nothing is illegal and no character reference stands or begins."""
    return data.isascii() and not data.translate(None, _LEGAL) and b"&#" not in data and data.rfind(b"&", -_LONGEST) < 0


def chunks(path: Path) -> Iterator[bytes]:
    """The file as UTF-8 in pieces that an XML parser accepts: bounded memory, nothing illegal in it.

    A wrong or unknown declared encoding costs single characters (they become U+FFFD), never the file. OSError, and
    UnicodeError for an encoding that gives up.
    """
    with path.open("rb") as file:
        data = file.read(_CHUNK)
        encoding = _encoding(data[:512])
        by_byte = encoding.startswith("utf-8")
        decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
        held, begun = "", False
        while data:
            if by_byte and not held and begun and _is_clean(data) and not decoder.getstate()[0]:
                yield data
            else:
                text = held + decoder.decode(data)
                if not begun:
                    # Whatever prints a report may print an empty line before it, which no declaration survives.
                    text = text.lstrip()
                    begun = bool(text)
                # A character reference may be cut in two by the edge of a piece.
                cut = text.rfind("&", max(0, len(text) - _LONGEST))
                held = "" if cut < 0 else text[cut:]
                text = text if cut < 0 else text[:cut]
                yield _clean_references(clean(text)).encode()
            data = file.read(_CHUNK)
        yield _clean_references(clean(held + decoder.decode(b"", final=True))).encode()
