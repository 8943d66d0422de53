"""Many streams at once: none fails, memory stays, an event costs little more than at a bare server.

What it adds to the time of a first byte is measured, too, and says little on a machine that others use meanwhile.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_two_hundred_streams_at_once() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ci.edge_load", "--streams", "200", "--events", "100", "--rounds", "3"],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    facts = json.loads(done.stdout)
    assert facts["failed_streams"] == 0
    before, *after = facts["edge_memory_mb"]
    assert after[-1] - after[0] < 4, f"memory grows: {before}, {after}"
    assert facts["ratio"]["median"] < 5, facts  # of processor time
    assert all(value > 0 for value in facts["first_byte_best_quarter_ms"].values()), facts
