"""Looks at the recordings that a release rests on: whole, without secrets, as they would be written now, how old."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from stackproof.evidence import recordings
from stackproof.evidence.recordings import Looked, RecordingFacts
from stackproof.recorder.recording import Recording
from stackproof.recordings.ageing import Age, Undated, age
from stackproof.recordings.corpus import Entry
from stackproof.recordings.rewriting import rewrite
from stackproof.verdict.policy import RecordingsPolicy


def check(
    root: Path, setups: Iterable[str], *, asked: RecordingsPolicy, values: Mapping[str, str], now: datetime
) -> RecordingFacts:
    """What the policy asks of the recordings of `setups` below `root`. values: secrets by the name of their variable.

    Writing each as it would be written now takes time where there are many, and is done only if the policy asks.
    """
    if asked.unnormalised is None and asked.max_age_days is None:
        return recordings.inspect(root, setups, values=values)

    def look(path: Path, content: Recording) -> Looked:
        name = path.relative_to(root).as_posix()
        entry = Entry(path=path, name=name, setup=name.partition("/")[0], content=content)
        rules = tuple(dict.fromkeys(change.rule for change in rewrite(entry, dry_run=True)))
        match age(content, now):
            case Age(recorded_at=at):
                return Looked(rules=rules, day=at.astimezone(UTC).date().isoformat())
            case Undated.SYNTHETIC:
                return Looked(rules=rules, ages=False)
            case Undated.NO_DATE:
                return Looked(rules=rules)

    return recordings.inspect(root, setups, values=values, look=look)
