"""Lanes as the input of CI systems: a matrix for GitHub Actions, a child pipeline for GitLab."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import yaml

from stackproof.lanes.records import Lane, Trigger
from stackproof.lanes.shown import what

# Where every run folder of a job lies, hidden from GitHub's `upload-artifact` unless it is told.
_EVIDENCE = ".stackproof/"
# What a pipeline hands to its child: which trigger it is, or which lane alone was asked for.
TRIGGER, LANE = "STACKPROOF_TRIGGER", "STACKPROOF_LANE"


def as_github_matrix(lanes: Iterable[Lane]) -> str:
    """One line for `strategy.matrix` of GitHub Actions, by way of `fromJSON`.

    `lane` is made of small letters, digits and '-', so it may be part of an artifact's name.
    """
    return json.dumps({"include": [_entry(lane) for lane in lanes]}, ensure_ascii=True)


def _entry(lane: Lane) -> dict[str, Any]:
    return {
        "lane": lane.name,
        "title": f"{lane.name}: {what(lane)}",
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
    wants: a child's own `CI_PIPELINE_SOURCE` says no more than that it is a child.
    """
    jobs: dict[str, Any] = {
        # The parent's values of these win.
        "variables": {
            "STACKPROOF_IMAGE": "python",
            "STACKPROOF_PREPARE": "python -m pip install --quiet nox",
            "STACKPROOF_DOCKER_TAG": "docker",
        },
    }
    return yaml.safe_dump(
        jobs | {lane.name: _job(lane, again) for lane in lanes}, sort_keys=False, allow_unicode=True, width=1000
    )


def _job(lane: Lane, again: str) -> dict[str, Any]:
    job: dict[str, Any] = {
        "image": f"$STACKPROOF_IMAGE:{lane.python}",
        "needs": [],
        "rules": [{"if": _when(lane, trigger)} for trigger in lane.triggers],
        "timeout": f"{lane.timeout} minutes",
        "interruptible": lane.record is None,
        "before_script": ['eval "$STACKPROOF_PREPARE"'],
        "script": [f"{again} {lane.name}"],
        "artifacts": {
            "when": "always",
            "name": f"lane-{lane.name}",
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
