"""What became of jobs, and what `success()` and its kin say of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ci.rehearsal.expressions import ExpressionError, Value
from ci.rehearsal.order import Result


@dataclass(frozen=True, kw_only=True, slots=True)
class StepEnd:
    """outcome: before continue-on-error; conclusion: after it. may_write: whether it could have an output.

    tail: the last lines of its output, masked.
    """

    title: str
    outcome: Result
    conclusion: Result
    outputs: Mapping[str, str]
    may_write: Callable[[str], bool] = lambda _: True
    seconds: float = 0.0
    why: str = ""
    tail: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class LegEnd:
    """One job, or one leg of a matrix. tolerated: whether others see a success where it failed."""

    job: str
    name: str
    result: Result
    why: str = ""
    steps: tuple[StepEnd, ...] = ()
    outputs: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    environment: str | None = None
    permissions: Mapping[str, str] = field(default_factory=dict)
    annotations: tuple[tuple[str, str], ...] = ()
    tolerated: bool = False
    pretended: bool = False

    @property
    def ran(self) -> int:
        """How many steps ran."""
        return sum(step.outcome is not Result.SKIPPED for step in self.steps)


@dataclass(frozen=True, kw_only=True, slots=True)
class JobEnd:
    """A job with all its legs."""

    id: str
    needs: tuple[str, ...]
    legs: tuple[LegEnd, ...]

    @property
    def result(self) -> Result:
        """The worst of its legs, as other jobs see it: a leg that may fail has not failed."""
        results = [Result.SUCCESS if leg.tolerated else leg.result for leg in self.legs]
        for worst in (Result.FAILURE, Result.CANCELLED):
            if worst in results:
                return worst
        return Result.SUCCESS if Result.SUCCESS in results else Result.SKIPPED

    @property
    def outputs(self) -> Mapping[str, str]:
        """Of all legs; of the same name the last one's that is not empty."""
        made: dict[str, str] = {}
        for leg in self.legs:
            made |= {name: value for name, value in leg.outputs.items() if value or name not in made}
        return made


def of_jobs(needs: Iterable[str], ends: Mapping[str, JobEnd]) -> Mapping[str, Callable[[Sequence[Value]], Value]]:
    """Status functions for a job: of everything that it needs, however far up. A skipped one is no success."""
    above: dict[str, JobEnd] = {}
    waiting = list(needs)
    while waiting:
        name = waiting.pop()
        if name in ends and name not in above:
            above[name] = ends[name]
            waiting += ends[name].needs
    results = [end.result for end in above.values()]

    def ask(function: str, given: Sequence[Value], answer: bool) -> bool:
        if given:
            raise ExpressionError(f"{function}() takes nothing")
        return answer

    return {
        "always": lambda given: ask("always", given, True),
        "cancelled": lambda given: ask("cancelled", given, False),
        "failure": lambda given: ask("failure", given, Result.FAILURE in results),
        "success": lambda given: ask("success", given, all(one is Result.SUCCESS for one in results)),
    }


def of_steps(failed: bool) -> Mapping[str, Callable[[Sequence[Value]], Value]]:
    """Status functions for a step: of the steps before it."""
    return {
        "always": lambda _: True,
        "cancelled": lambda _: False,
        "failure": lambda _: failed,
        "success": lambda _: not failed,
    }
