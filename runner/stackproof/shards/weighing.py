"""What is placed as one, and what it weighs: single tests, and groups of tests that stay together."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SECOND = 1_000_000  # all weights are whole microseconds
LONGEST = 1_000_000.0  # seconds, eleven days: a longer time is the work of a broken clock, and counts as this


@dataclass(frozen=True, kw_only=True, slots=True)
class Items:
    """Everything that is placed, groups before single tests, each by name.

    of: the item of each name, in the order of the names. names: what each item is called; the first `groups` of them
    are groups. times: the sum of its known times, 0 where none of its tests has one. known, unknown: how many tests of
    it have a time, and have none. unit: what a test without a time counts as.
    """

    of: array[int]
    names: Sequence[str]
    groups: int
    times: array[int]
    known: array[int]
    unknown: array[int]
    unit: int

    def weight(self, item: int) -> int:
        """What an item with known times is placed by.

        Where most of its tests are known, by those alone: a test without a time that joins it leaves it where it is.
        """
        guessed = self.unknown[item]
        return self.times[item] + (guessed * self.unit if guessed > self.known[item] else 0)


def weigh(names: Sequence[str], seconds: Mapping[str, float], groups: Mapping[str, str]) -> Items:
    """Items of different names that are in order. For what seconds and groups are, see `partition.divide`."""
    of, called, together = _numbered(names, groups)
    times = array("q", bytes(8 * len(called)))
    known, unknown = array("I", bytes(4 * len(called))), array("I", bytes(4 * len(called)))
    all_known = array("q")
    for name, item in zip(names, of, strict=True):
        given = seconds.get(name)
        if given is None or not 0 <= given < math.inf:  # NaN is not either
            unknown[item] += 1
        else:
            # At least 1, so that tests that take no time are spread too.
            time = round(min(given, LONGEST) * SECOND) or 1
            times[item] += time
            known[item] += 1
            all_known.append(time)
    return Items(
        of=of,
        names=called,
        groups=together,
        times=times,
        known=known,
        unknown=unknown,
        unit=_median(all_known),
    )


def _numbered(names: Sequence[str], groups: Mapping[str, str]) -> tuple[array[int], Sequence[str], int]:
    """The item of each name, what the items are called, and how many of them are groups."""
    if not groups:
        return array("I", range(len(names))), names, 0
    called = sorted({groups[name] for name in names if name in groups})
    number = {group: item for item, group in enumerate(called)}
    of = array("I")
    for name in names:
        if (group := groups.get(name)) is None:
            of.append(len(called))
            called.append(name)
        else:
            of.append(number[group])
    return of, called, len(number)


def _median(times: Sequence[int]) -> int:
    if not times:
        return SECOND
    ordered = sorted(times)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) // 2
