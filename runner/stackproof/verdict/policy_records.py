"""What a release policy asks for, as frozen records; `policy.load` reads them from `ci/release.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from pathlib import Path

from stackproof.faults.claim_file import Claim

CLAIMS_TIMEOUT = 600.0  # seconds
LIVE_MAX_AGE = 8  # days: a week of the usual schedule, and one for its delays


class Required(StrEnum):
    """Whether a cell may be absent where its stack cannot run (Docker on a laptop)."""

    ALWAYS = "always"
    WHERE_AVAILABLE = "where-available"


class SourceRule(StrEnum):
    """Which source evidence must belong to."""

    COMMITTED = "committed"
    ANY = "any"


class SealedRule(StrEnum):
    """Whether the proof that no packet left the machine is insisted on, or said."""

    NAMESPACE = "namespace"
    SAID = "said"


class DriftRule(StrEnum):
    """What follows where providers answer differently from the recordings, in what breaks a client."""

    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, kw_only=True, slots=True)
class CellPolicy:
    """One cell that must have run in replay.

    suite, setup: by name. stack: as in `--stack-config`, `server:reference`. required: whether it may be absent where
    its stack cannot run.
    """

    suite: str
    setup: str
    stack: str
    required: Required = Required.ALWAYS
    line: int = field(default=0, compare=False)

    @property
    def id(self) -> str:
        """The name of its folder, and of its file below `ci/expected/`."""
        return f"{self.suite}-{self.setup}-{self.stack.replace(':', '-')}"

    @property
    def title(self) -> str:
        """How people read it."""
        return f"{self.suite} × {self.setup} × {self.stack}"


@dataclass(frozen=True, kw_only=True, slots=True)
class TypecheckPolicy:
    """What mypy has to have checked.

    paths: what it is given. every_file: each Python file below them must be among the checked ones. at_least: how many
    files must be. exactly: how many files must be, and no more.
    """

    paths: tuple[str, ...]
    every_file: bool = True
    at_least: int | None = None
    exactly: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkPolicy:
    """gate: how many times its floor a turn may take. samples: pairs that must have been measured."""

    name: str
    gate: float
    samples: int = 20
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimsPolicy:
    """file: the claims file. claims: what it says. tests: paths whose tests serve them. required: the names of those
    that must be proven; the others are said. timeout: seconds for all the tests.
    """

    file: Path
    claims: Mapping[str, Claim]
    tests: tuple[str, ...]
    required: frozenset[str]
    timeout: float = CLAIMS_TIMEOUT


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordingsPolicy:
    """How many of each may be, over all cells; null does not look.

    missed: calls without a recording. unused: recordings that no test asked for. damaged: files that are no recording.
    late: calls after their test had ended. not_promoted: recordings that a test which did not pass has left
    behind. unnormalised: recordings that would not be written so now. max_age_days: how old one may be.
    """

    missed: int = 0
    unused: int | None = 0
    damaged: int = 0
    late: int | None = None
    not_promoted: int | None = 0
    unnormalised: int | None = None
    max_age_days: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LivePolicy:
    """setups: a live smoke of each has passed. max_age_days: at most so long ago. drift: what follows where answers
    have changed in what breaks a client. required: where-available counts only where there is evidence of one, or a
    variable says that there is. hosts: count as those of the providers, beside what a setup names: a gateway, or
    `service NAME`.
    """

    setups: tuple[str, ...]
    max_age_days: int = LIVE_MAX_AGE
    drift: DriftRule = DriftRule.WARN
    required: Required = Required.ALWAYS
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class FlakyPolicy:
    """How many tests may pass only when they run again.

    allowed: so many, over all suites without a budget of their own. suites: budgets of their own.
    """

    allowed: int = 0
    suites: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiver:
    """A failing test that is known and borne for a while.

    test: its node id. cell: where it may fail; every cell without it. reason: why. owner: who sees to it. expires: the
    last day it holds.
    """

    test: str
    reason: str
    owner: str
    expires: date
    cell: str | None = None
    line: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """The whole file.

    cells: what must have run. source: which source evidence must belong to. sealed: whether the proof that no packet
    left is insisted on. recordings: how many of what may be. typecheck: what mypy has to have checked. benchmarks:
    name -> how slow it may be. claims: which claims must be proven. live: which smokes must have passed. flaky: how
    many tests may pass only when they run again. waivers: failing tests that are borne for a while. lines: on which
    line each of its sections begins; what is absent has none.
    """

    cells: tuple[CellPolicy, ...]
    source: SourceRule = SourceRule.COMMITTED
    sealed: SealedRule = SealedRule.SAID
    recordings: RecordingsPolicy = RecordingsPolicy()
    typecheck: TypecheckPolicy | None = None
    benchmarks: tuple[BenchmarkPolicy, ...] = ()
    claims: ClaimsPolicy | None = None
    live: LivePolicy | None = None
    flaky: FlakyPolicy = FlakyPolicy()
    waivers: tuple[Waiver, ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict, compare=False)
