"""Read a multipart body into its parts, without the boundary that every client makes up anew (RFC 7578)."""

from __future__ import annotations

from dataclasses import dataclass
from email.message import Message


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
    delimiter = b"\r\n--" + boundary.encode("latin-1", "replace")
    pieces = (b"\r\n" + body).split(delimiter)
    if len(pieces) < 2 or not pieces[-1].startswith(b"--"):
        return None
    parts = []
    for piece in pieces[1:-1]:
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
    name = disposition.get_param("name")
    filename = disposition.get_param("filename")
    return Part(
        name=name if isinstance(name, str) else None,
        filename=filename if isinstance(filename, str) else None,
        content_type=fields.get("content-type"),
        content=content,
    )


def _header(value: str) -> Message:
    message = Message()
    message["content-type"] = value
    return message
