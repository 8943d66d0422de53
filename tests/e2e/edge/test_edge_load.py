"""Many streams at once: none fails, memory stays, an event costs little more than at a bare server."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ci.edge_load import __main__ as load


def test_two_hundred_streams_at_once(tmp_path: Path) -> None:
    facts = asyncio.run(load.measure(tmp_path, streams=200, events=100, rounds=3))
    assert facts["failed_streams"] == 0
    before, *after = facts["edge_memory_mb"]
    assert after[-1] - after[0] < 4, f"memory grows: {before}, {after}"
    assert facts["ratio"]["median"] < 5, facts
    # Of a busy machine the better calls say what the edge itself adds.
    first = facts["first_byte_best_quarter_ms"]
    assert first["edge"] - first["direct"] <= 20, facts
