"""What a test has recorded, in the order of its calls, and what the newest run of it asked for in vain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackproof.evidence import jsonfile
from stackproof.recorder.identity import Form, Identity, digest
from stackproof.recorder.miss import differences, form_of
from stackproof.recorder.scope import Scope
from stackproof.recorder.store import parse_name
from stackproof.recordings import observed, proposing
from stackproof.recordings.corpus import Entry
from stackproof.recordings.observed import Observed
from stackproof.recordings.proposing import Proposal
from stackproof.recordings.query import is_below, is_of, owner_of

Line = Mapping[str, Any]
_NUMBER = re.compile(r"(?:asked for number|call) (\d+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What one cell of a run says of a test: its calls and its misses, in order."""

    run: str
    cell: str
    setup: str
    calls: tuple[Line, ...]
    misses: tuple[Line, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Unmet:
    """One miss. message: as the run gave it. times: how often it came. nearest: the recording of the same scope and
    setup that differs least, None where the miss is not about that; proposal: how, and what could be done about it.
    same: another scope that has this very request recorded, where this one has nothing. since: the recording that
    answers it now, as it came or was moved after that run.
    """

    seen: Seen
    kind: str
    scope: str
    message: str
    request: Form | None
    times: int
    nearest: Entry | None = None
    proposal: Proposal | None = None
    same: str | None = None
    since: Entry | None = None

    @property
    def command(self) -> str | None:
        """The command that records it, as the run printed it."""
        marks = ("record it:", "record this test anew")
        lines = self.message.splitlines()
        for number, line in enumerate(lines):
            if marks[0] in line:
                return line.partition(marks[0])[2].strip()
            if marks[1] in line and number + 1 < len(lines):
                return lines[number + 1].strip()
        return None


def newest(project: Path, root: Path, test: str) -> tuple[Seen, ...]:
    """The cells of the newest run in which the test took part; none where no run is left that did."""
    found: list[Seen] = []
    for cell in observed.read(project, root):
        if not found or cell.run == found[0].run:
            found += _seen(cell, test)
    return tuple(found)


def _seen(cell: Observed, test: str) -> Iterator[Seen]:
    calls, misses = (tuple(_of(lines, test)) for lines in (cell.calls(), cell.misses()))
    if calls or misses or any(is_of(nodeid, test) for nodeid in cell.log.collected or ()):
        yield Seen(run=cell.run, cell=cell.cell, setup=cell.setup, calls=calls, misses=misses)


def _of(lines: Iterable[Line], test: str) -> Iterator[Line]:
    return (line for line in lines if any(is_of(name, test) for name in _names(line)))


def _names(line: Line) -> Iterator[str]:
    yield from filter(None, (jsonfile.text(line, "scope"), jsonfile.text(line, "test_id")))


def in_order(entries: Sequence[Entry], seen: Sequence[Seen]) -> list[tuple[Entry, int | None]]:
    """Recordings with the place that their first use had in the run, in that order; the unused ones last, by name."""
    used: dict[str, int] = {}
    for one in seen:
        for call in one.calls:
            file = jsonfile.text(call, "file")
            if file is not None and call.get("kind") in ("replayed", "recorded", "observed"):
                used.setdefault(f"{one.setup}/{Path(file).name}", len(used) + 1)
    placed = [(entry, used.get(f"{entry.setup}/{entry.path.name}")) for entry in entries]
    first = {(entry.setup, entry.scope): place for entry, place in reversed(placed) if place is not None}

    def key(pair: tuple[Entry, int | None]) -> tuple[Any, ...]:
        entry, place = pair
        # Tests of one file stay together, in the order in which they began.
        begun = first.get((entry.setup, entry.scope))
        scope = (begun is None, begun or 0, entry.scope)
        return (entry.setup, scope, place is None, place or 0, _number(entry), entry.name)

    return sorted(placed, key=key)


def _number(entry: Entry) -> int:
    parsed = parse_name(entry.path.name)
    return parsed.ordinal if parsed else 0


def misses(seen: Sequence[Seen], entries: Sequence[Entry]) -> list[Unmet]:
    """Each miss of the run once, beside the recording that comes nearest."""
    counted: dict[tuple[str, str], list[tuple[Seen, Line]]] = {}
    for one in seen:
        for line in one.misses:
            counted.setdefault((one.cell, str(line.get("message"))), []).append((one, line))
    return [_unmet(*those[0], times=len(those), entries=entries) for those in counted.values()]


def _unmet(seen: Seen, line: Line, *, times: int, entries: Sequence[Entry]) -> Unmet:
    request = line.get("request")
    form = request if isinstance(request, dict) else None
    scope = str(line.get("scope") or "")
    kind = str(line.get("kind"))
    nearest: tuple[Entry, Proposal] | None = None
    beside = [entry for entry in entries if entry.setup == seen.setup and entry.content is not None]
    since = None if form is None else _answer(form, scope, _asked_for(line), beside)
    if form is not None and kind == "no-match" and since is None:
        nearest = _nearest(form, [entry for entry in beside if entry.scope == scope])
    return Unmet(
        seen=seen,
        kind=kind,
        scope=scope,
        message=str(line.get("message") or ""),
        request=form,
        times=times,
        nearest=None if nearest is None else nearest[0],
        proposal=None if nearest is None else nearest[1],
        same=_same(form, beside) if form is not None and kind == "nothing-recorded" and since is None else None,
        since=since,
    )


def _asked_for(line: Line) -> int:
    """The number among equal requests that had no recording, which only the message tells."""
    found = _NUMBER.search(str(line.get("message")))
    return int(found[1]) if found else 1


def _answer(form: Form, scope: str, number: int, entries: Sequence[Entry]) -> Entry | None:
    name = Identity(scope=Scope(name=scope).digest, request=digest(form)).file_name(number)
    return next((entry for entry in entries if entry.path.name == name), None)


def _same(form: Form, entries: Sequence[Entry]) -> str | None:
    request = digest(form)[:20]
    for entry in entries:
        parsed = parse_name(entry.path.name)
        if parsed is not None and parsed.request == request:
            return entry.scope
    return None


def _nearest(form: Form, entries: Sequence[Entry]) -> tuple[Entry, Proposal] | None:
    best: tuple[int, Entry, Form] | None = None
    for entry in entries:
        if entry.content is None:
            continue
        recorded = form_of(entry.content["request"])
        apart = len(list(differences(recorded, form)))
        if best is None or apart < best[0]:
            best = (apart, entry, recorded)
    return None if best is None else (best[1], proposing.compare(best[2], form))


def fixtures_for(test: str, entries: Sequence[Entry], seen: Sequence[Seen]) -> list[str]:
    """Scopes of wider fixtures that may serve the test: those of its folders, file and class, and those it set up."""
    told = {
        str(call.get("scope"))
        for one in seen
        for call in (*one.calls, *one.misses)
        if is_of(str(call.get("test_id")), test)
    }
    above = {
        entry.scope
        for entry in entries
        if entry.scope.startswith("fixture:") and is_below(test, owner_of(entry.scope) or test)
    }
    return sorted({name for name in told if name.startswith("fixture:")} | above)
