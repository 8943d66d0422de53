"""Lanes as the input of CI systems: a matrix for GitHub Actions, a child pipeline for GitLab."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import yaml

from stackproof.errors import UsageError
from stackproof.lanes.records import Lane, Trigger
from stackproof.lanes.shown import what
from stackproof.lanes.sound import MOST_SHARDS
from stackproof.shards.records import Shard

# Where every run folder of a job lies, hidden from GitHub's `upload-artifact` unless it is told.
_EVIDENCE = ".stackproof/"
# What a pipeline hands to its child: which trigger it is, or which lane alone was asked for.
TRIGGER, LANE = "STACKPROOF_TRIGGER", "STACKPROOF_LANE"
# https://docs.github.com/en/actions/reference/limits
_MOST_ON_GITHUB = 256
# The parent's values of these win.
_VARIABLES = {
    "STACKPROOF_IMAGE": "python",
    "STACKPROOF_PREPARE": "python -m pip install --quiet nox",
    "STACKPROOF_DOCKER_TAG": "docker",
}


def as_github_matrix(lanes: Iterable[Lane]) -> str:
    """One line for `strategy.matrix` of GitHub Actions, by way of `fromJSON`; a lane with shards has as many jobs."""
    return matrix(entry(lane, shard) for lane in lanes for shard in _shards(lane))


def matrix(entries: Iterable[Mapping[str, Any]]) -> str:
    """The line of these entries. UsageError where GitHub does not take so many."""
    include = list(entries)
    if len(include) > _MOST_ON_GITHUB:
        raise UsageError(
            f"a matrix of GitHub Actions has at most {_MOST_ON_GITHUB} jobs, and these are {len(include)}",
            hint="take fewer shards, or run them elsewhere: --format kubernetes",
        )
    return json.dumps({"include": include}, ensure_ascii=True)


def entry(lane: Lane, shard: Shard | None) -> dict[str, Any]:
    """One job of a matrix. shard: None where the lane is not divided.

    `name` is made of small letters, digits and '-', so it may be part of an artifact's name.
    """
    return {
        "lane": lane.name,
        "shard": "" if shard is None else str(shard),
        "name": lane.name if shard is None else f"{lane.name}-{shard.slug}",
        "title": f"{lane.name}: {what(lane)}{'' if shard is None else f', shard {shard}'}",
        "python": lane.python,
        "docker": lane.docker,
        "node": lane.node,
        "timeout": lane.timeout,
        "environment": lane.environment or "",
        "label": lane.label or "",
    }


def as_gitlab(lanes: Sequence[Lane], *, again: str) -> str:
    """A child pipeline for GitLab (`trigger: include: artifact`), one job a lane, in YAML. again: `nox -s lane --`.

    The parent says in STACKPROOF_TRIGGER which of a lane's triggers it is, or in STACKPROOF_LANE which lane alone it
    wants: a child's own `CI_PIPELINE_SOURCE` says no more than that it is a child. A lane with shards is one job that
    runs in parallel.
    """
    jobs = {
        lane.name: {
            **_job(lane, _command(lane, again)),
            "rules": [{"if": _when(lane, trigger)} for trigger in lane.triggers],
        }
        for lane in lanes
    }
    return _written({"variables": dict(_VARIABLES), **jobs})


def as_gitlab_shards(lane: Lane, shards: int, *, again: str, more: Sequence[str]) -> str:
    """A child pipeline of one lane alone, without rules. more: words of its command behind the shard.

    UsageError where GitLab does not take so many shards.
    """
    if shards > MOST_SHARDS:
        raise UsageError(
            f"a job of GitLab's runs at most {MOST_SHARDS} times in parallel, and these are {shards} shards",
            hint="take fewer shards, or run them elsewhere: --format kubernetes",
        )
    lane = replace(lane, shards=shards)
    command = " ".join([_command(lane, again), *more])
    return _written({"variables": dict(_VARIABLES), lane.name: _job(lane, command)})


def _shards(lane: Lane) -> list[Shard | None]:
    if lane.shards == 1:
        return [None]
    return [Shard(index=index, total=lane.shards) for index in range(1, lane.shards + 1)]


def _written(pipeline: Mapping[str, Any]) -> str:
    return yaml.safe_dump(pipeline, sort_keys=False, allow_unicode=True, width=1000)


def _command(lane: Lane, again: str) -> str:
    # CI_NODE_INDEX and CI_NODE_TOTAL say which of the parallel jobs it is.
    return f"{again} {lane.name}{' --shard auto' if lane.shards > 1 else ''}"


def _job(lane: Lane, command: str) -> dict[str, Any]:
    divided = lane.shards > 1
    job: dict[str, Any] = {
        "image": f"$STACKPROOF_IMAGE:{lane.python}",
        "needs": [],
        **({"parallel": lane.shards} if divided else {}),
        "timeout": f"{lane.timeout} minutes",
        "interruptible": lane.record is None,
        "before_script": ['eval "$STACKPROOF_PREPARE"'],
        "script": [command],
        "artifacts": {
            "when": "always",
            "name": f"lane-{lane.name}{'-$CI_NODE_INDEX' if divided else ''}",
            "paths": [_EVIDENCE],
            "reports": {"junit": f"{_EVIDENCE}runs/*/junit.xml"},
        },
    }
    # A runner with an engine is found by its tag; what needs none takes any.
    if lane.docker:
        job["tags"] = ["$STACKPROOF_DOCKER_TAG"]
    if lane.environment is not None:
        job["environment"] = {"name": lane.environment, "action": "access"}
    if lane.env:
        job["variables"] = dict(lane.env)
    return job


def _when(lane: Lane, trigger: Trigger) -> str:
    """Alone, where one lane is asked for; else with all of its trigger, or with those of its label."""
    if not trigger.together:
        return f'$STACKPROOF_TRIGGER == "{trigger}" && $STACKPROOF_LANE == "{lane.name}"'
    asked = f'$STACKPROOF_TRIGGER == "{trigger}"'
    if lane.label is not None and trigger is Trigger.PULL_REQUEST:
        asked += f" && $CI_MERGE_REQUEST_LABELS =~ /(^|,){lane.label}(,|$)/"
    return asked
