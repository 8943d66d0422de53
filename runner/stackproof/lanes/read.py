"""Reads `ci/matrix.yaml`: every mistake in it is one sentence with file and line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from stackproof import catalog
from stackproof.catalog.records import Catalog
from stackproof.catalog.yaml_source import Section, read
from stackproof.errors import UsageError
from stackproof.lanes import cron, sound
from stackproof.lanes.cells import cells_of, chosen, recording_of, smoke_of
from stackproof.lanes.records import USUAL_PYTHON, Check, Lane, Matrix, Trigger
from stackproof.suggest import did_you_mean
from stackproof.verdict import policy
from stackproof.verdict.policy_records import Policy

PATH = Path("ci/matrix.yaml")
VERSION = 1
_LEAST = """run this in the project's folder, or write that file; the least, of all cells of ci/release.yaml:
  version: 1
  lanes: {all: {description: every cell, triggers: [pull_request], cells: {release: {}}}}"""
KEYS = (
    "description", "triggers", "cells", "checks", "smoke", "record", "secrets", "variables", "env", "environment",
    "label", "schedule", "needs", "timeout",
    "cells_at_once", "shards",
)  # fmt: skip
# As part of artifact names, of job ids and of folders.
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
_PLACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._:/-]*")
# Stands in a regular expression of GitLab's.
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _-]*")
_PYTHON = re.compile(r"python(3\.\d+)")
_DOCKER, _NODE = "docker", "node"


def load(project: Path, *, known: Catalog | None = None) -> Matrix:
    """Every lane of the project, with the cells of the release policy that it takes over.

    known: the project's catalog, where it was read already. UsageError with file and line for everything that is wrong
    in the file, in the policy, or between the two.
    """
    if not (project / PATH).exists():
        raise UsageError(
            f"there is no {PATH.as_posix()} here, which says what lanes there are",
            hint=_LEAST,
        )
    file = read(project / PATH, what="the file of lanes", shown=PATH.as_posix())
    file.only("version", "lanes")
    if file.integer("version", minimum=1) != VERSION:
        file.fail(f"the file of lanes must say 'version: {VERSION}'", key="version")
    inner = file.section("lanes", "'lanes'")
    if inner is None or not inner.data:
        file.fail("the file of lanes has no lane", key="lanes")
    things = catalog.load(project) if known is None else known
    rules = policy.load(project) if (project / policy.PATH).is_file() else None
    lanes = {}
    for name, section in inner.sections("lane"):
        if not _NAME.fullmatch(name):
            inner.fail(f"lane name {name!r} may hold small letters, digits and single '-' between them only", key=name)
        lanes[name] = _lane(name, section, things, rules, inner.data.lines[name])
        sound.check(lanes[name], section, things)
    sound.check_together(lanes, inner)
    return Matrix(lanes=lanes)


def _lane(name: str, section: Section, things: Catalog, rules: Policy | None, line: int) -> Lane:
    section.only(*KEYS)
    needs = section.texts("needs")
    return Lane(
        name=name,
        description=section.required_text("description"),
        triggers=tuple(chosen(section, "triggers", Trigger)),
        cells=cells_of(section, things, rules),
        checks=tuple(_checks(section, rules)),
        smoke=smoke_of(section, things),
        record=recording_of(section, things),
        secrets=tuple(_variables(section, "secrets")),
        variables=tuple(_variables(section, "variables")),
        env=_env(section),
        environment=_plain(section, "environment", _PLACE),
        label=_plain(section, "label", _LABEL),
        schedule=_schedule(section),
        docker=_DOCKER in needs,
        node=_NODE in needs,
        python=_python(section, needs),
        timeout=section.integer("timeout", minimum=1) or 30,
        cells_at_once=section.integer("cells_at_once", minimum=1) or 1,
        shards=section.integer("shards", minimum=1) or 1,
        line=line,
    )


def _checks(section: Section, rules: Policy | None) -> Iterator[Check]:
    asked = {
        Check.TYPES: rules is not None and rules.typecheck is not None,
        Check.BENCHMARKS: rules is not None and bool(rules.benchmarks),
        Check.CLAIMS: rules is not None and rules.claims is not None,
        Check.RECORDINGS: rules is not None,
        Check.FRESHNESS: rules is not None and rules.live is not None,
    }
    for check in chosen(section, "checks", Check):
        if not asked[check]:
            section.fail(
                f"{section.what} checks {check.value}, of which {policy.PATH.as_posix()} says nothing", key="checks"
            )
        yield check


def _variables(section: Section, key: str) -> Iterator[str]:
    names = section.texts(key)
    for name in names:
        if not _VARIABLE.fullmatch(name):
            section.fail(f"{key!r} in {section.what}: {name!r} is no name of a variable", key=key)
        if names.count(name) > 1:
            section.fail(f"{key!r} in {section.what} names {name} twice", key=key)
        yield name


def _env(section: Section) -> Mapping[str, str]:
    given = section.text_map("env")
    for name in given:
        if not _VARIABLE.fullmatch(name):
            section.fail(f"'env' in {section.what}: {name!r} is no name of a variable", key="env")
    return given


def _plain(section: Section, key: str, form: re.Pattern[str]) -> str | None:
    text = section.text(key)
    if text is not None and not form.fullmatch(text):
        section.fail(f"{key!r} in {section.what} must be a plain name, not {text!r}", key=key)
    return text


def _schedule(section: Section) -> str | None:
    text = section.text("schedule")
    if text is not None and (problem := cron.wrong(text)) is not None:
        section.fail(f"the schedule {text!r} of {section.what} {problem}", key="schedule")
    return text


def _python(section: Section, needs: tuple[str, ...]) -> str:
    pythons = []
    for need in needs:
        if found := _PYTHON.fullmatch(need):
            pythons.append(found[1])
        elif need not in (_DOCKER, _NODE):
            known = (_DOCKER, _NODE, "python3.12")
            section.fail(
                f"{section.what} needs {need!r}, which is not known{did_you_mean(need, known)}",
                key="needs",
                hint="known needs: docker, node, and a Python as python3.12",
            )
    if len(pythons) > 1:
        section.fail(f"{section.what} needs {' and '.join(pythons)}: a lane runs on one Python", key="needs")
    return pythons[0] if pythons else USUAL_PYTHON
