"""Events that are new or gone, and those that come in another order."""

from __future__ import annotations

from collections.abc import Iterator

from stackproof.drift import fields, nature
from stackproof.drift.accepted import KnownStream
from stackproof.drift.finding import Finding, Kind, Severity, example
from stackproof.drift.streamshape import FINISH, StreamShape

_RUNS = 8  # of a stream's order that are shown


def findings(known: KnownStream, stream: StreamShape, *, complete: bool) -> Iterator[Finding]:
    """How a stream differs from what is known; of an incomplete one nothing is missed that may have come later."""
    for kind in stream.shapes:
        if kind not in known.shapes and not _is_of_other_items(known, stream, kind):
            yield _new(known, stream, kind)
    if complete:
        yield from _gone(known, stream)
        # Its chunk is of the kind of all others, and null is what most of them say: as an event it is never missed.
        if known.closed >= known.streams > 0 and stream.open_choices:
            yield Finding(kind=Kind.GONE_EVENT, severity=Severity.BREAKING, where=FINISH)
    yield from _order(known, stream)
    for kind, shape in stream.shapes.items():
        if kind in known.shapes:
            whole = known.streams > 0
            yield from fields.findings(known.shapes[kind], shape, event=kind, complete=complete, known_whole=whole)


def _is_of_other_items(known: KnownStream, stream: StreamShape, kind: str) -> bool:
    """Whether a model says something in another way than before, with other events: that is told as a value."""
    abouts = [about for about, (_, some) in stream.kinds.items() if kind in some]
    return bool(abouts) and "" not in known.kinds and all(about and about not in known.kinds for about in abouts)


def _new(known: KnownStream, stream: StreamShape, kind: str) -> Finding:
    # Where every known stream was left early, nobody knows what would have come.
    mild = kind in nature.ENDS_AS_WELL.values() or not known.streams
    seen = next(iter(stream.shapes[kind].places.values()), None)
    return Finding(
        kind=Kind.NEW_EVENT,
        severity=Severity.NOTE if mild else Severity.ADDITIVE,
        where=kind,
        observed=None if seen is None else example(seen.example),
    )


def _gone(known: KnownStream, stream: StreamShape) -> Iterator[Finding]:
    missing: dict[str, None] = {}
    for kind, streams in known.plain.items():
        instead = nature.ENDS_AS_WELL.get(kind)
        if streams >= known.streams > 0 and kind not in stream.shapes and instead not in stream.shapes:
            missing[kind] = None
    for about, (every, _) in stream.kinds.items():
        missing |= dict.fromkeys(sorted(_owed(known, about) - every))
    for kind in missing:
        places = known.shapes[kind].places
        yield Finding(
            kind=Kind.GONE_EVENT,
            severity=Severity.BREAKING,
            where=kind,
            recorded=example(places[""].example) if "" in places else None,
            observed="absent in some items" if kind in stream.shapes else None,
        )


def _owed(known: KnownStream, about: str) -> set[str]:
    """The kinds of events that every item of this sort had; of one that does not say what it is, every item at all."""
    if about in known.kinds:
        return known.kinds[about][0]
    all_of_them = [every for every, _ in known.kinds.values()]
    return set.intersection(*all_of_them) if all_of_them and not about else set()


def _order(known: KnownStream, stream: StreamShape) -> Iterator[Finding]:
    """The nearest pair that changed places, once for a stream: one event that moved passes many others."""
    broken = []
    for (one, lane), (first_one, last_one) in stream.places.items():
        for (other, beside), (first_other, _) in stream.places.items():
            if lane != beside and lane is not None and beside is not None:
                continue
            if known.order.get((one, other)) and first_other < last_one:
                broken.append((last_one - first_other, first_one, one, other))
    if broken:
        _, _, one, other = min(broken)
        yield Finding(
            kind=Kind.EVENT_ORDER,
            severity=Severity.BREAKING,
            where=f"{one} before {other}",
            recorded=_around(known.runs, one, other),
            observed=_around(stream.order, one, other),
        )


def _around(runs: list[str], one: str, other: str) -> str:
    """The part of a stream in which these two kinds of events stand nearest to each other."""
    places = {name: [at for at, run in enumerate(runs) if run in (name, f"({name})+")] for name in (one, other)}
    near = min(((abs(i - j), i, j) for i in places[one] for j in places[other]), default=(0, 0, len(runs) - 1))
    first, last = sorted(near[1:])
    shown = runs[first : last + 1]
    if len(shown) > _RUNS:
        shown = [*shown[: _RUNS // 2], "…", *shown[-_RUNS // 2 :]]
    return " → ".join(shown)
