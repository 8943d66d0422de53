"""`shard.json` of a cell that is one part of another, and what is known of a cell that was put together from parts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackproof.evidence import jsonfile
from stackproof.evidence.times import NO_TIMES, Times
from stackproof.shards import left
from stackproof.shards.records import MOST

_FOLDER = re.compile(r"(?P<whole>.+)\.(?P<index>[1-9][0-9]{0,8})of(?P<total>[1-9][0-9]{0,8})")
_OPTION = re.compile(r"(?<=\s)--shard(?:=|\s+)\S+")


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardFacts:
    """What one shard says of itself. index: from 1. whole: the id of the cell that it is a part of.

    partition: the digest of who runs which test. tests: how many the whole has; own: how many are this shard's. All
    three are None where `shard.json` cannot be read. differs: in what its files contradict each other.
    """

    index: int
    total: int
    whole: str
    partition: str | None = None
    tests: int | None = None
    own: int | None = None
    differs: str | None = None

    @property
    def name(self) -> str:
        """`shard 3/8`."""
        return f"shard {self.index}/{self.total}"


@dataclass(frozen=True, kw_only=True, slots=True)
class MissingShard:
    """A shard that no folder has. expected: the run folders that should have it, as far as they say so. command: what
    runs it again, None where no other shard says how.
    """

    index: int
    total: int
    expected: tuple[str, ...] = ()
    command: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Sharded:
    """What is known of a cell that was put together from shards. places: the names of their folders below `cells/`.

    complete: whether all tests of the whole are known, so that one that is not among them was lost by nobody here.
    doubts: why the parts do not make the whole, as sentences. notes: what was seen and changes nothing. bad: those of
    `places` in which something failed or is doubted. reports: the digests that manifests have for their reports.
    again: commands that run the parts again that are missing or bad. times: what they took.
    """

    total: int
    delivered: int
    complete: bool = True
    missing: tuple[MissingShard, ...] = ()
    doubts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    places: frozenset[str] = frozenset()
    bad: frozenset[str] = frozenset()
    reports: frozenset[str] = frozenset()
    again: tuple[str, ...] = ()
    times: Times = NO_TIMES


def read(folder: Path, result: Mapping[str, Any]) -> ShardFacts | None:
    """Which shard the evidence in `folder` is; None where it is none. result: the content of its `result.json`.

    The name of the folder says it where neither file can be read: what is damaged is not missing.
    """
    own = left.read(folder)
    names = jsonfile.table(result, "cell")
    said = [
        None if own is None else (own.whole, own.shard.index, own.shard.total),
        _place(jsonfile.table(names, "shard"), jsonfile.text(names, "whole")),
    ]
    if not names:
        said.append(_of_name(folder.name))
    known = [each for each in said if each is not None]
    if not known:
        return None
    whole, index, total = known[0]
    differs = _differs(known, said)
    if differs is None and folder.name != folder_of(whole, index, total):
        differs = f"its folder is called {folder.name}"
    return ShardFacts(
        index=index,
        total=total,
        whole=whole,
        partition=None if own is None else own.partition,
        tests=None if own is None else own.tests,
        own=None if own is None else own.own,
        differs=differs,
    )


_Place = tuple[str, int, int]


def _place(data: Mapping[str, Any], whole: str | None) -> _Place | None:
    index, total = jsonfile.number(data, "index"), jsonfile.number(data, "total")
    if whole is None or not index or not total or not index <= total <= MOST:
        return None
    return whole, index, total


def _of_name(name: str) -> _Place | None:
    found = _FOLDER.fullmatch(name)
    if found is None or not int(found["index"]) <= int(found["total"]) <= MOST:
        return None
    return found["whole"], int(found["index"]), int(found["total"])


def _differs(known: list[_Place], said: list[_Place | None]) -> str | None:
    if len(set(known)) > 1:
        first, second = (f"shard {index}/{total} of {whole}" for whole, index, total in known[:2])
        return f"{left.NAME} says that it is {first}, result.json that it is {second}"
    if said[0] is None:
        return f"{left.NAME} is missing or cannot be read, so nothing shows which tests were its own"
    if all(each is None for each in said[1:]):
        return f"{left.NAME} says that it is a shard, and result.json does not"
    return None


def whole_of(folder: str) -> str:
    """The cell that a folder below `cells/` belongs to: that of its whole, where its name is that of a shard."""
    found = _of_name(folder)
    return folder if found is None else found[0]


def folder_of(whole: str, index: int, total: int) -> str:
    """The name of a shard's folder below `cells/`."""
    return f"{whole}.{index}of{total}"


def command_of(command: str, index: int, total: int) -> str:
    """The command of one shard, made to run another one of the same cell."""
    option = f"--shard {index}/{total}"
    changed, number = _OPTION.subn(option, command)
    return changed if number else f"{command} {option}"


def command_of_whole(command: str) -> str:
    """The command of one shard, made to run all of its cell."""
    return _OPTION.sub("", command).replace("  ", " ").strip()
