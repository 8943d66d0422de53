"""`drift.json`: how the live answers of a cell differ in shape from its recordings. Read without trust."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackproof.evidence import jsonfile

SCHEMA = 1
NAME = "drift.json"
SEVERITIES = ("breaking", "additive", "note")


@dataclass(frozen=True, kw_only=True, slots=True)
class DriftEntry:
    """One difference. asked: method and path. recorded, observed: short examples, None where that side has nothing.

    again: the command that records exactly this test anew.
    """

    kind: str
    severity: str
    where: str
    test: str
    provider: str
    asked: str
    model: str
    recorded: str | None
    observed: str | None
    recording: str
    observed_file: str
    again: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LonelyEntry:
    """A call without a recording, a recording without a call, or a call that was refused. calls: how many there are.

    file: the recording, or what was observed; "" where `calls` are several.
    """

    test: str
    asked: str
    why: str
    file: str
    again: str
    calls: int = 1
    status: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class DriftFacts:
    """What a cell found. The counts are of all; of each list the file keeps the first few hundred.

    compared: answers that had a recording of the same test. unrecorded, not_asked, refused: how many calls, and
    `…_calls` the kept ones. left_out: differences that are counted and not kept. damaged: files that are no recordings.
    """

    compared: int
    breaking: int = 0
    additive: int = 0
    note: int = 0
    unrecorded: int = 0
    not_asked: int = 0
    refused: int = 0
    differences: tuple[DriftEntry, ...] = ()
    unrecorded_calls: tuple[LonelyEntry, ...] = ()
    not_asked_calls: tuple[LonelyEntry, ...] = ()
    refused_calls: tuple[LonelyEntry, ...] = ()
    damaged: tuple[str, ...] = ()
    left_out: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether the provider was asked for nothing, and no test that ran should have asked."""
        return not (self.compared or self.unrecorded or self.not_asked or self.refused or self.damaged)

    @property
    def drifted(self) -> bool:
        """Whether there is more than notes."""
        return bool(self.breaking or self.additive)


def read(path: Path) -> DriftFacts | None:
    """Read a `drift.json`; None when it is missing or is something else."""
    data = jsonfile.read(path)
    return None if data is None else of(data)


def of(data: Mapping[str, Any]) -> DriftFacts | None:
    """The facts in the content of a `drift.json`; None when it is something else."""
    compared = jsonfile.number(data, "compared")
    if data.get("schema") != SCHEMA or data.get("kind") != "drift" or compared is None:
        return None
    counts, totals = jsonfile.table(data, "counts"), jsonfile.table(data, "totals")
    lonely = {name: tuple(_lonely(data.get(name))) for name in ("unrecorded", "not_asked", "refused")}
    told = {name: jsonfile.number(totals, name) for name in lonely}
    return DriftFacts(
        compared=compared,
        **{severity: jsonfile.number(counts, severity) or 0 for severity in SEVERITIES},
        **{
            name: sum(entry.calls for entry in entries) if (total := told[name]) is None else total
            for name, entries in lonely.items()
        },
        differences=tuple(_differences(data.get("differences"))),
        unrecorded_calls=lonely["unrecorded"],
        not_asked_calls=lonely["not_asked"],
        refused_calls=lonely["refused"],
        damaged=tuple(_text(item, "file") for item in _objects(data.get("damaged"))),
        left_out=jsonfile.number(jsonfile.table(data, "left_out"), "differences") or 0,
    )


def _differences(items: object) -> Iterator[DriftEntry]:
    for item in _objects(items):
        severity = _text(item, "severity")
        if severity not in SEVERITIES:
            continue
        request = jsonfile.table(item, "request")
        yield DriftEntry(
            kind=_text(item, "kind"),
            severity=severity,
            where=_text(item, "where"),
            test=_test(item),
            provider=_text(request, "provider"),
            asked=_asked(request),
            model=_text(request, "model"),
            recorded=jsonfile.text(item, "recorded"),
            observed=jsonfile.text(item, "observed"),
            recording=_text(item, "recording"),
            observed_file=_text(item, "observed_file"),
            again=_text(item, "again"),
        )


def _lonely(items: object) -> Iterator[LonelyEntry]:
    for item in _objects(items):
        yield LonelyEntry(
            test=_test(item),
            asked=_asked(jsonfile.table(item, "request")),
            why=_text(item, "why"),
            file=_text(item, "recording") or _text(item, "observed_file"),
            again=_text(item, "again"),
            calls=jsonfile.number(item, "calls") or 1,
            status=jsonfile.number(item, "status"),
        )


def _objects(items: object) -> Iterator[dict[str, Any]]:
    yield from (item for item in (items if isinstance(items, list) else ()) if isinstance(item, dict))


def _test(item: Mapping[str, Any]) -> str:
    """The test, or the scope where a call belongs to none."""
    return _text(item, "test_id") or _text(item, "scope")


def _asked(request: Mapping[str, Any]) -> str:
    return f"{_text(request, 'method')} {_text(request, 'path')}".strip()


def _text(data: Mapping[str, Any], key: str) -> str:
    return jsonfile.text(data, key) or ""
