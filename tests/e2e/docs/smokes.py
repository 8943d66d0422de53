"""Leaves what live smokes leave, as pages show it: `python smokes.py SETUP:OUTCOME:DAYS:MODEL …`, where a project is.

That it is read as a smoke of `stackproof smoke` would be is for the tests of that command to say.
"""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

_REASONS = {
    "blocked": "anthropic has no credit left for ANTHROPIC_API_KEY (400: Your credit balance is too low)",
    "passed": None,
}
_HOSTS = {"gpt": "api.openai.com", "anthropic": "api.anthropic.com"}
_COMMIT = "4c1d9e2" + 33 * "0"
_NEAR = 120.0  # seconds, in which a page's commands after this have ended on any machine


def leave(setup: str, outcome: str, days: int, model: str) -> None:
    """One of them, that ended so many days ago. Its answers had a field that their recordings lack."""
    stopped = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")
    facts = {
        "schema": 1, "kind": "live", "run_id": "4c1d9e", "commit": _COMMIT, "dirty": False,
        "started": stopped, "stopped": stopped, "outcome": outcome, "budget": {"ended_by": None},
        "models": [{
            "model": model, "setup": setup, "outcome": outcome, "reason": _REASONS[outcome], "tests": {"passed": 9},
            "requests": 9, "retries": 0, "tokens": {"input": 546, "output": 202},
            "drift": {"breaking": 0, "additive": 1, "note": 0, "unrecorded": 0},
            "called": [_HOSTS[setup]], "own_address": True,
        }],
    }  # fmt: skip
    path = Path(f".stackproof/live/{setup}.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(facts), encoding="utf-8")


def wait_for_a_day_that_lasts() -> None:
    """Days are counted in UTC: where midnight is near, let it pass, so that yesterday stays yesterday."""
    now = datetime.now(UTC)
    left = (now.replace(hour=23, minute=59, second=59) - now).total_seconds()
    if left < _NEAR:
        time.sleep(left + 2)


wait_for_a_day_that_lasts()
for word in sys.argv[1:]:
    of, ended, ago, asked = word.split(":")
    leave(of, ended, int(ago), asked)
