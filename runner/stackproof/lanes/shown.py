"""Lanes as people and machines read them. Names of secrets are shown, values are nowhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from stackproof.lanes.records import USUAL_PYTHON, Lane, LaneCell, Trigger
from stackproof.plaintext import counted, number

HEAD = ("lane", "runs at", "what", "needs", "minutes")


def rows(lanes: Iterable[Lane]) -> list[tuple[str, ...]]:
    """One row of the table for each lane; the heads are HEAD."""
    return [(lane.name, _when(lane), _divided(lane), ", ".join(_needs(lane)), str(lane.timeout)) for lane in lanes]


def what(lane: Lane) -> str:
    """`20 cells, types`: what a lane does, in a few words."""
    parts = [counted(len(lane.cells), "cell")] if lane.cells else []
    parts += [check.value for check in lane.checks]
    if lane.smoke is not None:
        parts.append(f"real calls: {', '.join(lane.smoke.setups)}")
    if lane.record is not None:
        parts.append(f"{lane.record.mode}: {counted(len(lane.record.cells), 'cell')}")
    return ", ".join(parts)


def _divided(lane: Lane) -> str:
    return what(lane) if lane.shards == 1 else f"{what(lane)} in {counted(lane.shards, 'shard')}"


def lines(lane: Lane, again: str) -> Iterator[str]:
    """One lane in full."""
    yield f"{lane.name}: {lane.description}"
    yield f"  runs at      {_when(lane)}"
    yield f"  needs        {', '.join(lane.needs)}; ends after {counted(lane.timeout, 'minute')}"
    if lane.environment is not None:
        yield f"  environment  {lane.environment}"
    for word, names in (("secret", lane.secrets), ("variable", lane.variables)):
        yield from (f"  {word:<11}  {name}" for name in names)
    yield from (f"  sets         {name}={value}" for name, value in lane.env.items())
    yield from (
        f"  cell         {each.cell.title}{'' if each.wanted else ', beside the release'}" for each in lane.cells
    )
    yield from (f"  check        {check.value}" for check in lane.checks)
    if lane.record is not None:
        yield f"  records      {lane.record.mode}"
        yield from (f"  cell         {each.cell.title}{_from(each)}" for each in lane.record.cells)
    if (smoke := lane.smoke) is not None:
        instead = f", answered by {smoke.provider_service}" if smoke.provider_service else ""
        most = smoke.budget
        yield f"  real calls   {', '.join(smoke.setups)}{instead}"
        yield f"  budget       {most.max_requests:,} requests, {most.max_tokens:,} tokens, {number(most.max_seconds)} s"
        yield f"  unasked      {'is a failure' if smoke.require else 'is skipped'}"
    if lane.cells_at_once > 1:
        yield f"  at once      {counted(lane.cells_at_once, 'cell')}"
    if lane.shards > 1:
        yield f"  in CI        {counted(lane.shards, 'shard')}, a job each"
    yield f"  by hand      {again} {lane.name}"


def planned(lane: Lane, cells: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A lane's steps in their order, a cell with the command that runs it alone. cells: of `plan_text.cells`."""
    steps = len(cells) + len(lane.checks)
    yield f"lane {lane.name}: {counted(steps, 'step')}, ci/matrix.yaml:{lane.line}"
    for cell in cells:
        beside = [*cell["containers"], *([cell["service"]] if cell["service"] else [])]
        yield f"  {cell['title']}{', beside ' if beside else ''}{', '.join(beside)}"
        yield f"      {cell['command']}"
    yield from (f"  {check.value}" for check in lane.checks)
    if lane.smoke is not None:
        yield f"  real calls: {', '.join(lane.smoke.setups)}"


def facts(lane: Lane) -> dict[str, Any]:
    """A lane as plain data, with stable keys."""
    smoke = None
    if lane.smoke is not None:
        kept = ("setups", "suite", "stack_config", "require", "strict", "provider_service", "timeout", "budget")
        smoke = {key: value for key, value in asdict(lane.smoke).items() if key in kept}
    record = None
    if lane.record is not None:
        record = {"mode": lane.record.mode.value, "cells": [_cell(each) for each in lane.record.cells]}
    return {
        "name": lane.name,
        "description": lane.description,
        "triggers": [trigger.value for trigger in lane.triggers],
        "cells": [_cell(each) for each in lane.cells],
        "checks": [check.value for check in lane.checks],
        "smoke": smoke,
        "record": record,
        "secrets": list(lane.secrets),
        "variables": list(lane.variables),
        "env": dict(lane.env),
        "environment": lane.environment,
        "label": lane.label,
        "schedule": lane.schedule,
        "needs": list(lane.needs),
        "timeout": lane.timeout,
        "cells_at_once": lane.cells_at_once,
        "shards": lane.shards,
    }


def as_json(lanes: Iterable[Lane]) -> str:
    """All of them as one object."""
    return json.dumps({"schema": 1, "lanes": [facts(lane) for lane in lanes]}, indent=2, ensure_ascii=False)


def _cell(each: LaneCell) -> dict[str, Any]:
    cell = each.cell
    named = {"id": cell.id, "title": cell.title, "suite": cell.suite, "setup": cell.setup, "stack": cell.stack}
    return {**named, "release": each.wanted, "service": each.service}


def _when(lane: Lane) -> str:
    more = {Trigger.SCHEDULE: lane.schedule and f" ({lane.schedule} UTC)"}
    more[Trigger.PULL_REQUEST] = lane.label and f" (label {lane.label})"
    return ", ".join(f"{trigger}{more.get(trigger) or ''}" for trigger in lane.triggers)


def _needs(lane: Lane) -> list[str]:
    # The Python that everything runs on is worth no word.
    return [
        *(need for need in lane.needs if need != f"python{USUAL_PYTHON}"),
        *([counted(len(lane.secrets), "secret")] if lane.secrets else []),
    ]


def _from(each: LaneCell) -> str:
    return f", from {each.service}" if each.service else ""
