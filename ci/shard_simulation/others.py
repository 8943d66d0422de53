"""Other ways of dividing tests, in a few lines each, to compare with.

What is compared is what each way is known to do, from its documentation: pytest-split's `duration_based_chunks` (its
default) fills one group after the other, in the order of collection, until each has the average of all groups;
`least_duration` is longest first; both take the average for a test without a time. pytest-shard takes a
hash of the node id. Dealing out tests in turn, by name, is what CI systems do without times.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256

import numpy as np
from ci.shard_simulation import durations

from stackproof.shards.partition import divide

Divided = np.ndarray
Way = Callable[[Sequence[str], int, Mapping[str, float]], Divided]


def ours(tests: Sequence[str], parts: int, known: Mapping[str, float]) -> Divided:
    """`shards.partition`."""
    return np.array(divide(tests, parts, seconds=known).parts)


def ours_by_file(tests: Sequence[str], parts: int, known: Mapping[str, float]) -> Divided:
    """The same, with the tests of a file in one part."""
    return np.array(divide(tests, parts, seconds=known, groups=durations.files(list(tests))).parts)


def longest_first(tests: Sequence[str], parts: int, known: Mapping[str, float]) -> Divided:
    """Longest first, the unknown ones at the average."""
    seconds = _averaged(tests, known)
    heap = [(0.0, part) for part in range(parts)]
    found = np.zeros(len(tests), dtype=int)
    for test in np.lexsort((np.array(tests), -seconds)).tolist():
        load, part = heap[0]
        found[test] = part
        heapq.heapreplace(heap, (load + seconds[test], part))
    return found


def chunks(tests: Sequence[str], parts: int, known: Mapping[str, float]) -> Divided:
    """One part after the other, each until it has the average."""
    seconds = _averaged(tests, known)
    enough = seconds.sum() / parts
    found, part, load = np.zeros(len(tests), dtype=int), 0, 0.0
    for test, value in enumerate(seconds.tolist()):
        if load >= enough and part < parts - 1:
            part, load = part + 1, 0.0
        found[test] = part
        load += value
    return found


def in_turn(tests: Sequence[str], parts: int, _: Mapping[str, float]) -> Divided:
    """The first test to the first part, the second to the second."""
    return np.arange(len(tests)) % parts


def by_hash(tests: Sequence[str], parts: int, _: Mapping[str, float]) -> Divided:
    """By a hash of the node id."""
    return np.array([int.from_bytes(sha256(test.encode()).digest()[:8]) % parts for test in tests])


WAYS: dict[str, Way] = {
    "ours": ours,
    "ours, the tests of a file together": ours_by_file,
    "longest first, unknown ones at the average": longest_first,
    "consecutive tests, each part up to the average": chunks,
    "in turn": in_turn,
    "by a hash of the name": by_hash,
}


def _averaged(tests: Sequence[str], known: Mapping[str, float]) -> durations.Seconds:
    average = sum(known.values()) / len(known) if known else 1.0
    return np.array([known.get(test, average) for test in tests])
