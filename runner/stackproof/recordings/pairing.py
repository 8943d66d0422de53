"""Which recording of one folder belongs to which of another, and how they differ; one pair at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackproof.recorder.miss import differences, form_of
from stackproof.recordings import corpus
from stackproof.recordings.comparing import Difference, Kind, compare
from stackproof.recordings.corpus import Entry
from stackproof.recordings.listing import Row, row
from stackproof.recordings.meaning import meaning
from stackproof.recordings.query import Query
from stackproof.recordings.wording import one_line, shortened

_GIST = 80  # characters
_COMPARED = 400  # pairs of requests that are compared to find the nearest


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """Files to be compared: names with slashes, below `root`, each ending with `.json`."""

    root: Path
    names: tuple[str, ...]

    def read(self, name: str) -> Entry:
        """The file of that name."""
        return corpus.read(self.root / name, self.root)

    def narrowed(self, query: Query) -> Side:
        """Only the files that the query asks for; a setup is the first folder of a name."""
        names = (n for n in self.names if not query.setups or n.partition("/")[0] in query.setups)
        if query.is_narrow:
            names = (name for name in names if query.matches(self.read(name)))
        return Side(root=self.root, names=tuple(names))


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """What became of one recording. `difference` is None where only one side has it, or one cannot be read.

    `gist`: what the answer of a recording says that only one side has, cut short.
    """

    kind: Kind
    before: Row | None = None
    after: Row | None = None
    difference: Difference | None = None
    gist: str = ""

    @property
    def shown(self) -> Row:
        """The side that stands for it: the newer one where there is one."""
        found = self.after or self.before
        if found is None:
            raise ValueError("a change has at least one side")
        return found


@dataclass(frozen=True, kw_only=True, slots=True)
class _Left:
    """What is remembered of a file that has no namesake."""

    name: str
    scope: str
    asked: str
    request: str
    fingerprint: str
    gist: str


def changes(old: Side, new: Side) -> Iterator[Change]:
    """Every recording of both sides: namesakes first, then those that were found under another name, then the rest.

    A file belongs to its namesake; else to one with the same request and answer (its test was renamed or moved); else
    to one of the same scope, method and path, with the same answer or the nearest request.
    """
    both = set(old.names) & set(new.names)
    for name in (name for name in old.names if name in both):
        yield _namesakes(old, new, name)
    olds, damaged_before = _left(old, both)
    news, damaged_after = _left(new, both)
    for before, after in _pairs(old, new, olds, news):
        yield _change(old.read(before.name), new.read(after.name), moved=before.name != after.name)
    yield from (Change(kind=Kind.REMOVED, before=row(old.read(item.name)), gist=item.gist) for item in olds)
    yield from (Change(kind=Kind.ADDED, after=row(new.read(item.name)), gist=item.gist) for item in news)
    yield from (Change(kind=Kind.DAMAGED, before=item) for item in damaged_before)
    yield from (Change(kind=Kind.DAMAGED, after=item) for item in damaged_after)


def _namesakes(old: Side, new: Side, name: str) -> Change:
    try:
        same = (old.root / name).read_bytes() == (new.root / name).read_bytes()
    except OSError:
        same = False
    if same:
        return Change(kind=Kind.EQUAL, after=Row(file=name, setup=name.partition("/")[0]))
    return _change(old.read(name), new.read(name), moved=False)


def _change(before: Entry, after: Entry, *, moved: bool) -> Change:
    old, new = row(before), row(after)
    if before.content is None or after.content is None:
        return Change(kind=Kind.DAMAGED, before=old, after=new)
    difference = compare(before.content, after.content)
    kind = difference.kind
    if moved and kind in (Kind.BYTES, Kind.EQUAL):
        kind = Kind.MOVED
    return Change(kind=kind, before=old, after=new, difference=difference)


def _left(side: Side, both: set[str]) -> tuple[list[_Left], list[Row]]:
    found, damaged = [], []
    for name in side.names:
        if name in both:
            continue
        entry = side.read(name)
        if entry.content is None:
            damaged.append(row(entry))
            continue
        request = name.rpartition("/")[2].partition("-")[2].removesuffix(".json")
        asked = f"{entry.method} {entry.endpoint}"
        said = meaning(entry.content)
        found.append(
            _Left(
                name=name,
                scope=entry.scope,
                asked=asked,
                request=request,
                fingerprint=said.fingerprint,
                gist=shortened(one_line(said.gist[:_GIST]), _GIST),
            )
        )
    return found, damaged


_KEYS: tuple[Callable[[_Left], Hashable], ...] = (
    # The folder moved; the test's file was renamed; the test was; the key of a test's call changed; all else of a test.
    lambda item: (item.name.rpartition("/")[2], item.fingerprint),
    lambda item: (item.request, item.fingerprint, item.scope.partition("::")[2]),
    lambda item: (item.request, item.fingerprint),
    lambda item: (item.scope, item.asked, item.fingerprint),
    lambda item: (item.scope, item.asked),
)


def _pairs(old: Side, new: Side, olds: list[_Left], news: list[_Left]) -> Iterator[tuple[_Left, _Left]]:
    """Pairs under each key in turn; what was paired is taken out of both lists."""
    for key in _KEYS:
        groups: dict[Hashable, list[_Left]] = defaultdict(list)
        for item in news:
            groups[key(item)].append(item)
        wanted: dict[Hashable, list[_Left]] = defaultdict(list)
        for item in olds:
            if key(item) in groups:
                wanted[key(item)].append(item)
        taken_old, taken_new = set[str](), set[str]()
        for name, befores in wanted.items():
            for before, after in _nearest(old, new, befores, groups[name]):
                taken_old.add(before.name)
                taken_new.add(after.name)
                yield before, after
        olds[:] = [item for item in olds if item.name not in taken_old]
        news[:] = [item for item in news if item.name not in taken_new]


def _nearest(old: Side, new: Side, olds: list[_Left], news: list[_Left]) -> Iterable[tuple[_Left, _Left]]:
    """Pairs of a group, those whose requests differ in the fewest places first."""
    if min(len(olds), len(news)) == 1 == max(len(olds), len(news)) or len(olds) * len(news) > _COMPARED:
        return list(zip(olds, news, strict=False))
    left, right = ([_form(side.read(item.name)) for item in items] for side, items in ((old, olds), (new, news)))
    ranked = sorted(
        (sum(1 for _ in differences(left[i], right[j])), i, j) for i in range(len(olds)) for j in range(len(news))
    )
    pairs, used_old, used_new = list[tuple[_Left, _Left]](), set[int](), set[int]()
    for _, i, j in ranked:
        if i not in used_old and j not in used_new:
            used_old.add(i)
            used_new.add(j)
            pairs.append((olds[i], news[j]))
    return pairs


def _form(entry: Entry) -> dict[str, Any]:
    return {} if entry.content is None else form_of(entry.content["request"])
