"""JSON files of a run folder: written whole or not at all, read without trust."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

# json.loads without what it does around it: files of tests have a hundred thousand lines.
_decode = json.JSONDecoder().raw_decode
_BLOCK = 1 << 18  # characters


def write(path: Path, data: Mapping[str, Any]) -> None:
    """Write `data` with a stable key order, under a temporary name first, so that nobody reads half a file."""
    write_text(path, dumps(data))


def dumps(data: Mapping[str, Any]) -> str:
    """What `write` writes."""
    return json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def write_text(path: Path, text: str) -> None:
    """Write a text file under a temporary name, then rename it. Lone surrogates are written as escapes."""
    write_pieces(path, (text,))


def write_pieces(path: Path, pieces: Iterable[str]) -> None:
    """As `write_text`, without ever holding the whole text. An OSError names `path`, and leaves nothing behind."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.writelines(pieces)
        partial.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        if error.filename in (None, str(partial)):  # a full disk is told of at a write, without a name
            error.filename = str(path)
        raise


def read(path: Path) -> dict[str, Any] | None:
    """The object in a JSON file; None when it is missing, unreadable or holds something else."""
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def lines(path: Path) -> Iterator[dict[str, Any] | None]:
    """The objects of a JSON-lines file, None for each line that holds none; nothing when there is no file."""
    for block in blocks(path):
        for line in block.split("\n"):
            if line and not line.isspace():
                yield parsed(line)


def blocks(path: Path) -> Iterator[str]:
    """A file in pieces of whole lines, each line for `parsed`; nothing when there is no file, or it cannot be read."""
    try:
        file = path.open(encoding="utf-8", errors="surrogateescape", newline="\n")
    except OSError:
        return
    with file:
        while block := file.read(_BLOCK):
            yield block + file.readline()


def parsed(line: str) -> dict[str, Any] | None:
    """The object in a line, None where it holds none."""
    try:
        data, end = _decode(line)
    except (ValueError, RecursionError):
        data, end = None, 0
    if end and line[end:] in ("", "\n") and line.isascii():  # as we write them: nothing more has to be looked at
        return data if isinstance(data, dict) else None
    return _careful(line)


def _careful(line: str) -> dict[str, Any] | None:
    try:
        # Bytes that are no UTF-8 came in as lone surrogates, which cannot go out again.
        data = json.loads(line.encode())
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def number(data: Mapping[str, Any], key: str) -> int | None:
    """A whole number of at least 0 under `key`; None when there is none. True and False are no numbers."""
    value = data.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def text(data: Mapping[str, Any], key: str) -> str | None:
    """A string under `key`; None when there is none."""
    value = data.get(key)
    return value if isinstance(value, str) else None


def table(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The object under `key`; an empty one when there is none."""
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def strings(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """The strings of the list under `key`; other items are left out."""
    value = data.get(key)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
