"""One part of a run that several machines share: `3/8`, the third of eight."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stackproof.errors import UsageError

MOST = 1_000_000
"""Shards of one run; an empty one costs memory, too, and nobody has as many machines."""

_TEXT = re.compile(r"([0-9]{1,9})/([0-9]{1,9})", re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Shard:
    """index: from 1 to `total`."""

    index: int
    total: int

    def __post_init__(self) -> None:
        if not 1 <= self.index <= self.total:
            raise ValueError(f"{self.index} is not one of {self.total} shards")

    def __str__(self) -> str:
        return f"{self.index}/{self.total}"

    @property
    def slug(self) -> str:
        """For names of folders: `3of8`."""
        return f"{self.index}of{self.total}"

    @classmethod
    def parse(cls, text: str, *, where: str) -> Shard:
        """Read `3/8`; UsageError begins with `where`."""
        found = _TEXT.fullmatch(text.strip())
        if found is None:
            raise UsageError(
                f"{where}: {text!r} is not I/N, a shard and how many there are", hint="for example --shard 3/8"
            )
        index, total = int(found[1]), int(found[2])
        if total < 1:
            raise UsageError(f"{where}: {text!r} has no shards at all", hint="for example --shard 1/3")
        require_some(total, where=where)
        if not 1 <= index <= total:
            raise UsageError(
                f"{where}: there is no shard {index} of {total}, they count from 1 to {total}",
                hint=f"for example --shard {min(max(index, 1), total)}/{total}",
            )
        return cls(index=index, total=total)


def require_some(total: int, *, where: str) -> None:
    """UsageError, which begins with `where`, for more shards than a run can have."""
    if total > MOST:
        raise UsageError(
            f"{where}: {total} shards are more than a run can have, which is {MOST}",
            hint="as many as there are machines are enough",
        )
