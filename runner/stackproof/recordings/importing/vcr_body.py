"""Bodies in a cassette: the shapes that vcrpy and its serializers give them, and whether they are what was sent."""

from __future__ import annotations

import json
import zlib
from binascii import a2b_base64
from collections.abc import Mapping
from typing import Any

from stackproof.recorder import encodings, redact
from stackproof.recorder.canonical import NotPlainJson, compact, parse
from stackproof.recorder.identity import Form
from stackproof.recordings.importing.imported import RefusedSource

# A gigabyte of zeros is a megabyte of gzip.
DECODED_LIMIT = 256 * 1024 * 1024
_PIECE = 16 * 1024
_SHAPES = ("string", "base64_string")


def bytes_of(value: Any, whose: str) -> bytes:
    """The bytes of a body: text, bytes, nothing, the list of an iterator's chunks, or an object around one of them.

    whose: `request` or `answer`, for the reason of a refusal.
    """
    try:
        return _bytes(value, whose)
    except UnicodeEncodeError:
        raise RefusedSource(f"the body of its {whose} is text that no bytes stand for") from None
    except ValueError:
        raise RefusedSource(f"the body of its {whose} cannot be read") from None


def _bytes(value: Any, whose: str) -> bytes:
    match value:
        case None | "" | {} if not value:
            return b""
        case bytes():
            return value
        case str():
            return value.encode("utf-8")
        case list():
            return b"".join(_chunk(item, whose) for item in value)
        case {"base64_string": str() as text}:
            return a2b_base64(text)
        case {"string": str() | bytes() | None as text}:
            return _bytes(text, whose)
        case _:
            raise RefusedSource(f"the body of its {whose} is {_kind(value)}, which vcrpy does not write")


def _chunk(item: Any, whose: str) -> bytes:
    match item:
        case str() | bytes():
            return _bytes(item, whose)
        case int() if not isinstance(item, bool):
            return bytes([item])  # iterating over bytes gives numbers
        case _:
            raise RefusedSource(
                f"the body of its {whose} is a list with {_kind(item)} in it, which vcrpy does not write"
            )


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return "an object" if value.keys().isdisjoint(_SHAPES) else "an object of an unknown form"
    return {bool: "true or false", int: "a number", float: "a number", list: "a list"}.get(type(value), "something")


def parsed(value: Any, whose: str) -> bytes:
    """The bytes of a `parsed_body`, as serializers write JSON that should read well in a cassette."""
    try:
        return compact(value)
    except (TypeError, ValueError, RecursionError):
        raise RefusedSource(f"the parsed_body of its {whose} is no JSON") from None


def was_changed(body: bytes, headers: Mapping[str, str], form: Form | None) -> bool:
    """Whether a request's body is another one than was sent: its length says so, and what is compared would differ.

    headers: of the request, lower-case. form: the compared form of the body. Filters write JSON anew even where they
    found nothing, so for JSON each usual way of writing the same value counts; and where a field that is never
    compared was filtered (`api_key`), nothing is lost.
    """
    told = headers.get("content-length", "").strip()
    if not told.isdecimal() or int(told) == len(body):
        return False
    if form and "json" in form:
        return int(told) not in _lengths(body) and redact.MASK not in json.dumps(form)
    return redact.MASK not in json.dumps(form)


def _lengths(body: bytes) -> set[int]:
    try:
        value = parse(body)
    except NotPlainJson:
        return set()
    texts = [
        json.dumps(value, ensure_ascii=is_ascii, separators=separators)
        for is_ascii in (True, False)
        for separators in ((",", ":"), (", ", ": "))
    ]
    return {len(text.encode("utf-8", "backslashreplace")) for text in texts}


def decoded(encoding: str, raw: bytes) -> bytes | None:
    """An answer's body without its content-encoding; None where nothing here can undo it.

    A body that was decoded when it was recorded (`decode_compressed_response`, vcrpy's old httpx cassettes) comes back
    as it is. RefusedSource for one that is damaged or cut short.
    """
    undo = encodings.undo(encoding)
    if undo is None:
        return None
    try:
        made = bytearray()
        for start in range(0, len(raw), _PIECE):
            made += undo(raw[start : start + _PIECE])
            if len(made) > DECODED_LIMIT:
                raise RefusedSource(f"its body is more than {DECODED_LIMIT >> 20} MiB when it is decoded")
    except zlib.error:
        if _is_text(raw):
            return raw
        raise RefusedSource(f"its body is not in the content-encoding {encoding} that its headers name") from None
    if raw and encoding in ("gzip", "x-gzip") and not _ends(raw):
        raise RefusedSource(f"its body was cut short: the {encoding} in it has no end")
    return bytes(made)


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _ends(raw: bytes) -> bool:
    whole = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    for start in range(0, len(raw), _PIECE):
        whole.decompress(raw[start : start + _PIECE])
    return whole.eof
