"""What a comparison of a whole cell found, and its form in `drift.json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stackproof.drift.finding import Finding, Kind, Severity
from stackproof.drift.pairing import Call

SCHEMA = 1
KEPT = 200  # of each list; the counts are of all
_SEVERITIES, _KINDS = tuple(Severity), tuple(Kind)


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """A finding and where it was made: the call that was observed, and the recording that it was compared with.

    again: the command that records exactly this test anew.
    """

    finding: Finding
    recorded: Call
    observed: Call
    again: str

    @property
    def rank(self) -> tuple[object, ...]:
        """The worst first, then by kind and place, so that equal ones of several calls stand together."""
        found = self.finding
        order = (_SEVERITIES.index(found.severity), _KINDS.index(found.kind))
        return (*order, found.where, self.observed.scope, self.observed.file)


@dataclass(frozen=True, kw_only=True, slots=True)
class Alone:
    """A call without a partner, or all `calls` of a scope of which nothing is recorded."""

    call: Call
    why: str
    again: str
    calls: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """What one cell's calls came to. compared: how many answers had a recording. damaged: files that are none."""

    compared: int = 0
    differences: tuple[Difference, ...] = ()
    unrecorded: tuple[Alone, ...] = ()
    not_asked: tuple[Alone, ...] = ()
    refused: tuple[Call, ...] = ()
    damaged: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many differences of each severity."""
        found = Counter(each.finding.severity for each in self.differences)
        return {severity.value: found[severity] for severity in Severity}


def to_json(report: Report) -> dict[str, Any]:
    """What `drift.json` holds; of each list the first `KEPT`, in a stable order, and how many that leaves out."""
    lists: dict[str, list[dict[str, Any]]] = {
        "differences": [_difference(each) for each in sorted(report.differences, key=lambda each: each.rank)],
        "unrecorded": [_alone(each, "observed_file") for each in report.unrecorded],
        "not_asked": [_alone(each, "recording") for each in report.not_asked],
        "refused": [
            {**_who(call), "observed_file": call.file, "status": call.answer.status} for call in report.refused
        ],
        "damaged": [{"file": each} for each in report.damaged],
    }
    return {
        "schema": SCHEMA,
        "kind": "drift",
        "compared": report.compared,
        "counts": report.counts,
        "totals": {
            "unrecorded": sum(each.calls for each in report.unrecorded),
            "not_asked": sum(each.calls for each in report.not_asked),
            "refused": len(report.refused),
        },
        **{name: items[:KEPT] for name, items in lists.items()},
        "left_out": {name: max(0, len(items) - KEPT) for name, items in lists.items()},
    }


def _difference(each: Difference) -> dict[str, Any]:
    found = each.finding
    return {
        **_who(each.observed),
        "kind": found.kind.value,
        "severity": found.severity.value,
        "where": found.where,
        "recorded": found.recorded,
        "observed": found.observed,
        "recording": each.recorded.file,
        "observed_file": each.observed.file,
        "again": each.again,
    }


def _alone(each: Alone, key: str) -> dict[str, Any]:
    file = {} if each.calls > 1 else {key: each.call.file}
    return {**_who(each.call), "why": each.why, "calls": each.calls, **file, "again": each.again}


def _who(call: Call) -> Mapping[str, Any]:
    request = {"provider": call.provider, "method": call.method, "path": call.path, "model": call.model or None}
    return {"test_id": call.test_id or None, "scope": call.scope, "request": request}
