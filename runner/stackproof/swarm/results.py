"""What became of a shard, judged on this machine from the evidence that came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackproof.evidence import digests, git, jsonfile
from stackproof.plan import Cell, Plan
from stackproof.run import cell_facts, drifted
from stackproof.run.judge import CellFacts, Judgement, judge


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """facts: what the evidence says. sealed: what kept the world away. drift: lines about answers that differ."""

    facts: CellFacts
    judgement: Judgement
    sealed: str
    drift: Sequence[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """What this machine knows of the files that went out, and no task could: taken before they are packed."""

    state: git.SourceState
    policy: str | None
    recordings: Mapping[str, str | None]

    def complete(self, cell_dir: Path, setup: str) -> None:
        """Put it into the `result.json` of a shard."""
        result: dict[str, Any] = dict(jsonfile.read(cell_dir / "result.json") or {})
        known = dict(jsonfile.table(result, "digests"))
        result |= {
            "commit": self.state.commit,
            "dirty": self.state.dirty,
            "digests": {**known, "policy": self.policy, "recordings": self.recordings[setup]},
        }
        jsonfile.write(cell_dir / "result.json", result)


def source_of(plan: Plan) -> Source:
    """The commit, and the digests of what lies in the project now."""
    root = plan.project / plan.options.recording_dir
    setups = dict.fromkeys(cell.setup.name for cell in plan.cells)
    return Source(
        state=git.state(plan.project),
        policy=digests.policy(plan.project),
        recordings={setup: digests.recordings(root, setup) for setup in setups},
    )


def judged(plan: Plan, cell: Cell, cell_dir: Path, environ: Mapping[str, str]) -> Judged:
    """The judgement of a run on one machine, from the same facts."""
    facts = cell_facts.read(cell_dir, cell, plan.options)
    found = drifted.compare(judge(facts), cell, cell_dir, plan, environ)
    sealed = str((facts.outcome or {}).get("sealed", "none"))
    return Judged(facts=facts, judgement=found.judgement, sealed=sealed, drift=found.lines)
