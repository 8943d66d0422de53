"""A difference as lines for a person and as facts for a program; what many changes add up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from stackproof.recorder.miss import ABSENT
from stackproof.recordings.comparing import Difference, Field, Kind
from stackproof.recordings.listing import Row
from stackproof.recordings.pairing import Change
from stackproof.recordings.textdiff import LINES, text_diff
from stackproof.recordings.wording import one_line, value

_FIELDS = 12  # places of one kind that are shown
_LONG = 60  # characters past which a text is shown as a text diff


def difference_lines(difference: Difference, *, limit: int = LINES) -> Iterator[str]:
    """What differs, under headings; lines begin with `-` and `+` as in a diff. `limit`: lines of one text."""
    for heading, fields in (("moved", difference.place), ("request", difference.request)):
        yield from _fields(heading, fields, limit)
    if difference.has_other_ids:
        yield "request: only ids that earlier answers gave"
    yield from _fields("answer", (*difference.texts, *difference.answer), limit)
    yield from _fields("other fields of the answer", difference.rest, limit)
    yield from _fields("provenance", difference.provenance, limit)


def _fields(heading: str, fields: tuple[Field, ...], limit: int) -> Iterator[str]:
    if not fields:
        return
    yield heading
    for item in fields[:_FIELDS]:
        old, new = item.before, item.after
        if isinstance(old, str) and isinstance(new, str) and (_is_long(old) or _is_long(new)):
            yield f"  {one_line(item.path)}"
            yield from (f"{line[:1]}   {line[1:]}" for line in text_diff(old, new, limit=limit))
            continue
        yield from (
            f"{mark} {one_line(item.path)}  {value(side)}"
            for mark, side in (("-", old), ("+", new))
            if side is not ABSENT and side not in ("", None)
        )
    if len(fields) > _FIELDS:
        yield f"  … and {len(fields) - _FIELDS} more places"


def _is_long(text: str) -> bool:
    return len(text) > _LONG or "\n" in text


def equal_in_meaning(difference: Difference) -> str:
    """The sentence for two recordings that say the same."""
    return f"equal in meaning; bytes differ in: {', '.join(difference.other)}"


def change_facts(change: Change) -> dict[str, Any]:
    """A change as JSON data."""
    difference = change.difference
    return {
        "kind": change.kind.name.lower(),
        "before": None if change.before is None else change.before.file,
        "after": None if change.after is None else change.after.file,
        "scope": change.shown.scope or None,
        "asked": f"{change.shown.method} {change.shown.endpoint}".strip() or None,
        "model": change.shown.model or None,
        "damage": change.shown.damage,
        "gist": change.gist or None,
        "differs": None if difference is None else difference_facts(difference),
    }


def difference_facts(difference: Difference) -> dict[str, Any]:
    """A difference as JSON data: lists of {path, before, after}; a side that has nothing is left out."""
    groups = ("request", "texts", "answer", "rest", "place", "provenance")
    return {
        **{group: [_field_facts(item) for item in getattr(difference, group)] for group in groups},
        "only_ids_of_request": difference.has_other_ids,
        "other": list(difference.other),
    }


def _field_facts(item: Field) -> dict[str, Any]:
    sides = {"before": item.before, "after": item.after}
    return {"path": item.path, **{name: side for name, side in sides.items() if side is not ABSENT}}


@dataclass(slots=True, kw_only=True)
class Summary:
    """What the changes add up to, and the first `limit` of those that are shown."""

    limit: int
    counts: Counter[Kind] = field(default_factory=Counter)
    shown: list[Change] = field(default_factory=list)
    left_out: int = 0
    servers: Counter[tuple[str, str]] = field(default_factory=Counter)
    now_synthetic: int = 0
    no_longer_synthetic: int = 0
    models: dict[str, set[str]] = field(default_factory=lambda: {"before": set(), "after": set()})
    providers: dict[str, set[str]] = field(default_factory=lambda: {"before": set(), "after": set()})

    @property
    def in_meaning(self) -> int:
        """How many changed in meaning, new and removed ones included."""
        return sum(number for kind, number in self.counts.items() if kind.is_change)

    def take(self, changes: Iterable[Change]) -> None:
        """Count these, and keep those that a person wants to see: drift first, as far as there is room."""
        order = list(Kind)
        kept: dict[Kind, list[Change]] = {kind: [] for kind in order}
        for change in changes:
            self._count(change)
            if change.kind not in (Kind.EQUAL, Kind.BYTES) and len(kept[change.kind]) < self.limit:
                kept[change.kind].append(change)
        ranked = [change for kind in order for change in kept[kind]]
        self.shown = ranked[: self.limit]
        self.left_out = sum(n for kind, n in self.counts.items() if kind not in (Kind.EQUAL, Kind.BYTES)) - len(
            self.shown
        )

    def _count(self, change: Change) -> None:
        self.counts[change.kind] += 1
        for side, found in (("before", change.before), ("after", change.after)):
            if found is not None:
                self.models[side].add(found.model)
                self.providers[side].add(found.provider)
        was, now = _is_synthetic(change.before), _is_synthetic(change.after)
        self.now_synthetic += now and not was
        self.no_longer_synthetic += was and not now and change.after is not None
        for item in change.difference.provenance if change.difference else ():
            if item.path == "server":
                self.servers[str(item.before), str(item.after)] += 1

    def new_names(self, which: dict[str, set[str]]) -> list[str]:
        """Names that stand on the new side of the changes only."""
        return sorted(which["after"] - which["before"] - {""})


def _is_synthetic(found: Row | None) -> bool:
    return found is not None and found.synthetic
