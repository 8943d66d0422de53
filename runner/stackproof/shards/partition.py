"""Who runs which test: all tests of a cell divided into parts. Pure: the same input gives the same parts everywhere.

Every shard collects all tests, divides the whole list with this function and keeps its own part. Nothing here depends
on the order of the tests, on the version of Python, or on the seed of its hashes; times are whole microseconds, since
sums of floats depend on the order in which they are added.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType

from stackproof.shards import placing, weighing
from stackproof.shards.records import MOST

_NO_GROUPS: Mapping[str, str] = MappingProxyType({})
_BATCH = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class Partition:
    """Which part each test is in.

    parts: 0-based, one for each of `tests` in their order. known: different tests with a usable time. estimated:
    seconds of each part. digest: SHA-256 in hex over the total and each different test's part, see `digest_of`.
    """

    tests: Sequence[str]
    total: int
    parts: array[int]
    known: int
    estimated: tuple[float, ...]
    digest: str

    def of(self, index: int) -> list[str]:
        """The tests of a part, counted from 1, in the order in which they were given; ValueError without it."""
        if not 1 <= index <= self.total:
            raise ValueError(f"part {index} of {self.total} does not exist")
        return [test for test, part in zip(self.tests, self.parts, strict=True) if part == index - 1]


def divide(
    tests: Sequence[str], total: int, *, seconds: Mapping[str, float], groups: Mapping[str, str] = _NO_GROUPS
) -> Partition:
    """Divide tests into `total` parts of about equal time.

    seconds: of earlier runs; a time that is missing, negative or not a number counts as unknown, and an unknown test
    as the median of the known ones (1 s where nothing is known). groups: test to name; what has the same name stays in
    one part. A test that is given twice goes to one part and counts once. ValueError unless total is from 1 to `MOST`.

    What has times is placed longest first, each into the part with the least so far; what has none fills up the
    rest (`placing`). So a test without a time that is added moves no test that has one, and few of the others.
    """
    if not 1 <= total <= MOST:
        raise ValueError(f"tests cannot be divided into {total} parts")
    names = sorted(set(tests))
    items = weighing.weigh(names, seconds, groups)
    placed = placing.place(items, total)
    part_of = dict(zip(names, map(placed.parts.__getitem__, items.of), strict=True))
    return Partition(
        tests=tests,
        total=total,
        parts=array("I", map(part_of.__getitem__, tests)),
        known=sum(items.known),
        estimated=tuple(load / weighing.SECOND for load in placed.loads),
        digest=digest_of(total, part_of.items()),
    )


def digest_of(total: int, placed: Iterable[tuple[str, int]]) -> str:
    """The digest of a partition: of the total, and of each different test's part in the order of their node ids.

    Each test is a line "<part> <number of bytes> <node id in UTF-8>", so that no two partitions read the same.
    """
    whole = hashlib.sha256(b"stackproof partition 1, parts: %d\n" % total)
    lines = (_line(name, part) for name, part in placed)
    while some := b"".join(islice(lines, _BATCH)):
        whole.update(some)
    return whole.hexdigest()


def _line(name: str, part: int) -> bytes:
    raw = name.encode("utf-8", "surrogatepass")
    return b"%d %d %b\n" % (part, len(raw), raw)
