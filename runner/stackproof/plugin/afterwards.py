"""Keeps what tests recorded once all of them are over, where nobody did so test by test."""

from __future__ import annotations

from collections.abc import Iterable

from stackproof.plugin.keeping import Kept, note_unanswered
from stackproof.recorder.brain import Brain
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope


def promote_tests(brain: Brain, kept: Kept, passed: Iterable[Scope]) -> None:
    """Move the recordings of tests that passed into place.

    What such a test did not ask for again goes, unless an answer was not worth keeping: an expired key must not cost
    good files.
    """
    unanswered: dict[tuple[str, int], set[str]] = {}
    note_unanswered(brain.ledger.read("calls")[0], unanswered)
    for owner in passed:
        written, removed = brain.store.promote(
            owner,
            replace=brain.settings.mode is Mode.RECORD,
            prune=not unanswered.get((owner.name, owner.attempt)),
        )
        kept.written += written
        kept.removed += removed
