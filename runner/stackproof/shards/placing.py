"""Places items into parts: those with times longest first, those without into what is left, so that few of them move.

The first step is Graham's longest processing time rule: each item goes into the part with the least so far. Where all
have times, no part takes more than 4/3 - 1/(3 × parts) of what the best division would (Graham, "Bounds on
multiprocessing timing anomalies", 1969).

The second step first gives out places, one for each test without a time, each to the part with the least so far. Then
the items, in an order that a hash of their names makes, each take a place in the first part of a list of their own that
has one; the list comes from the hash too. So a test that is added pushes at most one test out of each part, and so does
the place that is added: at most two tests move for each part, in practice a few in all. A group of tests without times
goes in one piece and may take more places than its part has left; among such groups more may move.
"""

from __future__ import annotations

import hashlib
import heapq
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from stackproof.shards.free_places import Free
from stackproof.shards.weighing import Items


@dataclass(frozen=True, kw_only=True, slots=True)
class Placed:
    """parts: of each item, from 0. loads: of each part, in microseconds."""

    parts: array[int]
    loads: Sequence[int]


def place(items: Items, total: int) -> Placed:
    """Place every item into one of `total` parts."""
    parts, loads = array("I", bytes(4 * len(items.names))), [0] * total
    _longest_first(items, parts, loads)
    _fill(items, parts, loads)
    return Placed(parts=parts, loads=loads)


def _longest_first(items: Items, parts: array[int], loads: list[int]) -> None:
    total = len(loads)
    timed = [item for item, known in enumerate(items.known) if known]
    weights = list(map(items.weight, timed))
    # Of equals the one that comes first stays first, here too.
    turns = sorted(range(len(timed)), key=weights.__getitem__, reverse=True)
    heap = list(range(total))  # load × total + part: a number is compared faster than a pair
    for turn in turns:
        least = heap[0]
        parts[timed[turn]] = least % total
        heapq.heapreplace(heap, least + weights[turn] * total)
    for item in timed:
        loads[parts[item]] += items.times[item] + items.unknown[item] * items.unit


def _fill(items: Items, parts: array[int], loads: list[int]) -> None:
    guessed = [item for item, known in enumerate(items.known) if not known]
    places = _places(loads, sum(items.unknown[item] for item in guessed), items.unit)
    order, lists = array("Q"), array("Q")
    for item in guessed:
        digest = _digest(items, item)
        order.append(int.from_bytes(digest[:8], "big"))
        lists.append(int.from_bytes(digest[8:], "big"))
    sequence = sorted(range(len(guessed)), key=order.__getitem__)
    if items.groups:
        # Large ones first, by powers of two: a test that joins one seldom changes its turn.
        sequence.sort(key=lambda at: items.unknown[guessed[at]].bit_length(), reverse=True)
    free = Free(places)
    for at in sequence:
        item = guessed[at]
        count = items.unknown[item]
        part = parts[item] = free.take(lists[at], count)
        loads[part] += count * items.unit


def _places(loads: Sequence[int], count: int, unit: int) -> list[int]:
    """How many tests of `unit` each part gets when each of `count` goes to the part with the least so far."""
    total = len(loads)
    heap = [load * total + part for part, load in enumerate(loads)]
    heapq.heapify(heap)
    places = [0] * total
    for _ in range(count):
        least = heap[0]
        places[least % total] += 1
        heapq.heapreplace(heap, least + unit * total)
    return places


def _digest(items: Items, item: int) -> bytes:
    kind = b"group" if item < items.groups else b"test"
    return hashlib.blake2b(
        items.names[item].encode("utf-8", "surrogatepass"), digest_size=16, person=kind, usedforsecurity=False
    ).digest()
