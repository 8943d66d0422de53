"""Looks at the recordings that a release rests on: whole, of use, without secrets, as written now, how old."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stackproof.evidence import recordings
from stackproof.evidence.recordings import Looked, RecordingFacts
from stackproof.recorder.recording import Recording
from stackproof.recordings.ageing import Age, Undated, age
from stackproof.recordings.corpus import Entry
from stackproof.recordings.placing import misplaced
from stackproof.recordings.rewriting import rewrite
from stackproof.verdict.policy import RecordingsPolicy


def check(
    root: Path,
    setups: Iterable[str],
    *,
    integration_root: str,
    asked: RecordingsPolicy,
    values: Mapping[str, str],
    now: datetime,
) -> RecordingFacts:
    """What the policy asks of the recordings of `setups` below `root`. values: secrets by the name of their variable.

    One whose name is not that of its request answers nobody: it was edited, and counts as damaged. Writing each as it
    would be written now takes time where there are many, and is done only if the policy asks.
    """
    form = asked.unnormalised is not None or asked.max_age_days is not None

    def look(path: Path, content: Recording) -> Looked:
        name = path.relative_to(root).as_posix()
        entry = Entry(path=path, name=name, setup=name.partition("/")[0], content=content)
        wrong = misplaced(entry, integration_root)
        plain = Looked(damage=None if wrong is None else wrong.what)
        return replace(plain, **_form(entry, content, now)) if form else plain

    return recordings.inspect(root, setups, values=values, look=look, form=form)


def _form(entry: Entry, content: Recording, now: datetime) -> dict[str, Any]:
    rules = tuple(dict.fromkeys(change.rule for change in rewrite(entry, dry_run=True)))
    match age(content, now):
        case Age(recorded_at=at):
            return {"rules": rules, "day": at.astimezone(UTC).date().isoformat()}
        case Undated.SYNTHETIC:
            return {"rules": rules, "ages": False}
        case Undated.NO_DATE:
            return {"rules": rules}
