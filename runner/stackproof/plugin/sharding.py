"""Divides what was collected, and keeps this shard's part: in the one process of pytest, and in each worker alike."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from stackproof.errors import NotProvenError
from stackproof.plugin.scopes import shared_scope_of
from stackproof.shards import elsewhere, grouping, left, order, partition
from stackproof.shards.order import ShardOrder

_XDIST = "xdist_group"


def divide(config: pytest.Config, items: list[pytest.Item], cell_dir: Path) -> None:
    """Leave this shard's tests in `items`, report the others as deselected, and write `shard.json`.

    Nothing happens where the cell is not divided. NotProvenError when another worker divided otherwise.
    """
    told = order.read(cell_dir)
    if told is None:
        return
    tests = [_nodeid(item) for item in items]
    groups = grouping.form([_member(item, told) for item in items], told.together)
    parted = partition.divide(tests, told.shard.total, seconds=told.seconds_of(tests), groups=groups.names)
    mine = told.shard.index - 1
    own = [item for item, part in zip(items, parted.parts, strict=True) if part == mine]
    others = [item for item, part in zip(items, parted.parts, strict=True) if part != mine]
    elsewhere.write(cell_dir, (test for test, part in zip(tests, parted.parts, strict=True) if part != mine))
    facts = left.ShardFacts(
        shard=told.shard,
        whole=told.whole,
        partition=parted.digest,
        tests=len(set(tests)),
        own=len({test for test, part in zip(tests, parted.parts, strict=True) if part == mine}),
        known=parted.known,
        estimated=parted.estimated[mine],
        estimated_whole=sum(parted.estimated),
        notes=tuple(f"no test of {told.whole} has {_what(way)}" for way in groups.unmet),
    )
    _write(cell_dir, facts)
    items[:] = own
    if others:
        config.hook.pytest_deselected(items=others)


def _write(cell_dir: Path, facts: left.ShardFacts) -> None:
    before = left.read(cell_dir)
    # The digest is of every test and its part; estimates are rounded in the file, and would differ.
    if before is not None and before.partition != facts.partition:
        raise NotProvenError(
            f"two workers collected different tests, so they do not agree on who runs what in shard {facts.shard}",
            hint="tests have to be collected alike by every process: look for parameters that come from a set, a clock "
            "or a random number",
        )
    left.write(cell_dir, facts)


def _nodeid(item: pytest.Item) -> str:
    """Without what xdist puts behind it for --dist=loadgroup."""
    marks = _marks(item)
    return item.nodeid.removesuffix(f"@{'_'.join(sorted(set(marks)))}") if marks else item.nodeid


def _marks(item: pytest.Item) -> tuple[str, ...]:
    """Names of the groups that `@pytest.mark.xdist_group` puts a test in, as xdist reads them."""
    return tuple(
        str(mark.args[0] if mark.args else mark.kwargs.get("name", "default")) for mark in item.iter_markers(_XDIST)
    )


def _member(item: pytest.Item, told: ShardOrder) -> grouping.Member:
    wanted = [way.removeprefix(grouping.FIXTURE) for way in told.together if way.startswith(grouping.FIXTURE)]
    fixtures = {name: shared for name in wanted if (shared := _shared(item, name)) is not None}
    return grouping.Member(nodeid=_nodeid(item), fixtures=fixtures, marks=_marks(item))


def _shared(item: pytest.Item, name: str) -> str | None:
    """What all tests have in common that share one set-up of a fixture; None where this test has none of that name."""
    definitions: dict[str, Sequence[Any]] = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    if not definitions.get(name):
        return None
    definition = definitions[name][-1]
    around = {"session": "", "package": _folder(item.nodeid), "module": item.nodeid.partition("::")[0]}
    # A narrower one lives no longer than its class or its test: then these are what stays together.
    inside = item.nodeid.partition("[")[0]
    place = around.get(definition.scope, inside.rpartition("::")[0] if definition.scope == "class" else inside)
    return f"{shared_scope_of(item, definition)} in {place}" if place else shared_scope_of(item, definition)


def _folder(nodeid: str) -> str:
    return nodeid.partition("::")[0].rpartition("/")[0]


def _what(way: str) -> str:
    return f"a fixture {way.removeprefix(grouping.FIXTURE)!r}" if way.startswith(grouping.FIXTURE) else f"a {way}"
