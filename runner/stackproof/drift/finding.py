"""What is found when answers are compared: kinds, how bad they are, and one difference."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from stackproof.plaintext import one_line, shortened

_SHOWN = 80


class Kind(StrEnum):
    """In which way an answer differs; `docs/drift.md` says of each how bad it is and why."""

    STATUS = "status"
    CONTENT_TYPE = "content-type"
    GONE_FIELD = "gone-field"
    CHANGED_TYPE = "changed-type"
    GONE_EVENT = "gone-event"
    EVENT_ORDER = "event-order"
    MODEL = "model"
    NEW_FIELD = "new-field"
    NEW_EVENT = "new-event"
    VALUE = "value"


class Severity(StrEnum):
    """breaking: a client written for the recordings may fail. additive: it need not, and there is something new.

    note: worth knowing, and nothing is wrong with it.
    """

    BREAKING = "breaking"
    ADDITIVE = "additive"
    NOTE = "note"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One difference between an answer and what was recorded. `where`: a path, behind the event's kind in a stream.

    recorded, observed: a short example of each; None where that side has nothing.
    """

    kind: Kind
    severity: Severity
    where: str
    recorded: str | None = None
    observed: str | None = None


def example(value: Any) -> str:
    """A JSON value as one short line of text."""
    if isinstance(value, str) and len(value) > _SHOWN:
        value = value[: _SHOWN * 2]  # not a megabyte, only to cut it
    elif isinstance(value, list) and len(value) > _SHOWN:
        value = value[:_SHOWN]
    text = json.dumps(value, ensure_ascii=False)
    return shortened(one_line(text), _SHOWN)
