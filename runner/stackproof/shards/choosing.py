"""Whose a cell is that cannot be divided."""

from __future__ import annotations

import hashlib

from stackproof.shards.records import Shard


def owner(whole_id: str, total: int) -> Shard:
    """The shard that has all of a cell: by the cell's id alone, so that every machine says the same."""
    digest = hashlib.sha256(whole_id.encode()).digest()
    return Shard(index=int.from_bytes(digest[:8]) % total + 1, total=total)
