"""A rule was added, or changed: recordings are folded by the rules that are in force now, and named after that.

What a rule folded before is not in a file any more, so a rule that was removed cannot be undone: such files are told.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from stackproof.catalog.records import Catalog
from stackproof.errors import RecordingError
from stackproof.recorder import recording, rules
from stackproof.recorder.identity import digest
from stackproof.recorder.miss import form_of
from stackproof.recorder.recording import Recording
from stackproof.recorder.store import MODELS, ordinal_of, parse_name
from stackproof.recordings import corpus, folding
from stackproof.recordings.corpus import Entry
from stackproof.recordings.folding import Rules
from stackproof.recordings.placing import misplaced
from stackproof.recordings.relocating import Move, place
from stackproof.recordings.renaming import with_form

_NARROWER = "give the rule a narrower path, or `repeat: ordinal` where the order of such requests is certain"


@dataclass(frozen=True, kw_only=True, slots=True)
class Gone:
    """A recording whose request was folded by rules that are not in force any more."""

    entry: Entry
    rules: tuple[str, ...]
    suite: str


@dataclass(frozen=True, kw_only=True, slots=True)
class _Candidate:
    """A file that rules fold anew. origin: digest of its request before; first: name of the first of its equals."""

    name: str
    origin: str
    ordinal: int
    date: str
    first: str


@dataclass(kw_only=True, slots=True)
class Refolding:
    """What was found. moves: files that rules fold, files that only lie in the wrong place (`healed`), and files whose
    number changes since others come before them. split: files that two suites fold differently. total: files looked at.
    """

    catalog: Catalog
    root: Path
    moves: list[Move] = field(default_factory=list)
    by_rule: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    healed: int = 0
    total: int = 0
    gone: list[Gone] = field(default_factory=list)
    split: list[tuple[Entry, tuple[str, ...]]] = field(default_factory=list)
    damaged: list[Entry] = field(default_factory=list)
    strangers: set[str] = field(default_factory=set)  # setups that the catalog does not know
    _groups: dict[str, list[_Candidate]] = field(default_factory=lambda: defaultdict(list))

    def form(self, move: Move, content: Recording) -> Recording:
        """The new form of a file."""
        if PurePosixPath(move.source).name.startswith(f"{MODELS}-"):
            return content
        setup = move.source.partition("/")[0]
        return refolded(content, folding.active(self.catalog, setup, str(content["scope"]))[0].rules)

    def take_in(self, entries: Iterable[Entry]) -> None:
        """Look at recordings. RecordingError when a rule would make different requests equal that it must not."""
        for entry in entries:
            self.total += 1
            if entry.content is None:
                self.damaged.append(entry)
            elif entry.setup not in self.catalog.setups:
                self.strangers.add(entry.setup)
            elif entry.path.name.startswith(f"{MODELS}-"):
                wrong = misplaced(entry, self.catalog.integration_root)
                self._heal(entry, None if wrong is None else wrong.right)
            else:
                self._look_at(entry, entry.content)
        for group in self._groups.values():
            self.moves += self._numbered(group)

    def _look_at(self, entry: Entry, content: Recording) -> None:
        active = folding.active(self.catalog, entry.setup, entry.scope)
        for one in active:
            lost = [name for name in content.get("rules") or () if name not in {rule["name"] for rule in one.rules}]
            if lost:
                self.gone.append(Gone(entry=entry, rules=tuple(lost), suite=one.suite))
                return
        made = refolded(content, active[0].rules)
        if any(digest(form_of(refolded(content, one.rules)["request"])) != _digest(made) for one in active[1:]):
            self.split.append((entry, tuple(one.suite for one in active)))
            return
        root = self.catalog.integration_root
        if made is content:
            if misplaced(entry, root) is not None:
                self._heal(entry, place(entry.setup, content, ordinal_of(entry.path.name), root))
            return
        for rule in rules.acted(form_of(content["request"]), active[0].rules):
            self.by_rule[str(rule["name"])] += 1
        first = place(entry.setup, made, 1, root)
        self._groups[first].append(_candidate(entry.name, content, first))

    def _heal(self, entry: Entry, right: str | None) -> None:
        if right is not None:
            self.healed += 1
            self.moves.append(Move(source=entry.name, target=right))

    def _numbered(self, group: list[_Candidate]) -> list[Move]:
        """Equal requests in the order that they had; those of several in the order in which they were recorded."""
        first = group[0].first
        there = [name for name in _in_a_row(self.root, first) if name not in {one.name for one in group}]
        runs: dict[str, list[_Candidate]] = defaultdict(list)
        for one in group:
            runs[one.origin].append(one)
        for name in there:
            content = corpus.read(self.root / name, self.root).content
            if content is not None:
                runs[first].append(_candidate(name, content, first))
        if len(runs) == 1:
            return [Move(source=one.name, target=_nth(first, one.ordinal)) for one in group]
        self._may_share(first, [one for run in runs.values() for one in run])
        ordered = heapq.merge(
            *(sorted(run, key=lambda one: one.ordinal) for run in runs.values()), key=lambda one: one.date
        )
        moves = (Move(source=one.name, target=_nth(first, n)) for n, one in enumerate(ordered, start=1))
        return [move for move in moves if move.source != move.target]

    def _may_share(self, first: str, those: list[_Candidate]) -> None:
        setup = first.partition("/")[0]
        made: list[Recording] = []
        blocking: set[str] = set()
        for one in those:
            entry = corpus.read(self.root / one.name, self.root)
            if entry.content is None:
                continue
            active = folding.active(self.catalog, setup, entry.scope)[0].rules
            made.append(refolded(entry.content, active))
            names = {str(rule["name"]) for rule in active if rule.get("repeat") != "ordinal"}
            blocking |= names & {*(made[-1].get("rules") or ())}
        if blocking and not all(_same_answer(made[0], other) for other in made[1:]):
            files = sorted(f"{self.root.name}/{one.name}" for one in those)
            raise RecordingError(
                f"nothing was moved: rule {', '.join(sorted(blocking))} makes different requests of one scope equal, "
                "and their answers differ",
                hint="\n".join([*files, _NARROWER]),
            )


def refolded(content: Recording, those: Rules) -> Recording:
    """The recording as a run with these rules would have written it; the same object where they change nothing."""
    request = content["request"]
    before = form_of(request)
    after = folding.changed_by(before, those)
    if after == before:
        return content
    acted = {str(rule["name"]) for rule in rules.acted(before, those)} | {*(content.get("rules") or ())}
    return {
        **content,
        # What the file held is the request before any rule, unless one had acted on it already.
        "request": {**with_form(request, after), "unfolded": request.get("unfolded") or digest(before)},
        "rules": [str(rule["name"]) for rule in those if rule["name"] in acted],
    }


def _digest(content: Recording) -> str:
    return digest(form_of(content["request"]))


def _candidate(name: str, content: Recording, first: str) -> _Candidate:
    date = (content.get("provenance") or {}).get("recorded_at")
    ordinal = ordinal_of(PurePosixPath(name).name)
    return _Candidate(name=name, origin=_digest(content), ordinal=ordinal, date=str(date or ""), first=first)


def _in_a_row(root: Path, first: str) -> list[str]:
    """Names of the recordings of one request in one scope, in the order of their numbers."""
    folder, stem = (root / first).parent, PurePosixPath(first).stem
    found = [path.name for path in folder.glob(f"{stem}*.json") if parse_name(path.name)]
    return [str(PurePosixPath(first).with_name(name)) for name in sorted(found, key=ordinal_of)]


def _nth(first: str, ordinal: int) -> str:
    return first if ordinal == 1 else f"{first.removesuffix('.json')}-{ordinal}.json"


def _same_answer(one: Recording, other: Recording) -> bool:
    def bare(content: Recording) -> dict[str, Any]:
        return {**content, "request": {"path": content["request"].get("path")}, "rules": []}

    return recording.is_equal(bare(one), bare(other))
