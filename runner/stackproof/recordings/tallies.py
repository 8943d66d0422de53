"""How many recordings there are of what: counted while they are read, none is held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import assert_never

from stackproof.recordings import frame
from stackproof.recordings.corpus import Entry
from stackproof.recordings.listing import row
from stackproof.recordings.query import suites_of

_AGES = (("under 30 days", 30), ("under 90 days", 90), ("under 1 year", 365))
_OLDER, _UNDATED = "older", "without a date"
AGES = (*(name for name, _ in _AGES), _OLDER, _UNDATED)


class By(StrEnum):
    """What recordings are counted by."""

    SETUP = "setup"
    SUITE = "suite"
    PROVIDER = "provider"
    ENDPOINT = "endpoint"
    MODEL = "model"
    STATUS = "status"
    AGE = "age"
    SERVER = "server"
    RECORDER = "recorded-with"
    SYNTHETIC = "synthetic"


class Tallies:
    """Files and bytes, in all and by each kind.

    suites: name → roots; a recording that belongs to several counts in each. now: what ages are measured from.
    """

    def __init__(self, suites: Mapping[str, tuple[str, ...]], now: datetime, kinds: Sequence[By] = tuple(By)) -> None:
        self.files = self.bytes = self.damaged = 0
        self._suites, self._now = suites, now
        self._files: dict[By, Counter[str]] = {kind: Counter() for kind in kinds}
        self._bytes: dict[By, Counter[str]] = {kind: Counter() for kind in kinds}

    def count(self, entries: Iterable[Entry]) -> None:
        """Take these in."""
        for entry in entries:
            size = row(entry).bytes
            self.files += 1
            self.bytes += size
            self.damaged += entry.content is None
            for kind, counter in self._files.items():
                for name in self._names(kind, entry):
                    counter[name] += 1
                    self._bytes[kind][name] += size

    def rows(self, kind: By) -> list[tuple[str, int, int]]:
        """(name, files, bytes), the most files first; ages from young to old."""
        names: Iterable[str] = [
            name for name, _ in sorted(self._files[kind].items(), key=lambda item: (-item[1], item[0]))
        ]
        if kind is By.AGE:
            names = [name for name in AGES if name in self._files[kind]]
        return [(name, self._files[kind][name], self._bytes[kind][name]) for name in names]

    def _names(self, kind: By, entry: Entry) -> Iterator[str]:
        if kind is By.SETUP:
            yield entry.setup
            return
        if entry.content is None:
            yield "damaged"
            return
        origin = frame.origin(entry.content)
        match kind:
            case By.SUITE:
                yield from suites_of(entry.scope, self._suites) or ("none",)
            case By.PROVIDER:
                yield entry.provider or "none"
            case By.ENDPOINT:
                yield f"{entry.method} {entry.endpoint}"
            case By.MODEL:
                yield entry.model or "none"
            case By.STATUS:
                yield str(entry.content["response"].get("status") or "exception")
            case By.AGE:
                yield _age(origin.get("recorded_at"), self._now)
            case By.SERVER:
                yield str(origin.get("server") or "not known")
            case By.RECORDER:
                yield str(origin.get("recorded_with") or "not known")
            case By.SYNTHETIC:
                yield ", ".join(frame.marks(entry.content)).replace("_", " ") or "real answers"
            case _:
                assert_never(kind)


def _age(recorded_at: object, now: datetime) -> str:
    try:
        then = datetime.fromisoformat(str(recorded_at))
    except ValueError:
        return _UNDATED
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return next((name for name, days in _AGES if now - then < timedelta(days=days)), _OLDER)
