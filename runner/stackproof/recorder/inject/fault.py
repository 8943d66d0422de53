"""One planned fault, as every process of a run is told of it: data that travels as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self

from ..identity import Form, model_of

INJECTED = "injected"
"""The `kind` of a line in the calls' journal: a fault happened to a call. `fault` is its spec, `planned` its key."""


class Act(StrEnum):
    """What happens to a call. The names are those of the grammar, and a plan holds them."""

    CUT = "cut"
    DAMAGE = "damage"
    ERROR_EVENT = "error-event"
    STATUS = "status"
    REFUSED = "refused"
    SLOW_FIRST_BYTE = "slow-first-byte"
    STALL = "stall"
    CONTENT_TYPE = "content-type"
    TRUNCATE = "truncate"

    @property
    def replaces(self) -> bool:
        """Whether the caller gets nothing of the recorded answer."""
        return self in (Act.STATUS, Act.REFUSED)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One fault, and the calls that it happens to; `stackproof.faults.parse` makes one from its text.

    spec: as a person reads it. number: events, bytes or a status, as `act` has it. seconds: of a wait. value: a media
    type. retry_after: seconds, for the header of that name.
    first, last: the calls that it happens to, counted from 1 among those that it can happen to; None: no last one.
    provider, path, model: only calls to these, `*` for any text in a path or a model's name.
    """

    act: Act
    spec: str
    number: int = 0
    seconds: float = 0.0
    value: str = ""
    retry_after: float | None = None
    first: int = 1
    last: int | None = None
    provider: str | None = None
    path: str | None = None
    model: str | None = None

    def selects(self, form: Form) -> bool:
        """Whether it is for a request of this form, by provider, path and model."""
        return (
            self.provider in (None, form["provider"])
            and (self.path is None or _matches(self.path, str(form["path"])))
            and (self.model is None or _matches(self.model, model_of(form) or ""))
        )

    def is_due(self, number: int) -> bool:
        """Whether it happens to the call with this number."""
        return number >= self.first and (self.last is None or number <= self.last)

    def to_data(self) -> dict[str, Any]:
        """What JSON holds of it."""
        return {**asdict(self), "act": self.act.value}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Read what `to_data` gave; ValueError, TypeError or KeyError when it is something else."""
        return cls(**{**data, "act": Act(data["act"])})


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text) is not None
