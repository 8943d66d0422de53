"""What answers may look like: the union of the shapes of several recorded ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from stackproof.drift.answer import Answer
from stackproof.drift.jsonshape import Shape, Sort
from stackproof.drift.streamshape import StreamShape


@dataclass(slots=True, kw_only=True)
class Known:
    """One path in the union. answers: how many had it at all; everywhere: how many had it wherever its parent was.

    repeated: an answer had it in several objects, so that "in every one of them" says something.
    """

    parent: str
    name: str
    sort: Sort
    answers: int = 0
    everywhere: int = 0
    repeated: bool = False
    types: set[str] = field(default_factory=set)
    values: set[str] = field(default_factory=set)
    filled: bool = False
    is_map: bool = False
    example: Any = None


@dataclass(slots=True, kw_only=True)
class KnownShape:
    """The union of shapes. parents: path → how many answers had an object there."""

    places: dict[str, Known] = field(default_factory=dict)
    parents: dict[str, int] = field(default_factory=dict)
    clipped: bool = False

    def add(self, shape: Shape) -> None:
        """Accept this one too."""
        self.clipped = self.clipped or shape.clipped
        for path, place in shape.places.items():
            if place.objects:
                self.parents[path] = self.parents.get(path, 0) + 1
            known = self.places.get(path)
            if known is None:
                known = Known(parent=place.parent, name=place.name, sort=place.sort)
                self.places[path] = known
            parent = shape.places.get(place.parent)
            known.answers += 1
            known.everywhere += parent is not None and place.seen >= parent.objects
            known.repeated = known.repeated or place.seen > 1
            known.types |= place.types
            known.values |= place.values
            known.is_map = known.is_map or place.is_map
            if place.filled and not known.filled:
                known.filled, known.example = True, place.example

    def always(self, known: Known) -> bool:
        """Whether every answer had it that could."""
        return known.answers >= self.parents.get(known.parent, 0) > 0

    def everywhere(self, known: Known) -> bool:
        """Whether it was in every object that it is a field of, in every answer."""
        return known.everywhere >= self.parents.get(known.parent, 0) > 0


@dataclass(slots=True, kw_only=True)
class KnownStream:
    """The union of streams. kinds: about → kinds of events in every such lane, and in any.

    order: pairs of which all of the first came before any of the second wherever both were; False where not always.
    closed: how many complete ones closed every choice with a reason.
    """

    streams: int = 0
    closed: int = 0
    shapes: dict[str, KnownShape] = field(default_factory=dict)
    plain: dict[str, int] = field(default_factory=dict)
    kinds: dict[str, tuple[set[str], set[str]]] = field(default_factory=dict)
    order: dict[tuple[str, str], bool] = field(default_factory=dict)
    runs: list[str] = field(
        default_factory=list
    )  # the order of the first complete stream, equal events in a row as one

    def add(self, stream: StreamShape, *, complete: bool) -> None:
        """Accept this one too; of an incomplete one not what it lacks."""
        for kind, shape in stream.shapes.items():
            self.shapes.setdefault(kind, KnownShape()).add(shape)
        for about, (every, some) in stream.kinds.items():
            known = self.kinds.setdefault(about, (set(every), set()))
            if complete:
                known[0].intersection_update(every)
            known[1].update(some)
        if complete:
            self.streams += 1
            self.closed += bool(stream.choices) and not stream.open_choices
            for kind in stream.plain:
                self.plain[kind] = self.plain.get(kind, 0) + 1
        for pair, holds in order_of(stream).items():
            self.order[pair] = holds and self.order.get(pair, True)
        self.runs = self.runs or stream.order


def order_of(stream: StreamShape) -> dict[tuple[str, str], bool]:
    """Pairs of kinds → whether all of the first came before any of the second, in each lane that has both."""
    found: dict[tuple[str, str], bool] = {}
    items = list(stream.places.items())
    for (one, lane), (_, last) in items:
        for (other, beside), (first, _) in items:
            if one != other and (lane == beside or lane is None or beside is None):
                found[one, other] = found.get((one, other), True) and last < first
    return found


@dataclass(slots=True, kw_only=True)
class Accepted:
    """The union of answers of one status and one form."""

    answers: int = 0
    models: set[str] = field(default_factory=set)
    media: set[str] = field(default_factory=set)
    body: KnownShape = field(default_factory=KnownShape)
    stream: KnownStream = field(default_factory=KnownStream)

    def add(self, answer: Answer) -> None:
        """Accept this one too."""
        self.answers += 1
        self.media.add(answer.media)
        if answer.model:
            self.models.add(answer.model)
        if answer.body is not None:
            self.body.add(answer.body)
        if answer.stream is not None:
            self.stream.add(answer.stream, complete=answer.complete)
