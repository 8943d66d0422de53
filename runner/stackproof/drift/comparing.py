"""An observed answer beside the recorded one that it belongs to, and beside what else is accepted."""

from __future__ import annotations

from collections.abc import Iterator

from stackproof.drift import fields, streams
from stackproof.drift.accepted import Accepted
from stackproof.drift.answer import Answer
from stackproof.drift.finding import Finding, Kind, Severity


def is_comparable(recorded: Answer, observed: Answer) -> bool:
    """Whether both are of one status and one form, so that their fields can be compared."""
    return recorded.status == observed.status and recorded.form == observed.form


def outside(recorded: Answer, observed: Answer) -> Iterator[Finding]:
    """What differs before the bodies are looked at: status, and how the body is cut."""
    if recorded.status != observed.status:
        yield Finding(
            kind=Kind.STATUS,
            severity=_of_status(recorded, observed),
            where="status",
            recorded=_told(recorded),
            observed=_told(observed),
        )
    elif recorded.form != observed.form:
        yield Finding(
            kind=Kind.CONTENT_TYPE,
            severity=Severity.BREAKING,
            where="content-type",
            recorded=f"{recorded.media or 'none'} ({recorded.form})",
            observed=f"{observed.media or 'none'} ({observed.form})",
        )


def inside(accepted: Accepted, observed: Answer, *, model: str) -> Iterator[Finding]:
    """How the answer differs from those that are accepted, all of its status and form. model: as the request has it."""
    if observed.media not in accepted.media:
        yield Finding(
            kind=Kind.CONTENT_TYPE,
            severity=Severity.ADDITIVE,
            where="content-type",
            recorded=", ".join(sorted(accepted.media)),
            observed=observed.media or "none",
        )
    if observed.model and accepted.models and observed.model not in accepted.models:
        yield Finding(
            kind=Kind.MODEL,
            severity=Severity.ADDITIVE,
            where=f"behind {model}" if model else "of the answer",
            recorded=", ".join(sorted(accepted.models)),
            observed=observed.model,
        )
    if observed.body is not None:
        yield from fields.findings(accepted.body, observed.body, complete=observed.complete)
    if observed.stream is not None:
        yield from streams.findings(accepted.stream, observed.stream, complete=observed.complete)


def _of_status(recorded: Answer, observed: Answer) -> Severity:
    if observed.is_refusal or recorded.is_refusal:
        return Severity.NOTE
    both_fine = all(answer.status is not None and 200 <= answer.status < 300 for answer in (recorded, observed))
    return Severity.ADDITIVE if both_fine else Severity.BREAKING


def _told(answer: Answer) -> str:
    return " ".join(filter(None, (str(answer.status or ""), answer.raised or answer.error)))[:160]
