"""The end of a cell in `verify`: its answers are compared with the recordings.

With --strict drift fails it, and a cell that compared nothing is not proven: green would be said of no evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from stackproof.drift import cell as comparison
from stackproof.drift import telling
from stackproof.errors import ExitCode
from stackproof.evidence import drift
from stackproof.evidence.drift import DriftFacts
from stackproof.plan import Cell, Plan, command_stem
from stackproof.run import record_all
from stackproof.run.judge import Judgement

# What the recordings say comes before these in the order of exit codes.
_MILDER = frozenset({ExitCode.PASS, ExitCode.NOT_PROVEN, ExitCode.NOTHING_RAN})


@dataclass(frozen=True, kw_only=True, slots=True)
class Drifted:
    """What a cell ends with: the judgement, and lines about drift; none where there was nothing to compare."""

    judgement: Judgement
    lines: tuple[str, ...] = ()


def compare(judgement: Judgement, cell: Cell, cell_dir: Path, plan: Plan, environ: Mapping[str, str]) -> Drifted:
    """Write `drift.json` where the cell observed live answers."""
    content = comparison.write(
        cell_dir,
        plan.project,
        environ,
        root=plan.project / plan.options.recording_dir,
        command=command_stem(cell, plan.options),
    )
    facts = None if content is None else drift.of(content)
    if facts is None or plan.options.collect_only or not plan.options.tests:
        return Drifted(judgement=judgement)
    lines = tuple(telling.lines(facts, more=f"stackproof drift {plan.run_id} --all"))
    if plan.options.strict:
        judgement = _strict(judgement, facts, cell, plan)
    return Drifted(judgement=judgement, lines=lines)


def _strict(judgement: Judgement, facts: DriftFacts, cell: Cell, plan: Plan) -> Judgement:
    if facts.drifted and judgement.exit_code in _MILDER:
        reason = f"answers drifted from the recordings: {telling.told(facts)} (--strict)"
        also = f"; {judgement.reason}" if judgement.reason else ""
        return replace(judgement, exit_code=ExitCode.RECORDINGS, reason=f"{reason}{also}")
    # A shard may have been left with tests that call nobody.
    if judgement.exit_code is not ExitCode.PASS or (plan.options.shard is not None and facts.is_empty):
        return judgement
    lacking = telling.unproven(facts, record=record_all.command(cell, plan.options))
    if lacking is None:
        return judgement
    return replace(judgement, exit_code=ExitCode.NOT_PROVEN, reason=f"{lacking.why} (--strict)", hint=lacking.hint)
