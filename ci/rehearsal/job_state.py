"""What the steps of one job share while it runs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ci.rehearsal.document import Document, Path
from ci.rehearsal.events import Event
from ci.rehearsal.expressions import ExpressionError, Scope, Value, number
from ci.rehearsal.machine import Machine
from ci.rehearsal.problems import WorkflowError
from ci.rehearsal.stage import Stage
from ci.rehearsal.template import fill


@dataclass(frozen=True, kw_only=True, slots=True)
class JobState:
    """base: contexts that do not change while the job runs. env: of the workflow and the job.

    deadline: of time.monotonic, when the job's time is up.
    """

    stage: Stage
    machine: Machine
    event: Event
    run: int
    base: Mapping[str, Any]
    env: Mapping[str, str]
    shell: str | None
    working_directory: str | None
    permissions: Mapping[str, str]
    deadline: float
    annotations: list[tuple[str, str]] = field(default_factory=list)

    def seconds(self, timeout: Value) -> float:
        """How long a step may take: its own time, ours, or what is left of the job's."""
        left = self.deadline - time.monotonic()
        own = number(timeout) * 60 if timeout is not None else left
        return max(0.1, min(own, left, self.stage.order.timeout or left))

    def within(self, **changes: Any) -> JobState:
        """The same with some of it changed, for the steps of an action."""
        return replace(self, **changes)


def worked_out(document: Document, path: Path, given: Any, scope: Scope) -> Value:
    """A value with the expressions in its text. Raises WorkflowError with the place."""
    if not isinstance(given, str):
        return given
    try:
        return fill(given, scope)
    except ExpressionError as error:
        raise WorkflowError(document.place(path), str(error)) from None
