"""What is wrong with a trace: damage, what a killed writer left, secrets; and what is only worth saying."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from stackproof.trace.contents import Contents, Line, read
from stackproof.trace.errors import DamagedTraceError, TraceVersionError, UnknownEventError
from stackproof.trace.hiding import found_in
from stackproof.trace.versions import CURRENT


class Kind(StrEnum):
    """What was found. The order of definition is that of summaries."""

    DAMAGED = "damaged"
    TORN = "torn"
    UNKNOWN_EVENT = "unknown-event"
    NEWER = "newer"
    SECRET = "secret"  # noqa: S105 - a word, not a value
    EMPTY = "empty"
    OUTDATED = "outdated"
    PARTIAL = "partial"


_ONLY_SAID = frozenset({Kind.OUTDATED, Kind.PARTIAL})
_ACTIONS: Mapping[Kind, str] = {
    Kind.DAMAGED: "git restore {file}, or record the conversation anew",
    Kind.TORN: "stackproof trace migrate --drop-torn {file}, or go on recording into it",
    Kind.UNKNOWN_EVENT: "correct the type, or record the conversation anew",
    Kind.NEWER: "install the Stackproof that wrote it, or a newer one",
    Kind.SECRET: "remove the file, revoke the key, and record anew with secrets=",
    Kind.EMPTY: "record the conversation, or remove the file",
    Kind.OUTDATED: "stackproof trace migrate {file}",
    Kind.PARTIAL: "nothing, or record the conversation anew: it is never replayed",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing. `line` counts from 1; None where it is about the file. `fails`: whether it makes a check fail."""

    kind: Kind
    file: str
    what: str
    line: int | None = None

    @property
    def fails(self) -> bool:
        """Whether it is wrong, and not only said."""
        return self.kind not in _ONLY_SAID

    @property
    def action(self) -> str:
        """What to do next."""
        return _ACTIONS[self.kind].format(file=self.file)

    def to_json(self) -> dict[str, Any]:
        """The facts for `--json`."""
        facts = {"kind": self.kind.value, "file": self.file, "line": self.line, "what": self.what}
        return {**facts, "next": self.action, "fails": self.fails}


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """A file that was looked at. `version`: None where it is no trace, or one of a version to come."""

    file: str
    version: int | None
    complete: int
    partial: int
    findings: tuple[Finding, ...]


def check(path: Path, secrets: Mapping[str, str]) -> Report:
    """Look at the whole file. TraceFileError where it cannot be opened: that is no finding about a trace."""
    file = str(path)
    try:
        contents = read(path)
    except DamagedTraceError as error:
        finding = Finding(kind=Kind.DAMAGED, file=file, what=error.what)
    except TraceVersionError as error:
        finding = Finding(kind=Kind.NEWER, file=file, what=error.message.removeprefix(f"{file} "))
    else:
        found = [line.exchange for line in contents.lines if line.exchange is not None]
        partial = sum(exchange.why is not None for exchange in found)
        findings = tuple(_findings(contents, file, secrets))
        return Report(
            file=file, version=contents.version, complete=len(found) - partial, partial=partial, findings=findings
        )
    return Report(file=file, version=None, complete=0, partial=0, findings=(finding,))


def _findings(contents: Contents, file: str, secrets: Mapping[str, str]) -> Iterator[Finding]:
    if not contents.lines:
        yield Finding(kind=Kind.EMPTY, file=file, what="it holds no exchange")
    elif contents.version < CURRENT:
        what = f"it has version {contents.version} of the format; the current one is {CURRENT}"
        yield Finding(kind=Kind.OUTDATED, file=file, what=what)
    for line in contents.lines:
        yield from _of_line(line, file, secrets)


def _of_line(line: Line, file: str, secrets: Mapping[str, str]) -> Iterator[Finding]:
    if line.damage is not None:
        kind = Kind.TORN if line.damage.torn else Kind.DAMAGED
        if isinstance(line.damage, UnknownEventError):
            kind = Kind.UNKNOWN_EVENT
        yield Finding(kind=kind, file=file, what=line.damage.what, line=line.number)
    if line.content is not None and (secret := found_in(line.content, secrets)) is not None:
        yield Finding(kind=Kind.SECRET, file=file, what=f"{secret[0]}, at {secret[1]}", line=line.number)
    exchange = line.exchange
    if exchange is not None and exchange.why is not None:
        how = f": {exchange.error}" if exchange.error else ""
        events = len(exchange.events)
        what = f"{exchange.why.value} after {events} event{'' if events == 1 else 's'}{how}"
        yield Finding(kind=Kind.PARTIAL, file=file, what=what, line=line.number)
