"""Walks over recordings once and finds what a renaming concerns: which files move, for whom, and what stays behind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from stackproof.errors import UsageError
from stackproof.recorder.scope import Scope
from stackproof.recorder.store import MODELS, ordinal_of
from stackproof.recordings.corpus import Entry
from stackproof.recordings.query import owner_of
from stackproof.recordings.relocating import Move, place
from stackproof.recordings.renaming import Kind, Renaming, renamed
from stackproof.suggest import did_you_mean


@dataclass(kw_only=True, slots=True)
class Survey:
    """What was found. scopes: (old name, new name) → files; where only a request or `test_id` changes both are equal.

    requests: files whose request names another model from now on; unfolded: those of them that a rule had folded.
    mentions: files of a wider fixture, say, that only name the test during which they were recorded.
    """

    scopes: Counter[tuple[str, str]] = field(default_factory=Counter)
    requests: int = 0
    unfolded: int = 0
    mentions: int = 0
    damaged: list[Entry] = field(default_factory=list)
    names: set[str] = field(default_factory=set)  # of what could have been renamed

    def stranded(self) -> list[Entry]:
        """Damaged files that belong to a scope that moves, by their names: they stay where nobody looks for them."""
        moving = {Scope(name=old).digest[:12] for old, new in self.scopes if old != new}
        return [entry for entry in self.damaged if entry.path.name[:12] in moving]


def survey(entries: Iterable[Entry], renaming: Renaming, integration_root: str, into: Survey) -> Iterator[Move]:
    """The move of every recording that the renaming concerns; model lists belong to no test and to no one model."""
    for entry in entries:
        if entry.content is None:
            into.damaged.append(entry)
            continue
        if entry.path.name.startswith(f"{MODELS}-"):
            continue
        into.names |= _names(entry, renaming.kind)
        after = renamed(entry.content, renaming)
        if after is entry.content:
            continue
        into.scopes[entry.scope, after["scope"]] += 1
        if after["request"] is not entry.content["request"]:
            into.requests += 1
            into.unfolded += "unfolded" in entry.content["request"]
        elif after["scope"] == entry.scope:
            into.mentions += 1
        target = place(entry.setup, after, ordinal_of(entry.path.name), integration_root)
        yield Move(source=entry.name, target=target)


def models_of(entries: Iterable[Entry]) -> frozenset[str]:
    """Every model that a request names."""
    return frozenset(entry.model for entry in entries if entry.model)


def nothing_found(renaming: Renaming, known: Iterable[str]) -> UsageError:
    """The error where a renaming concerns no recording."""
    return UsageError(
        f"no recording is of {renaming.kind.value} {renaming.old!r}{did_you_mean(renaming.old, known)}",
        hint="`stackproof recordings list` shows whose recordings there are",
    )


def doubts(renaming: Renaming, project: Path) -> list[str]:
    """What speaks against the new name: a file or a function that is not there."""
    if renaming.kind in (Kind.PARAMETER, Kind.MODEL, Kind.FIXTURE):
        return []
    file, *names = renaming.new.partition("[")[0].split("::")
    path = project / file
    if not path.exists():
        return [f"there is no {file} in this project yet"]
    if not names or not path.is_file():
        return []
    source = path.read_text(encoding="utf-8", errors="replace")
    return [
        f"{file} defines no {name}"
        for name in names
        if not re.search(rf"\b(?:def|class)\s+{re.escape(name)}\b", source)
    ]


def _names(entry: Entry, kind: Kind) -> set[str]:
    match kind:
        case Kind.MODEL:
            return {entry.model} - {""}
        case Kind.PARAMETER:
            return {entry.scope.partition("[")[2].removesuffix("]")} - {""}
        case Kind.FIXTURE:
            return {entry.scope.partition("[")[0]} if entry.scope.startswith("fixture:") else set()
        case Kind.TEST:
            return {entry.scope, entry.scope.partition("[")[0]} if "::" in entry.scope else set()
        case Kind.FILE:
            return {owner_of(entry.scope).partition("::")[0]} - {""}
        case Kind.FOLDER:
            return {str(folder) for folder in PurePosixPath(owner_of(entry.scope).partition("::")[0]).parents} - {"."}
