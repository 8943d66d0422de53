"""Reads what a lane of `ci/matrix.yaml` runs: cells of its own or of the release policy, a smoke, a recording."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TypeVar

from stackproof.catalog.records import Catalog, StackMode
from stackproof.catalog.yaml_source import LinedDict, Section
from stackproof.errors import UsageError
from stackproof.lanes.records import LaneCell, Recording
from stackproof.live.order import Limits, SmokeOrder
from stackproof.recorder.mode import Mode
from stackproof.suggest import did_you_mean
from stackproof.verdict import policy
from stackproof.verdict.policy_records import CellPolicy, Policy

Word = TypeVar("Word", bound=StrEnum)


def chosen(section: Section, key: str, kind: type[Word]) -> Iterator[Word]:
    """The words of a list, each one of `kind` and there once."""
    words = section.texts(key)
    known = [each.value for each in kind]
    for word in words:
        if word not in known:
            section.fail(
                f"{word!r} in {key!r} of {section.what} is not known{did_you_mean(word, known)}",
                key=key,
                hint=f"known {key}: {', '.join(known)}",
            )
        if words.count(word) > 1:
            section.fail(f"{key!r} of {section.what} names {word} twice", key=key)
        yield kind(word)


@contextmanager
def placed(section: Section, key: str) -> Iterator[None]:
    """Give a UsageError about a name the file and line where `key` of `section` names it."""
    try:
        yield
    except UsageError as error:
        section.fail(error.message, key=key, hint=error.hint)


def cells_of(section: Section, things: Catalog, rules: Policy | None) -> tuple[LaneCell, ...]:
    """The cells of a lane: a list of its own, or `{release: …}`, those of the policy that selections take."""
    value = section.data.get("cells")
    asked = {} if rules is None else {cell.id: cell for cell in rules.cells}
    if isinstance(value, LinedDict):
        inner = Section(what=f"'cells' of {section.what}", shown=section.shown, data=value)
        inner.only("release")
        if rules is None:
            inner.fail(f"{inner.what} are those of {policy.PATH.as_posix()}, and there is none")
        taken = {cell.id for each in _selections(inner) for cell in _taken(each, rules.cells)}
        return tuple(LaneCell(cell=cell, wanted=True) for cell in rules.cells if cell.id in taken)
    own = []
    for each in section.items("cells", lambda number: f"{number} in 'cells' of {section.what}"):
        each.only("suite", "setup", "stack")
        cell = _cell(each, things)
        # As the policy has it, so that it is required where that requires it.
        own.append(LaneCell(cell=asked.get(cell.id, cell), wanted=cell.id in asked, line=each.data.line))
    return _once(own, section, "cells")


def recording_of(section: Section, things: Catalog) -> Recording | None:
    """`record: {mode, cells: [{suite, setup, stack, service}]}`."""
    inner = section.section("record", f"'record' of {section.what}")
    if inner is None:
        return None
    inner.only("mode", "cells")
    cells = []
    for each in inner.items("cells", lambda number: f"{number} in 'cells' of {inner.what}"):
        each.only("suite", "setup", "stack", "service")
        service = each.text("service")
        if service is not None:
            with placed(each, "service"):
                things.service(service)
        cells.append(LaneCell(cell=_cell(each, things), wanted=False, service=service, line=each.data.line))
    if not cells:
        inner.fail(f"{inner.what} names no cell", key="cells")
    word = inner.text("mode") or Mode.RECORD_IF_MISSING.value
    if word not in (modes := [mode.value for mode in Mode if mode.records]):
        inner.fail(f"'mode' in {inner.what} must be one of: {', '.join(modes)}; not {word!r}", key="mode")
    return Recording(cells=_once(cells, inner, "cells"), mode=Mode(word))


def smoke_of(section: Section, things: Catalog) -> SmokeOrder | None:
    """`smoke: {setups: […], require, strict, stack, service, suite, budget: {requests, tokens, seconds}}`."""
    inner = section.section("smoke", f"'smoke' of {section.what}")
    if inner is None:
        return None
    inner.only("setups", "suite", "stack", "service", "require", "strict", "budget", "timeout")
    setups = inner.texts("setups")
    if not setups:
        inner.fail(f"{inner.what} names no setup", key="setups")
    for name in setups:
        with placed(inner, "setups"):
            things.setup(name)
    given = SmokeOrder()
    suite, stack, service = inner.text("suite") or given.suite, inner.text("stack"), inner.text("service")
    with placed(inner, "suite" if "suite" in inner.data else "setups"):
        things.suite(suite)
    if stack is not None:
        _stack(inner, stack, things)
    if service is not None:
        with placed(inner, "service"):
            things.service(service)
    return SmokeOrder(
        setups=setups,
        suite=suite,
        stack_config=stack,
        require=inner.boolean("require", default=True),
        strict=inner.boolean("strict", default=False),
        budget=_budget(inner.section("budget", f"'budget' of {inner.what}")),
        provider_service=service,
        timeout=inner.seconds("timeout"),
    )


def _budget(section: Section | None) -> Limits:
    given = Limits()
    if section is None:
        return given
    section.only("requests", "tokens", "seconds")
    return Limits(
        max_requests=section.integer("requests", minimum=1) or given.max_requests,
        max_tokens=section.integer("tokens", minimum=1) or given.max_tokens,
        max_seconds=section.seconds("seconds") or given.max_seconds,
    )


def _selections(section: Section) -> Iterator[Section]:
    value = section.data.get("release")
    if isinstance(value, list):
        yield from section.items("release", lambda number: f"{number} in 'release' of {section.what}")
        return
    inner = section.section("release", f"'release' in {section.what}")
    if inner is None:
        section.fail(f"'release' in {section.what} must be a mapping, {{}} for every cell, or a list of them")
    yield inner


def _taken(section: Section, cells: Sequence[CellPolicy]) -> list[CellPolicy]:
    """The cells that one selection takes; a word of it that fits no cell is a mistake."""
    section.only("stacks", "suites", "setups")
    found = list(cells)
    for key, of in (("stacks", "stack"), ("suites", "suite"), ("setups", "setup")):
        words = section.texts(key)
        there = list(dict.fromkeys(str(getattr(cell, of)) for cell in cells))
        for word in words:
            if not any(fnmatchcase(name, word) for name in there):
                section.fail(
                    f"{of} {word!r} is in no cell of {policy.PATH.as_posix()}{did_you_mean(word, there)}",
                    key=key,
                    hint=f"{key} there: {', '.join(there)}",
                )
        if key in section.data:
            found = [cell for cell in found if any(fnmatchcase(getattr(cell, of), word) for word in words)]
    if not found:
        section.fail(f"{section.what} takes no cell of {policy.PATH.as_posix()}")
    return found


def _cell(section: Section, things: Catalog) -> CellPolicy:
    suite, setup, stack = (section.required_text(key) for key in ("suite", "setup", "stack"))
    with placed(section, "suite"):
        things.suite(suite)
    with placed(section, "setup"):
        things.setup(setup)
    _stack(section, stack, things)
    return CellPolicy(suite=suite, setup=setup, stack=stack, line=section.data.line)


def _stack(section: Section, text: str, things: Catalog) -> None:
    mode, colon, name = text.partition(":")
    modes = [each.value for each in StackMode if each is not StackMode.REMOTE]
    if not (mode and colon and name):
        section.fail(f"stack {text!r} must be a mode and a name, as 'server:reference'", key="stack")
    if mode not in modes:
        section.fail(f"unknown stack mode {mode!r}{did_you_mean(mode, modes)}", key="stack")
    with placed(section, "stack"):
        things.stack(name)
    if StackMode(mode) not in things.stacks[name].modes:
        runs = ", ".join(f"{each}:{name}" for each in things.stacks[name].modes)
        section.fail(f"stack {name!r} does not run in mode {mode!r}", key="stack", hint=f"it runs as {runs}")


def _once(cells: Sequence[LaneCell], section: Section, key: str) -> tuple[LaneCell, ...]:
    there: Mapping[str, LaneCell] = {each.cell.id: each for each in cells}
    if len(there) != len(cells):
        ids = [each.cell.id for each in cells]
        section.fail(f"{section.what} names {next(each for each in ids if ids.count(each) > 1)} twice", key=key)
    return tuple(cells)
