"""Put in place what a run recorded and could not: it was killed before its session ended.

A test's recordings are moved when it passes. What waits for the end of the session are those of wider fixtures, of the
stack, and model lists; and where the process died between a test's pass and the move, those of that test.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stackproof.errors import UsageError
from stackproof.evidence import testlog
from stackproof.plugin import afterwards, keeping
from stackproof.recorder.brain import Brain
from stackproof.recorder.scope import Scope
from stackproof.recorder.settings import Settings

SETTINGS = "recorder.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Promoted:
    """What became of one cell: files written, removed, and left because their tests did not pass."""

    cell: str
    written: int
    removed: int
    left: int


def promote(run_dir: Path) -> tuple[Promoted, ...]:
    """Promote every cell of a run that recorded. UsageError when there is none."""
    found = [cell for cell in sorted(run_dir.glob("cells/*")) if (cell / SETTINGS).is_file()]
    recorded = [(cell, settings) for cell in found if (settings := _settings(cell)).mode.records]
    if not recorded:
        raise UsageError(
            f"run {run_dir} recorded nothing", hint="name a run that was started with --inference-mode record"
        )
    return tuple(_promote(cell, settings) for cell, settings in recorded)


def _settings(cell: Path) -> Settings:
    try:
        return Settings.from_json((cell / SETTINGS).read_text(encoding="utf-8"))
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(
            f"{cell / SETTINGS} cannot be read: {error}", hint="name another run, or record again"
        ) from error


def _promote(cell: Path, settings: Settings) -> Promoted:
    brain = Brain(settings, {})
    kept = keeping.Kept()
    log = testlog.read(cell / "tests.jsonl")
    passed = [entry for entry in log.tests.values() if entry.outcome.passed]
    try:
        kept.written, kept.removed = brain.store.finish_promotions()
        owners = [Scope(name=entry.nodeid, test_id=entry.nodeid, attempt=entry.attempts) for entry in passed]
        left_over = [owner for owner in owners if brain.store.staged(owner) and not brain.store.was_promoted(owner)]
        afterwards.promote_tests(brain, kept, left_over)
        # Nothing is removed: what the session would still have asked for is not known.
        keeping.promote_shared(brain, kept, any_passed=bool(passed), interrupted=True)
    finally:
        brain.ledger.close()
    left = sum(1 for path in (cell / "staged").rglob("*.json"))
    return Promoted(cell=cell.name, written=kept.written, removed=kept.removed, left=left)
