"""Fields that are new, gone, or of another type, and values that were never seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from stackproof.drift import nature
from stackproof.drift.accepted import Known, KnownShape
from stackproof.drift.finding import Finding, Kind, Severity, example
from stackproof.drift.jsonshape import Place, Shape, Sort

_VARYING = nature.SAID | nature.PASSING


def findings(
    known: KnownShape, shape: Shape, *, event: str = "", complete: bool = True, known_whole: bool = True
) -> Iterator[Finding]:
    """How `shape` differs from what is known. event: the kind of event it is of.

    complete, known_whole: whether this answer, and one of the known ones, came to its end; else what came later, or
    would have, is unknown.
    """
    for finding in _findings(known, shape, event, complete):
        unknown = not known_whole and finding.severity is Severity.ADDITIVE
        yield replace(finding, severity=Severity.NOTE) if unknown else finding


def _findings(known: KnownShape, shape: Shape, event: str, complete: bool) -> Iterator[Finding]:
    for path, place in shape.places.items():
        before = known.places.get(path)
        if before is None:
            yield from _new(known, shape, path, place, event)
        else:
            yield from _types(known, before, path, place, event)
            yield from _values(before, path, place, event)
    if known.clipped or shape.clipped:
        return
    for path, before in known.places.items():
        if before.sort is not Sort.FIELD or not known.always(before):
            continue
        parent = shape.places.get(before.parent)
        if parent is None or not parent.objects or parent.is_map or known.places[before.parent].is_map:
            continue
        seen = shape.places[path].seen if path in shape.places else 0
        if not seen and (complete or known.everywhere(before)):
            yield _gone(shape, before, path, event, "")
        elif 0 < seen < parent.objects and _is_owed(known, before):
            missing = f"absent in {parent.objects - seen} of {parent.objects}"
            yield _gone(shape, before, path, event, missing)


def _is_owed(known: KnownShape, before: Known) -> bool:
    """Whether every object of its kind had it, and there were several in one answer."""
    return known.everywhere(before) and before.repeated and before.name not in _VARYING


def _new(known: KnownShape, shape: Shape, path: str, place: Place, event: str) -> Iterator[Finding]:
    parent = known.places.get(place.parent)
    if parent is None or place.sort is Sort.KIND or known.clipped or parent.is_map or shape.places[place.parent].is_map:
        return  # its parent is new already, or its object is of a kind that is told as a value
    if place.sort is Sort.ITEM:
        # Items where arrays were always empty: nothing was known of them.
        if path.endswith("[]") and parent.name not in _VARYING:
            yield _finding(Kind.NEW_FIELD, Severity.NOTE, event, path, place)
        return
    if known.parents.get(place.parent) and not _lost_its_kind(known, place.parent):
        severity = Severity.NOTE if place.name in _VARYING else Severity.ADDITIVE
        yield _finding(Kind.NEW_FIELD, severity, event, path, place)


def _lost_its_kind(known: KnownShape, path: str) -> bool:
    """Whether objects there always named their type: one that does not lacks that, and all else follows from it."""
    fields = {each.name for each in known.places.values() if each.parent == path and each.sort is Sort.FIELD}
    return fields == {"type"} and any(each.startswith(f"{path.removesuffix('[]')}[type=") for each in known.places)


def _gone(shape: Shape, before: Known, path: str, event: str, how: str) -> Finding:
    instead = nature.ways_beside(before.name)
    by_choice = any(
        place.parent == before.parent and place.filled and place.name in instead for place in shape.places.values()
    )
    mild = by_choice or before.name in nature.PASSING or before.types == {"null"}
    return Finding(
        kind=Kind.GONE_FIELD,
        severity=Severity.NOTE if mild else Severity.BREAKING,
        where=_where(event, path),
        recorded=example(before.example),
        observed=how or None,
    )


def _types(known: KnownShape, before: Known, path: str, place: Place, event: str) -> Iterator[Finding]:
    fresh = {kind for kind in place.types if not _is_known(kind, before.types)}
    if not fresh:
        return
    if before.name in _VARYING and (fresh == {"null"} or before.types == {"null"}):
        return
    if fresh == {"null"}:
        severity = Severity.BREAKING if known.everywhere(before) else Severity.NOTE
    elif before.types == {"null"}:
        severity = Severity.ADDITIVE
    else:
        severity = Severity.BREAKING
    yield Finding(
        kind=Kind.CHANGED_TYPE,
        severity=severity,
        where=_where(event, path),
        recorded=_typed(before.types, before.example),
        observed=_typed(fresh, place.example),
    )


def _is_known(kind: str, types: set[str]) -> bool:
    """An empty array says nothing of the length of a vector."""
    return kind in types or (kind == "array" and any(each.startswith("array of") for each in types)) or (
        types <= {"array", "null"} and "array" in types and kind.startswith("array of")
    )  # fmt: skip


def _values(before: Known, path: str, place: Place, event: str) -> Iterator[Finding]:
    fresh = place.values - before.values
    if fresh and before.values:
        yield Finding(
            kind=Kind.VALUE,
            severity=Severity.NOTE,
            where=_where(event, path),
            recorded=_listed(before.values),
            observed=_listed(fresh),
        )


def _finding(kind: Kind, severity: Severity, event: str, path: str, place: Place) -> Finding:
    return Finding(kind=kind, severity=severity, where=_where(event, path), observed=example(place.example))


def _where(event: str, path: str) -> str:
    if not event:
        return path or "the whole body"
    return f"{event}: {path}" if path else event


def _typed(types: set[str], value: object) -> str:
    kinds = " or ".join(sorted(types))
    return kinds if value is None or kinds == "null" else f"{kinds}: {example(value)}"


def _listed(values: set[str]) -> str:
    shown = sorted(values)
    return ", ".join(shown[:6]) + (f" and {len(shown) - 6} more" if len(shown) > 6 else "")
