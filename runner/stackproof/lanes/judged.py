"""The part of the release verdict that a lane is about: the same rules, over the same evidence, of fewer cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import MappingProxyType

from stackproof.evidence.read import Evidence
from stackproof.evidence.recordings import RecordingFacts
from stackproof.lanes import in_parts
from stackproof.lanes.records import Check, Lane
from stackproof.shards.records import Shard
from stackproof.verdict.decide import decide
from stackproof.verdict.policy_records import Policy
from stackproof.verdict.records import Rule, Verdict
from stackproof.verdict.run_rules import AGAIN
from stackproof.verdict.weigh import current

_RECORDINGS, _SEALED = "recordings", "sealed"
# What these two say where no cell ran; a lane of checks alone has none.
_NO_CELL = ("no cell used them", "no cell ran")
_WHOLE = frozenset({AGAIN, "stackproof verify-release"})


def asks(lane: Lane, rules: Policy) -> Policy:
    """What the policy asks of this lane."""
    recordings = rules.recordings
    if Check.RECORDINGS not in lane.checks:
        # Another lane looks at the files.
        recordings = replace(recordings, unnormalised=None, max_age_days=None)
    return replace(
        rules,
        cells=tuple(each.cell for each in lane.cells if each.wanted),
        typecheck=rules.typecheck if Check.TYPES in lane.checks else None,
        benchmarks=rules.benchmarks if Check.BENCHMARKS in lane.checks else (),
        claims=rules.claims if Check.CLAIMS in lane.checks else None,
        recordings=recordings,
        # Lanes of their own call providers, and the verdict asks when they last did.
        live=None,
    )


def judge(
    lane: Lane,
    rules: Policy,
    evidence: Evidence,
    project: Path,
    *,
    environ: Mapping[str, str],
    today: date,
    again: str,
    parts: Mapping[str, Shard] = MappingProxyType({}),
) -> Verdict:
    """The verdict over what the lane has to show, and nothing else. again: the command that runs the lane.

    parts: cells that ran in part, by their ids. Their evidence is under the name of their folder.
    """
    narrow = asks(lane, rules)
    evidence = in_parts.as_wholes(evidence, parts)
    if Check.RECORDINGS not in lane.checks:
        evidence = replace(evidence, recordings=RecordingFacts())
    now = in_parts.narrowed(current(project, narrow, environ=environ, today=today), evidence, parts)
    verdict = decide(narrow, evidence, now)
    told = [_of_lane(rule, lane, again) for rule in verdict.rules if not _elsewhere(rule, lane)]
    return replace(verdict, rules=tuple(in_parts.placed(rule, parts) for rule in told))


def _elsewhere(rule: Rule, lane: Lane) -> bool:
    """Whether it is about cells, and this lane has none."""
    if lane.cells:
        return False
    return rule.id == _SEALED or (rule.id == _RECORDINGS and Check.RECORDINGS not in lane.checks)


def _of_lane(rule: Rule, lane: Lane, again: str) -> Rule:
    if rule.again in _WHOLE:
        rule = replace(rule, again=again)
    if rule.id == _RECORDINGS and not lane.cells:
        files, _, calls = rule.good.partition(", ")
        found = tuple(each for each in rule.findings if each.text not in _NO_CELL)
        return replace(rule, findings=found, good=", ".join([files, *calls.split(", ")[-2:]]))
    if rule.id == _RECORDINGS and Check.RECORDINGS not in lane.checks:
        # `0 files, … 0 secrets`, which nobody has looked at here.
        return replace(rule, good=rule.good.partition(", ")[2].removesuffix(", 0 secrets"))
    return rule
