"""Read a multipart body into its parts, without the boundary that every client makes up anew (RFC 7578)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.message import Message
from email.utils import collapse_rfc2231_value


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One part: its field name, file name, content type and bytes."""

    name: str | None
    filename: str | None
    content_type: str | None
    content: bytes


def read_parts(parameters: str, body: bytes) -> list[Part] | None:
    """The parts of `body`; None when it is not what its content type says. `parameters` follow the media type."""
    boundary = _header(f"multipart/form-data;{parameters}").get_param("boundary")
    if not isinstance(boundary, str) or not boundary:
        return None
    # The whole line: the boundary of a multipart inside a part may begin with this one.
    line = rb"\r\n--" + re.escape(boundary.encode("latin-1", "replace")) + rb"(--)?[ \t]*(?=\r\n|\Z)"
    pieces = re.split(line, b"\r\n" + body)
    # Every second piece says whether that boundary was the last; before the first is a preamble, after it an epilogue.
    closing = [index for index in range(1, len(pieces), 2) if pieces[index]]
    if not closing:
        return None
    parts = []
    for piece in pieces[2 : closing[0] : 2]:
        head, blank, content = piece.partition(b"\r\n\r\n")
        if not blank:
            return None
        parts.append(_part(head, content))
    return parts


def _part(head: bytes, content: bytes) -> Part:
    fields: dict[str, str] = {}
    for line in head.decode("utf-8", "replace").split("\r\n"):
        key, colon, value = line.partition(":")
        if colon:
            fields[key.strip().lower()] = value.strip()
    disposition = _header(fields.get("content-disposition", "form-data"))
    return Part(
        name=_parameter(disposition, "name"),
        filename=_parameter(disposition, "filename"),
        content_type=fields.get("content-type"),
        content=content,
    )


def _parameter(header: Message, name: str) -> str | None:
    value = header.get_param(name)
    # `filename*=utf-8''…` comes as three parts (RFC 2231).
    return collapse_rfc2231_value(value) if value is not None else None


def _header(value: str) -> Message:
    message = Message()
    message["content-type"] = value
    return message
