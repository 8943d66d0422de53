"""Which tests stay in one shard, since they share something that is dear to set up, or depend on each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

XDIST = "xdist_group:"
FIXTURE = "fixture:"


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """A test. fixtures: name -> what tests that share one set-up of it have in common. marks: its xdist groups."""

    nodeid: str
    fixtures: Mapping[str, str]
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Groups:
    """names: test -> its group, for tests that have one. unmet: ways to keep tests together that met no test."""

    names: Mapping[str, str]
    unmet: tuple[str, ...] = ()


def form(members: Sequence[Member], together: Iterable[str]) -> Groups:
    """Tests with one thing in common are in one group, also by way of a third; a mark of xdist always counts.

    together: `module`, `file`, `class`, `fixture:NAME`.
    """
    ways = tuple(dict.fromkeys(together))
    joined = _Joined()
    met: set[str] = set()
    first: dict[str, str] = {}  # test -> one of its keys
    for member in members:
        keys = [f"{XDIST}{mark}" for mark in member.marks]
        for way in ways:
            if (key := _key(member, way)) is not None:
                met.add(way)
                keys.append(key)
        for key in keys:
            joined.join(keys[0], key)
        if keys:
            first[member.nodeid] = keys[0]
    # A group is named by the least of what its tests have in common, whichever tests there are.
    least: dict[str, str] = {}
    for key in tuple(joined.all()):
        root = joined.root(key)
        least[root] = min(key, least.get(root, key))
    return Groups(
        names={test: least[joined.root(key)] for test, key in first.items()},
        unmet=tuple(way for way in ways if way not in met),
    )


def _key(member: Member, way: str) -> str | None:
    path, _, inside = member.nodeid.partition("::")
    match way:
        case "module" | "file":
            return f"file:{path}"
        case "class":
            # What is in brackets may hold the same two colons.
            around, _, _ = inside.partition("[")[0].rpartition("::")
            return f"class:{path}::{around}" if around else None
        case _:
            shared = member.fixtures.get(way.removeprefix(FIXTURE))
            return None if shared is None else f"{FIXTURE}{shared}"


class _Joined:
    """Keys that belong together, by a tree for each set."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def all(self) -> Iterable[str]:
        return self._above

    def root(self, key: str) -> str:
        above = self._above.setdefault(key, key)
        while above != key:
            # Halve the way for the next one who asks.
            self._above[key] = self._above[above]
            key, above = above, self._above[above]
        return key

    def join(self, one: str, other: str) -> None:
        self._above[self.root(one)] = self.root(other)
