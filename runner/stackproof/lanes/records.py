"""What `ci/matrix.yaml` says, as frozen records; `lanes.load` reads them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from stackproof.live.order import SmokeOrder
from stackproof.recorder.mode import Mode
from stackproof.verdict.policy_records import CellPolicy

USUAL_PYTHON = "3.11"


class Trigger(StrEnum):
    """What makes a CI system run a lane, by GitHub's names."""

    PULL_REQUEST = "pull_request"
    MERGE_GROUP = "merge_group"
    PUSH = "push"
    SCHEDULE = "schedule"
    WORKFLOW_DISPATCH = "workflow_dispatch"
    RELEASE = "release"

    @property
    def together(self) -> bool:
        """Whether all its lanes run for one commit and are weighed as one; by hand or by the clock each runs alone."""
        return self not in (Trigger.SCHEDULE, Trigger.WORKFLOW_DISPATCH)

    @property
    def trusted(self) -> bool:
        """Whether what it runs was reviewed: only then may a lane have secrets."""
        return self not in (Trigger.PULL_REQUEST, Trigger.MERGE_GROUP)


class Check(StrEnum):
    """What is checked beside the cells, by the names that a release has for its steps; each runs in one lane."""

    CLAIMS = "claims"
    TYPES = "types"
    BENCHMARKS = "benchmarks"
    RECORDINGS = "recordings"
    FRESHNESS = "freshness"


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneCell:
    """One cell of a lane. wanted: the release policy asks for it. service: the provider service that it records from.

    suite, setup: by name. stack: as in `--stack-config`. release: those of the policy that each key narrows; `{}` is
    all of them. stacks, suites, setups: names as the policy has them; `*` in one stands for anything. line: where in
    the file.
    """

    cell: CellPolicy
    wanted: bool
    service: str | None = None
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """What a lane records. cells: whose calls. mode: `record`, or `record-if-missing`, which asks only for what is
    not there.
    """

    cells: tuple[LaneCell, ...]
    mode: Mode = Mode.RECORD_IF_MISSING


@dataclass(frozen=True, kw_only=True, slots=True)
class Lane:
    """One job. A lane has cells and checks, or a smoke, or a recording, never two of them.

    description: what it is for. triggers: when it runs. cells: what runs, a list of its own or those of the release
    policy. checks: what is checked beside them, as the policy has it; `freshness`: whether the live smokes that the
    policy names have run and passed. smoke: real calls. record: what is recorded. needs: `docker`, `node`, and the
    Python where it is not 3.11, as `python3.12`. secrets: names of variables that are secrets of the setups which it
    calls, and whose values the CI system keeps; variables: others that it has to hand over; env: fixed values, no
    secrets, which the caller's environment wins over. environment: GitHub's and GitLab's name for the place that
    guards the secrets; has to be there with them. label: of a pull request, without which the lane does not run for
    one. schedule: five fields of cron, in UTC, with the trigger `schedule`; the minute is one odd number. python: the
    version that it runs on. timeout: minutes. cells_at_once: how many run side by side where none of them records.
    shards: jobs that share it, 200 at most; not for `smoke` and `record`. line: where in the file.
    """

    name: str
    description: str
    triggers: tuple[Trigger, ...]
    cells: tuple[LaneCell, ...] = ()
    checks: tuple[Check, ...] = ()
    smoke: SmokeOrder | None = None
    record: Recording | None = None
    secrets: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    environment: str | None = None
    label: str | None = None
    schedule: str | None = None
    docker: bool = False
    node: bool = False
    python: str = USUAL_PYTHON
    timeout: int = 30
    cells_at_once: int = 1
    shards: int = 1
    line: int = field(default=0, compare=False)

    @property
    def needs(self) -> tuple[str, ...]:
        """What the machine has to have, as the file names it."""
        return (*(["docker"] if self.docker else []), f"python{self.python}", *(["node"] if self.node else []))


@dataclass(frozen=True, kw_only=True, slots=True)
class Matrix:
    """The whole file. lanes: by name, in its order."""

    lanes: Mapping[str, Lane]

    def of(self, trigger: Trigger | None) -> tuple[Lane, ...]:
        """The lanes of one trigger, or all of them; those that wait for a label, too."""
        return tuple(lane for lane in self.lanes.values() if trigger is None or trigger in lane.triggers)

    def unasked(self, trigger: Trigger, labels: Collection[str] = ()) -> tuple[Lane, ...]:
        """The lanes that run at a trigger by itself, or for these labels of a pull request."""
        labelled = trigger is Trigger.PULL_REQUEST
        return tuple(lane for lane in self.of(trigger) if not labelled or lane.label is None or lane.label in labels)
