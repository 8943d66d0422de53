"""Cuts what a lane has to do into pieces and packs them into jobs. Pure: the same loads give the same jobs everywhere.

Times are whole milliseconds: sums of floats differ between versions of Python, and all jobs have to come to one plan.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

# What the longest piece may take, in multiples of the lower bound: that a cell is cut finer costs its start once more.
_TARGETS = (1.0, 1.05, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0)
_TRIED = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Load:
    """A cell or a check, as far as it costs time. start: what each part of it takes beside its tests.

    tests: what all its tests take; longest: the least that they take in as many parts as you like. most: parts that it
    may be cut into, 1 for one that is not divided. parts: what the tests of each of so many parts take.
    """

    name: str
    start: int
    tests: int
    longest: int
    most: int
    parts: Callable[[int], Sequence[int]]

    @property
    def whole(self) -> int:
        """What it takes in one piece."""
        return self.start + self.tests


def undivided(name: str, *, start: int = 0, tests: int) -> Load:
    """A load that is one piece, whatever it takes."""
    return Load(name=name, start=start, tests=tests, longest=tests, most=1, parts=lambda _: (tests,))


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """Part `part` of `of` of a load; 1 of 1 is the whole. takes: with its start."""

    name: str
    part: int
    of: int
    takes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Packed:
    """jobs: the pieces of each, in the order of the loads; a job may be empty. bound: no way of packing takes less."""

    jobs: tuple[tuple[Piece, ...], ...]
    bound: int

    @property
    def makespan(self) -> int:
        """What the longest job takes."""
        return max(map(took, self.jobs), default=0)

    @property
    def total(self) -> int:
        """What all jobs take together."""
        return sum(map(took, self.jobs))


def took(pieces: Iterable[Piece]) -> int:
    """What these pieces take one after another."""
    return sum(piece.takes for piece in pieces)


def bound(loads: Sequence[Load], jobs: int) -> int:
    """What the longest of `jobs` takes at least: a fair share of all, or the load that cannot be made shorter."""
    if not loads:
        return 0
    fair = -(-sum(load.whole for load in loads) // jobs)
    # However it is cut, a job that runs anything has paid for one start.
    started = min(load.start for load in loads) - (-sum(load.tests for load in loads) // jobs)
    return max(fair, started, *(load.start + _shortest(load, jobs) for load in loads))


def pack(loads: Sequence[Load], jobs: int) -> Packed:
    """The plan with the least makespan of those that were tried, and of these the one with the fewest pieces.

    It is never worse than packing whole loads, which is one of them. Names of loads are distinct, jobs at least 1.
    """
    least = bound(loads, jobs)
    targets = [math.ceil(least * factor) for factor in _TARGETS]
    divisions = dict.fromkeys(tuple(_number(load, target, jobs) for load in loads) for target in targets)
    # To divide very many tests takes seconds: what looks best with parts as equal as can be is looked at closely.
    rough = [replace(load, parts=partial(_even, load)) for load in loads]
    likely = sorted(divisions, key=lambda numbers: _worth(_packed(rough, numbers, jobs, least)))[:_TRIED]
    # In whole loads first: where others take as long, they are not worth their pieces.
    tried = [_packed(loads, numbers, jobs, least) for numbers in dict.fromkeys([(1,) * len(loads), *likely])]
    return min(tried, key=_worth)


def _worth(packed: Packed) -> tuple[int, int, int]:
    """What is least for the best plan."""
    return packed.makespan, sum(map(len, packed.jobs)), packed.total


def _even(load: Load, parts: int) -> Sequence[int]:
    """What equal parts take, where one has the longest test."""
    most = max(load.longest, -(-load.tests // parts))
    return [most] + [-(-(load.tests - most) // (parts - 1))] * (parts - 1) if parts > 1 else [load.tests]


def _shortest(load: Load, jobs: int) -> int:
    return max(load.longest, -(-load.tests // min(load.most, jobs)))


def _number(load: Load, target: int, jobs: int) -> int:
    """In how many parts a load is cut so that none takes longer than `target`, as far as that can be had."""
    most = min(load.most, jobs)
    if load.whole <= target or most == 1:
        return 1
    room = target - load.start
    return most if room <= 0 else min(most, -(-load.tests // room))


def _packed(loads: Sequence[Load], numbers: Sequence[int], jobs: int, least: int) -> Packed:
    """The longest piece first, each to the job that has least; two parts of one load never to the same."""
    pieces = [
        Piece(name=load.name, part=part, of=number, takes=load.start + tests)
        for load, number in zip(loads, numbers, strict=True)
        for part, tests in enumerate(load.parts(number), 1)
    ]
    place = {load.name: index for index, load in enumerate(loads)}
    filled = [list[Piece]() for _ in range(jobs)]
    free = [(0, index) for index in range(jobs)]
    for piece in sorted(pieces, key=lambda each: (-each.takes, place[each.name], each.part)):
        beside = []
        while any(piece.name == own.name for own in filled[free[0][1]]):
            beside.append(heapq.heappop(free))
        taken, chosen = free[0]
        filled[chosen].append(piece)
        heapq.heapreplace(free, (taken + piece.takes, chosen))
        for each in beside:
            heapq.heappush(free, each)
    return Packed(
        jobs=tuple(tuple(sorted(own, key=lambda each: place[each.name])) for own in filled),
        bound=least,
    )
