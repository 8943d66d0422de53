"""The end of a cell in `verify`: its answers are compared with the recordings, and with --strict drift fails it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from stackproof.drift import cell as comparison
from stackproof.drift import telling
from stackproof.errors import ExitCode
from stackproof.evidence import drift
from stackproof.plan import Cell, Plan, command_stem
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
    if not plan.options.strict or not facts.drifted or judgement.exit_code not in _MILDER:
        return Drifted(judgement=judgement, lines=lines)
    reason = f"answers drifted from the recordings: {telling.told(facts)} (--strict)"
    also = f"; {judgement.reason}" if judgement.reason else ""
    return Drifted(judgement=replace(judgement, exit_code=ExitCode.RECORDINGS, reason=f"{reason}{also}"), lines=lines)
