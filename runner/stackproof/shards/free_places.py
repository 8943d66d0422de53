"""Parts that have places left, found by a number: the same number asks the parts in the same order, whoever was before.

A binary tree over the parts knows below which of its nodes there is a place. A number names a part that is asked first,
and by its further bits the branch that is tried first at each node: a list of all parts for each number, of which the
first with a place is found in as many steps as the tree is high.
"""

from __future__ import annotations

from collections.abc import Sequence


class Free:
    """How many places each part has left."""

    def __init__(self, places: Sequence[int]) -> None:
        self._left = list(places)
        self._leaves = 1 << (len(places) - 1).bit_length()
        # Node n has the children 2n and 2n + 1; 1 is the root, the parts are the last ones.
        self._any = bytearray(2 * self._leaves)
        for part, left in enumerate(places):
            self._any[self._leaves + part] = left > 0
        for node in range(self._leaves - 1, 0, -1):
            self._any[node] = self._any[2 * node] | self._any[2 * node + 1]

    def take(self, number: int, count: int) -> int:
        """The first part on the list of a number that has a place; it gets `count` fewer, even if it has not as many.

        There has to be one: the places of all parts are as many as are taken, and are taken until none is left.
        """
        rest, part = divmod(number, len(self._left))
        if self._left[part] <= 0:
            part = self._search(rest)
        self._left[part] -= count
        if self._left[part] <= 0:
            self._close(part)
        return part

    def _search(self, bits: int) -> int:
        node = 1
        while node < self._leaves:
            node = 2 * node + (bits & 1)
            if not self._any[node]:
                node ^= 1
            bits >>= 1
        return node - self._leaves

    def _close(self, part: int) -> None:
        node = self._leaves + part
        self._any[node] = False
        while node > 1 and not self._any[node] | self._any[node ^ 1]:
            node //= 2
            self._any[node] = False
