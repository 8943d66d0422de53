"""The claims of a project, `claims.yaml`: what must follow when something breaks, and what stays unproven."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from stackproof.catalog.yaml_source import Section, plain, read
from stackproof.errors import UsageError
from stackproof.faults import claim_environment, claim_events
from stackproof.faults.claim_events import Expected
from stackproof.faults.claim_values import Json, NoJsonError, as_json
from stackproof.suggest import unknown

NAME = "claims.yaml"
VERSION = 1
_POLICY = Path("ci/release.yaml")
_NAMES = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
Named = TypeVar("Named")


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """One claim. invariant: what holds, in words. fault: what is made to break, in words. events: what must happen
    then, in order. residue: what must be left behind, by name. excludes: what it does not say. environment: what a
    machine needs for it.
    """

    name: str
    invariant: str
    fault: str
    events: tuple[Expected, ...]
    residue: Mapping[str, Json]
    excludes: tuple[str, ...]
    environment: tuple[str, ...] = ()
    line: int = 0


def load(project: Path, name: Path) -> dict[str, Claim]:
    """The claims in the file `name` (relative to `project`, or absolute), in its order; UsageError names file and line.

    ```yaml
    version: 1
    claims:
      cut-stream-fails-the-turn:
        invariant: A stream that is cut off never completes a turn
        fault: the connection is lost after the third event
        events: [turn_started, "text_delta*", turn_failed]
        residue: {pending: [], terminal: failed}
        excludes: [what a real provider sends before it breaks]
        environment: [linux, /proc]
    ```
    """
    path = project / name
    shown = path.relative_to(project).as_posix() if path.is_relative_to(project) else path.as_posix()
    file = read(path, what="the claims file", shown=shown)
    file.only("version", "claims")
    if file.integer("version", minimum=1) != VERSION:
        file.fail(f"the claims file must say 'version: {VERSION}'", key="version")
    claims = file.section("claims", "'claims'")
    if claims is None or not claims.data:
        file.fail("the claims file lists no claim", key="claims")
    return {each: _claim(each, section, claims.data.lines[each]) for each, section in claims.sections("claim")}


def named(claims: Mapping[str, Named], name: str, *, file: Path, where: str | None = None) -> Named:
    """The claim called `name`; UsageError with the nearest name when there is none. `where` says who asked for it."""
    if name not in claims:
        raise unknown("claim", name, claims, where=where or file.as_posix())
    return claims[name]


def find(project: Path, test: Path) -> Path:
    """The claims file for a test file: the one that the release policy names, else the nearest `claims.yaml` beside or
    above the test, up to `project`. UsageError when there is none.
    """
    if (project / _POLICY).is_file():
        policy = read(project / _POLICY, what="the release policy", shown=_POLICY.as_posix())
        section = policy.section("claims", "'claims'")
        if section is not None and (name := section.text("file")) is not None:
            return project / name
    for folder in test.absolute().parents:
        if (folder / NAME).is_file():
            return folder / NAME
        if folder == project.absolute():
            break
    raise UsageError(
        f"no {NAME} lies beside {test.name} or above it",
        hint=f"write one there, or name one in {_POLICY.as_posix()} under 'claims', 'file'",
    )


def _claim(name: str, section: Section, line: int) -> Claim:
    section.only("invariant", "fault", "events", "residue", "excludes", "environment")
    if not _NAMES.fullmatch(name):
        section.fail(f"a claim must be named with letters, digits, '-', '_' and '.', not {name!r}")
    excludes = section.texts("excludes")
    if not excludes:
        section.fail(
            f"{section.what} does not say what it 'excludes'", key="excludes", hint="no claim reaches without end"
        )
    environment = section.texts("environment")
    for word in environment:
        if not claim_environment.known(word):
            section.fail(
                f"'environment' of {section.what} says {word!r}", key="environment",
                hint=f"it may say: {claim_environment.WORDS}",
            )  # fmt: skip
    return Claim(
        name=name,
        invariant=section.required_text("invariant"),
        fault=section.required_text("fault"),
        events=_events(section),
        residue=_residue(section),
        excludes=excludes,
        environment=environment,
        line=line,
    )


def _events(section: Section) -> tuple[Expected, ...]:
    value = section.data.get("events")
    if not isinstance(value, list):
        section.fail(f"{section.what} lacks 'events', a list of what must happen ([] for nothing)", key="events")
    try:
        return tuple(claim_events.expected(plain(item)) for item in value)
    except ValueError as error:
        section.fail(f"'events' of {section.what}: {error}", key="events")


def _residue(section: Section) -> dict[str, Json]:
    inner = section.section("residue", f"'residue' of {section.what}")
    if inner is None or not inner.data:
        section.fail(f"{section.what} does not say what is left behind: 'residue'", key="residue")
    found: dict[str, Json] = {}
    for key, value in inner.data.items():
        try:
            found[key] = as_json(value, f"{key!r}")
        except NoJsonError as error:
            inner.fail(f"'residue' of {section.what}: {error}", key=key, hint="write the value in quotes")
    return found
