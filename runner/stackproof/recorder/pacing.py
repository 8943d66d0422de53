"""When and in which pieces a recorded answer reaches its reader: at once or as it came, whole or cut to try parsers.

Neither changes a byte of it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

EVERY_BYTE = "bytes"
_LONGEST_PIECE = 16
_NAP = 0.05


def waits_of(response: dict[str, Any], pace: float) -> Iterable[float]:
    """Seconds to wait before each chunk. `pace` 0: none; 1: as recorded; 0.5: half of it; 2: twice."""
    return (wait * pace / 1000 for wait in response.get("waits", ())) if pace else ()


def naps(seconds: float, over: Callable[[], bool] | None) -> Iterator[float]:
    """What to sleep, one after the other, for a wait of `seconds`; less once `over` says that nobody waits any more."""
    if over is None:
        yield seconds
        return
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0 and not over():
        yield min(left, _NAP)


def recut(chunks: Iterable[bytes], fuzz: str | None, key: str) -> Iterable[bytes]:
    """The chunks, cut anew. `fuzz` "bytes": between every two bytes; a number: at places that follow from it.

    `key` tells one answer from another, so that two answers under one number are not cut alike.
    """
    return chunks if fuzz is None else _recut(chunks, _sizes(fuzz, key))


def _recut(chunks: Iterable[bytes], sizes: Iterator[int]) -> Iterator[bytes]:
    for chunk in chunks:
        start = 0
        while start < len(chunk):
            size = next(sizes)
            yield chunk[start : start + size]
            start += size


def _sizes(fuzz: str, key: str) -> Iterator[int]:
    # Seeded, and for tests: nothing here has to be hard to guess.
    dice = random.Random(f"{fuzz}:{key}")  # noqa: S311
    while True:
        yield 1 if fuzz == EVERY_BYTE else dice.randint(1, _LONGEST_PIECE)
