"""The versions of the format: the header that says which one a file has, and the steps from each to the next.

Version 0 had no header; a line was `{"fingerprint", "events"}`, and `completed` might be a bare type. Version 1 begins
with a header line, keeps the compared request beside its fingerprint, and marks what is partial.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stackproof.trace.events import Completed, JsonObject
from stackproof.trace.exchange import LineError, Why, to_line

CURRENT = 1
FORMAT = "stackproof-trace"
HEADER: Mapping[str, Any] = {"format": FORMAT, "version": CURRENT}
HEADER_LINE = to_line(dict(HEADER))


@dataclass(frozen=True, kw_only=True, slots=True)
class Migration:
    """One step: what it makes of a line of version `source`, in version `source` + 1. `says`: what it does, in words.

    line: gets an object of its own and returns one; LineError where the line is not of its version.
    """

    source: int
    says: str
    line: Callable[[JsonObject], JsonObject]


def version_of(first: JsonObject) -> int | None:
    """The version of a file whose first line is this object; None when that is no trace at all."""
    if first.get("format") == FORMAT:
        version = first.get("version")
        return version if type(version) is int and version > 0 and first.keys() == HEADER.keys() else None
    return 0 if "format" not in first and {"fingerprint", "events"} <= first.keys() else None


def steps_from(version: int, migrations: Mapping[int, Migration] | None = None, to: int = CURRENT) -> list[Migration]:
    """The steps from a version to the current one, in their order; none where it is current. KeyError for a gap."""
    known = MIGRATIONS if migrations is None else migrations
    return [known[source] for source in range(version, to)]


def upgraded(line: JsonObject, steps: list[Migration]) -> JsonObject:
    """A line as the last of the steps leaves it."""
    for step in steps:
        line = step.line(line)
    return line


def _from_0(line: JsonObject) -> JsonObject:
    if more := line.keys() - {"fingerprint", "events"}:
        raise LineError(f"has {', '.join(sorted(more))}, which version 0 did not have")
    events = line.get("events")
    if not isinstance(events, list):
        return {**line, "request": None}
    filled = [_completed(event) for event in events]
    made = {"fingerprint": line.get("fingerprint"), "request": None, "events": filled}
    # A line was written whenever the stream ended without an error, completed or not.
    if not filled or not isinstance(filled[-1], dict) or filled[-1].get("type") != Completed.type:
        made["partial"] = {"why": Why.UNFINISHED.value, "error": ""}
    return made


def _completed(event: Any) -> Any:
    if isinstance(event, dict) and event.get("type") == Completed.type:
        return {"response_id": None, "usage": None, **event}
    return event


MIGRATIONS: Mapping[int, Migration] = {
    one.source: one
    for one in (
        Migration(
            source=0,
            says="adds the header, room for the request, and the mark of what did not end with `completed`",
            line=_from_0,
        ),
    )
}
