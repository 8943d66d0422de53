"""What a stack called while it was torn down: kept like its other recordings, and missed like them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stackproof.errors import ExitCode
from stackproof.evidence import jsonfile, testlog

MISSES = "misses.jsonl"


def see_to(cell_dir: Path, outcome: dict[str, Any], misses: int, *, called_out: bool) -> None:
    """Keep what the stack called while it was torn down, and add to the cell's outcome what it missed then.

    misses: how many the tests were told of. called_out: whether calls of this cell went to providers.
    """
    if called_out:
        keep(cell_dir, interrupted=outcome["exit_code"] not in (0, int(ExitCode.TESTS)))
    if outcome["exit_code"] == 0 and outcome["error"] is None:
        outcome["error"] = missed(cell_dir, misses)


def keep(cell_dir: Path, *, interrupted: bool) -> None:
    """Promote what was recorded, and tell the cell's log of tests how many calls and files it has come to."""
    settings, log = cell_dir / "recorder.json", testlog.read(cell_dir / "tests.jsonl")
    if not settings.is_file() or not any(entry.outcome.passed for entry in log.tests.values()):
        return
    # pytest comes with them, which a cell whose calls go out can wait for, and no other.
    from stackproof.plugin import keeping, tally  # noqa: PLC0415
    from stackproof.recorder.brain import Brain  # noqa: PLC0415
    from stackproof.recorder.settings import Settings  # noqa: PLC0415

    brain = Brain(Settings.from_json(settings.read_text(encoding="utf-8")), {})
    try:
        written, removed = keeping.promote_rest_of_stack(brain, interrupted=interrupted)
        calls = tally.seen(brain.ledger.read("calls")[0])
    finally:
        brain.ledger.close()
    if log.calls is not None:
        files = {
            "written": (log.calls.get("written") or 0) + written,
            "removed": (log.calls.get("removed") or 0) + removed,
        }
        event = {**log.calls, **files, **calls}
        if event == log.calls:
            return
        with (cell_dir / "tests.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")


def missed(cell_dir: Path, before: int) -> dict[str, Any] | None:
    """What the cell's outcome says where a miss came after the first `before` ones, which the tests were told of."""
    late = [miss for miss in jsonfile.lines(cell_dir / MISSES) if miss][before:]
    if not late:
        return None
    first, _, rest = str(late[0].get("message", "")).partition("\n")
    more = f", and {len(late) - 1} more" if len(late) > 1 else ""
    return {
        "kind": "late-miss",
        "message": f"the stack called a provider while it was torn down: {first}{more}",
        "hint": rest.strip(),
        "exit_code": int(ExitCode.RECORDINGS),
    }
