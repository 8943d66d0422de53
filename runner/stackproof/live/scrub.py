"""Takes the values of secrets out of what a run has written and of what it prints.

Providers repeat keys in their errors, and SDKs put those into exceptions: tests, their runner and stacks write them
down like any other text. What the recorder writes is masked already.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from stackproof.evidence import jsonfile
from stackproof.recorder import redact

_TOKEN = re.compile(r"[^\s\"'<>,;&()\[\]{}]+")


def text(value: str, secrets: Mapping[str, str]) -> str:
    """The text without them, also where they stand encoded; all else is as it was."""
    for secret in secrets.values():
        for form in _forms(secret):
            value = value.replace(form, redact.MASK)
    if redact.find(value, secrets) is None:
        return value
    value = redact.without_keys(value)
    # Encoded ones: of each word by itself, so that the markup around it stays.
    return _TOKEN.sub(lambda found: str(redact.conceal(found[0], secrets)), value)


def _forms(secret: str) -> dict[str, None]:
    """As it is, in XML, in an attribute of it, and in JSON."""
    from xml.sax.saxutils import escape  # noqa: PLC0415 - the whole of urllib.request comes with it

    return dict.fromkeys(
        (
            secret,
            escape(secret),
            escape(secret, {'"': "&quot;"}),
            escape(secret, {'"': "&#34;"}),
            json.dumps(secret)[1:-1],
        )
    )


def folder(path: Path, secrets: Mapping[str, str]) -> list[str]:
    """Do so in every file below; the names of those that were changed, relative to it. Links are not followed."""
    return [each.relative_to(path).as_posix() for each in sorted(_files(path)) if file(each, secrets)]


class Concealing:
    """A stream for text that lets no secret through, each write by itself."""

    def __init__(self, stream: IO[str], secrets: Mapping[str, str]) -> None:
        self._stream, self._secrets = stream, secrets

    def write(self, value: str) -> int:
        """As the stream's, without secrets."""
        self._stream.write(text(value, self._secrets))
        return len(value)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _files(path: Path) -> Iterator[Path]:
    return (each for each in path.rglob("*") if each.is_file() and not each.is_symlink())


def file(path: Path, secrets: Mapping[str, str]) -> bool:
    """Do so in a file; whether it held any. One that is not there holds none."""
    try:
        before = path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return False
    if text(before, secrets) is before:
        return False  # most hold none, and are done with in one reading
    after = "".join(_line(line, secrets) for line in before.splitlines(keepends=True))
    if after == before:
        return False
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(after.encode("utf-8", "surrogateescape"))
    partial.chmod(path.stat().st_mode & 0o777)
    partial.replace(path)
    return True


def _line(line: str, secrets: Mapping[str, str]) -> str:
    """A line of JSON stays one."""
    if (shown := text(line, secrets)) is line:
        return line
    if line.startswith("{") and (data := jsonfile.parsed(line)) is not None:
        end = line[len(line.rstrip("\r\n")) :]
        return json.dumps(redact.conceal(data, secrets), ensure_ascii=line.isascii()) + end
    return shown
