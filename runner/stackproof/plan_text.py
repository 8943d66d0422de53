"""Shows a plan: for people, for machines, and as the input of CI systems."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import yaml

from stackproof import __version__
from stackproof.plaintext import counted, number
from stackproof.plan import Cell, Plan, again
from stackproof.recorder.mode import Mode
from stackproof.shards.records import Shard

HANGING = 9
"""Columns in front of what a line of a plan says, where it goes on when a terminal is too narrow."""


def lines(plan: Plan) -> Iterator[str]:
    """What will run and where each choice came from, one line of text each."""
    options = plan.options
    yield f"stackproof {__version__} · run {plan.run_id} · {options.inference_mode}"
    yield from _elsewhere(plan)
    for cell in plan.cells:
        setup_from = options.origin("setup") if options.setup else "the suite's default"
        rows = [
            ("suite", f"{cell.suite.name}, {_paths(cell)}", _suite_from(plan)),
            ("setup", cell.setup.name, setup_from),
            ("stack", cell.stack_config, options.origin("stack_config")),
        ]
        if cell.shard is not None:
            rows.append(("shard", f"{cell.shard}, {_balanced(plan, cell)}", options.shard_source))
        if options.engine != "local":
            shards = counted(options.shards or 0, "shard")
            rows.append((options.engine, f"in {shards}", f"{options.origin('engine')}, --shards"))
        width = max(len(value) for _, value, _ in rows)
        for word, value, source in rows:
            yield f"  {word}  {value:<{width}}   {source}"
        if cell.containers:
            yield f"  beside {', '.join(spec.name for spec in cell.containers)}, in containers of their own"
        if cell.service is not None:
            inside = ", in a container" if cell.service.contained is not None else ""
            yield f"  calls  go to {cell.service.server}, started for this run{inside}"
        if cell.inference_mode is not Mode.LIVE:
            yield f"  {_direction(cell.inference_mode)}  {_recordings(plan, cell)}"
        if options.mode.calls_out and options.budget:
            yield f"  budget {_budget(plan)}"
        if options.inject:
            faults = "; ".join(fault.spec for fault in options.faults)
            yield f"  inject {faults}   {options.origin('inject')}"


def as_json(plan: Plan) -> str:
    """The plan as one JSON object; stable keys, `schema` says which."""
    return json.dumps(facts(plan), indent=2, ensure_ascii=False)


def facts(plan: Plan) -> dict[str, object]:
    """The plan in plain data. Values of `--env` are left out: they may be secrets."""
    options = asdict(plan.options)
    options["env"] = [pair.partition("=")[0] for pair in plan.options.env]
    options["sources"] = {name: str(source) for name, source in plan.options.sources.items()}
    return {
        "schema": 1,
        "run_id": plan.run_id,
        "run_dir": str(plan.run_dir),
        "inference_mode": plan.options.inference_mode,
        "cells": cells(plan),
        "elsewhere": [{"id": cell.id, "shard": _shard_facts(shard)} for cell, shard in plan.elsewhere],
        "options": options,
    }


def cells(*plans: Plan) -> list[dict[str, object]]:
    """The cells of all these plans in plain data."""
    return [_cell_facts(cell, plan) for plan in plans for cell in plan.cells]


def as_github_matrix(*plans: Plan) -> str:
    """One line for `strategy.matrix` of GitHub Actions, by way of `fromJSON`."""
    return json.dumps({"include": cells(*plans)}, ensure_ascii=False)


def as_gitlab(*plans: Plan) -> str:
    """A child pipeline for GitLab (`trigger: include: artifact`), one job a cell, in YAML."""
    jobs = {
        cell.id: {
            "script": [again(cell, plan.options, complete=True)],
            "artifacts": {
                "when": "always",
                "paths": [".stackproof/runs/"],
                "reports": {"junit": ".stackproof/runs/*/junit.xml"},
            },
        }
        for plan in plans
        for cell in plan.cells
    }
    return yaml.safe_dump(jobs, sort_keys=False, allow_unicode=True, width=1000)


def _cell_facts(cell: Cell, plan: Plan) -> dict[str, object]:
    return {
        "id": cell.id,
        "whole": cell.whole_id,
        "shard": None if cell.shard is None else _shard_facts(cell.shard),
        "title": cell.title,
        "suite": cell.suite.name,
        "setup": cell.setup.name,
        "stack_config": cell.stack_config,
        "inference_mode": cell.inference_mode.value,
        "service": None if cell.service is None else cell.service.name,
        "containers": [spec.name for spec in cell.containers],
        "paths": list(cell.paths),
        "command": again(cell, plan.options, complete=True),
    }


def _shard_facts(shard: Shard) -> dict[str, int]:
    return {"index": shard.index, "total": shard.total}


def _elsewhere(plan: Plan) -> Iterator[str]:
    """Cells that are not here although they were asked for, and those that are here whole."""
    part = plan.options.part
    for cell, shard in plan.elsewhere:
        yield f"  left   {cell.title}: {_runner(cell)} cannot be divided, it is shard {shard}'s"
    for cell in plan.cells:
        if part is not None and cell.shard is None:
            yield f"  whole  {cell.title}: {_runner(cell)} cannot be divided, all of it is shard {part}'s"


def _runner(cell: Cell) -> str:
    return "a suite" if cell.suite.runner is None else f"a suite of {cell.suite.runner.name}"


def _balanced(plan: Plan, cell: Cell) -> str:
    """`balanced by ci/timings.json, module and fixture:store together`."""
    paths = plan.options.timings
    by = f"balanced by {', '.join(paths)}" if paths else "equal by number of tests"
    ways = plan.together(cell)
    return f"{by}, {' and '.join(ways)} together" if ways else by


def _suite_from(plan: Plan) -> str:
    narrowed = [f"--{name}" for name in ("file", "subdirs", "pattern") if getattr(plan.options, name)]
    return ", ".join([plan.options.origin("suite"), *narrowed])


def _paths(cell: Cell) -> str:
    shown = ", ".join(cell.paths[:2])
    return shown if len(cell.paths) <= 2 else f"{shown} and {len(cell.paths) - 2} more"


def _budget(plan: Plan) -> str:
    """`20 requests, 60 seconds   --max-requests, STACKPROOF_MAX_SECONDS`."""
    given = plan.options.budget
    limits = ", ".join(f"{number(value)} {name.removeprefix('max_')}" for name, value in given.items())
    return f"{limits}   {', '.join(plan.options.origin(name) for name in given)}"


def _direction(mode: Mode) -> str:
    return {Mode.REPLAY: "from ", Mode.VERIFY: "leave"}.get(mode, "into ")


def _recordings(plan: Plan, cell: Cell) -> str:
    folder = Path(plan.options.recording_dir) / cell.setup.name
    files = [path for path in (plan.project / folder).rglob("*.json") if path.is_file()]
    if not files:
        return f"{folder.as_posix()}, nothing recorded yet"
    size = sum(path.stat().st_size for path in files)
    return f"{folder.as_posix()}, {len(files)} file{'s' if len(files) != 1 else ''}, {size / 1000:.0f} kB"
