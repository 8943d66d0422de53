"""What a policy may ask of the recordings themselves: that they are written as they would be now, and not too old."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from stackproof.errors import ExitCode
from stackproof.evidence.recordings import RecordingFacts
from stackproof.verdict.records import Finding, failed, not_proven, remark


def unnormalised(limit: int | None, facts: RecordingFacts) -> Iterator[Finding]:
    """Recordings from before a rule was added or changed; `limit` of them may be, None does not ask."""
    if limit is None:
        return
    if facts.unnormalised is None:
        yield not_proven("whether the recordings are as they would be written now was not looked at")
    elif len(facts.unnormalised) > limit:
        for text in facts.unnormalised:
            yield failed(f"unnormalised, by stackproof recordings normalize: {text}", exit_code=ExitCode.RECORDINGS)


def stale(limit: int | None, facts: RecordingFacts, today: date) -> Iterator[Finding]:
    """Recordings older than `limit` days, as they say themselves, on the day on which the verdict is given."""
    if limit is None:
        return
    if facts.days is None:
        yield not_proven("how old the recordings are was not looked at")
        return
    last = (today - timedelta(days=limit)).isoformat()
    old = [each for each in facts.days if each.day < last]
    if old:
        number = sum(each.files for each in old)
        first = f"the oldest is of {old[0].day}: {old[0].first}"
        text = f"{number} {'is' if number == 1 else 'are'} older than {limit} days, made before {last}; {first}"
        yield failed(text, exit_code=ExitCode.RECORDINGS)
    if facts.undated:
        yield remark(f"{facts.undated} do not say when they were made, and have no age")
