"""What is to be said of the shards of a cell: which are missing, and why the others do not make the whole."""

from __future__ import annotations

from collections.abc import Iterator

from stackproof.evidence.shards import MissingShard, Sharded
from stackproof.plaintext import counted
from stackproof.verdict.records import Finding, not_proven, remark

_NAMED = 50  # missing shards


def shard_findings(title: str, shards: Sharded) -> Iterator[Finding]:
    """The findings, the missing ones first. title: of the whole cell."""
    for each in shards.missing[:_NAMED]:
        yield not_proven(_missing(title, each))
    if (more := len(shards.missing) - _NAMED) > 0:
        yield not_proven(f"{counted(more, 'more shard')} of {title} are missing")
    yield from (not_proven(text) for text in shards.doubts)
    yield remark(f"put together from {counted(shards.delivered, 'shard')} of {shards.total}")
    yield from (remark(text) for text in shards.notes)


def _missing(title: str, shard: MissingShard) -> str:
    run = "runs" if len(shard.expected) > 1 else "run"
    expected = f": {run} {', '.join(shard.expected)} should have it" if shard.expected else ""
    return f"shard {shard.index}/{shard.total} of {title} is missing{expected}"
