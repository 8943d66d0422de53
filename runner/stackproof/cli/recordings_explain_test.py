"""`stackproof recordings explain TEST`: its recordings in the order of its calls, and what its newest run missed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackproof import console
from stackproof.cli.recordings_words import Room, followed
from stackproof.errors import ExitCode
from stackproof.recorder.identity import Identity, digest
from stackproof.recorder.miss import ABSENT
from stackproof.recorder.scope import Scope
from stackproof.recordings import asked_again, corpus, folding, looking, unmet
from stackproof.recordings.asked_again import AskedAgain
from stackproof.recordings.corpus import Entry
from stackproof.recordings.explaining import Explained
from stackproof.recordings.explaining import explain as explain_file
from stackproof.recordings.proposing import Difference, Look, Proposal, looks
from stackproof.recordings.query import is_of
from stackproof.recordings.unmet import Seen, Unmet
from stackproof.recordings.wording import counted, json_text, one_line, value
from stackproof.suggest import did_you_mean

_DIFFERENCES = 8
_BY_LOOK = {
    Look.ID: (
        "what differs looks like an id that is new in every run: no rule folds it;",
        "`stackproof docs ids` tells how the stack's ids can follow from the test",
    ),
    Look.TIME: (
        "what differs looks like a time: no rule folds it;",
        "let the test fix the clock, or keep the time out of what is sent",
    ),
    Look.OTHER: ("no rule folds this: if the change is meant, record it; if not, the code under test changed",),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Story:
    """What there is to tell of a test; `own` with the place of the first use in the run, None where it had none.

    again: by cell, what was asked for real. meant: a test that has recordings and a name like it, for the end of a
    sentence.
    """

    test: str
    own: list[tuple[Entry, int | None]]
    fixtures: dict[str, int]
    seen: tuple[Seen, ...]
    again: dict[str, list[AskedAgain]]
    misses: list[Unmet]
    explained: dict[str, Explained]
    meant: str


def explain(where: Room, test: str, setups: Sequence[str], *, full: bool, as_json: bool) -> ExitCode:
    """Tell it; 6 when nothing is recorded, when a file of it cannot be found by a call, or when calls were missed."""
    story = _story(where, test.removeprefix("./"), setups)
    if as_json:
        console.out(json_text({"schema": 1, **_facts(where, story)}))
    else:
        for line in _lines(where, story, full=full):
            console.told(line)
    open_ones = [miss for miss in story.misses if miss.since is None]
    sound = story.own and not open_ones and not any(one.faults for one in story.explained.values())
    return ExitCode.PASS if sound else ExitCode.RECORDINGS


def _story(where: Room, test: str, setups: Sequence[str]) -> _Story:
    seen = tuple(one for one in unmet.newest(where.project, where.root, test) if not setups or one.setup in setups)
    paths = list(_paths(where, test, setups))
    entries = [corpus.read(path, where.root) for path in followed(paths, len(paths), "reading")]
    own = [entry for entry in entries if is_of(entry.scope, test)]
    fixtures = unmet.fixtures_for(test, entries, seen)
    scopes = {entry.scope for entry in own}
    return _Story(
        test=test,
        own=unmet.in_order(own, seen),
        fixtures={name: sum(entry.scope == name for entry in entries) for name in fixtures if name not in scopes},
        seen=seen,
        again={one.cell: list(asked_again.of(one, entries)) for one in seen},
        misses=unmet.misses(seen, entries),
        meant=did_you_mean(test, {entry.scope for entry in entries if not own}),
        explained={entry.name: explain_file(entry, where.root, where.catalog) for entry in own if entry.content},
    )


def _paths(where: Room, test: str, setups: Sequence[str]) -> Iterator[Path]:
    """The files that may be of interest: of one test only those of its folders, and of the folders above."""
    if "*" in test or ".py" not in test:
        yield from corpus.paths(where.root, setups)
        return
    for setup in corpus.setups(where.root, setups):
        folders: dict[Path, None] = {}
        for folder in looking.folders(
            where.root, setup, test.partition("::")[0] + "::", where.catalog.integration_root
        ):
            folders[folder] = None
            folders.update(dict.fromkeys(above for above in folder.parents if above.is_relative_to(where.root / setup)))
        for folder in folders:
            yield from sorted(path for path in folder.glob("*.json") if path.is_file())


def _lines(where: Room, story: _Story, *, full: bool) -> Iterator[str]:
    yield one_line(story.test)
    yield ""
    yield from _recorded(where, story)
    for name, count in story.fixtures.items():
        yield f"  {one_line(name)}: {counted(count, 'recording')}, of a fixture that may serve it"
    for one in story.explained.values():
        for fault in one.faults:
            yield ""
            yield f"✗ {where.short(one.entry.path)}: {one_line(fault.what)}"
            yield f"  {fault.hint.replace(f'{where.project}/', '')}"
    yield ""
    if not story.seen:
        yield "no run is left that ran it"
    for seen in story.seen:
        many = sum(miss.times for miss in story.misses if miss.seen == seen)
        said = f"{counted(many, 'call')} missed" if many else "nothing missed"
        again = story.again[seen.cell]
        did = f"{counted(len(again), 'call')} observed" if again else f"{counted(_answered(seen), 'call')} answered"
        yield f"newest run of it: {seen.run}, {seen.cell}: {did}, {said}"
        yield from _observed(where, again)
    for miss in story.misses:
        yield ""
        yield from _missed(where, miss, full=full)


def _observed(where: Room, again: Sequence[AskedAgain]) -> Iterator[str]:
    """What the provider said to a run in `verify`, where that is out of the ordinary; else that it is not."""
    for one in again:
        if one.is_plain:
            continue
        retry = ", a retry" if one.retry else ""
        yield f"● {one_line(one.what)} was answered with {one.answer}{retry}"
        if one.file is not None:
            yield f"  observed in {where.short(one.file)}"
        beside = "no recording of it is there" if one.recording is None else where.short(one.recording.path)
        yield f"  beside it: {beside}"
    if plain := sum(one.is_plain for one in again):
        rest = "" if plain == len(again) else "of the others "
        have = "call has a recording beside it" if plain == 1 else "calls have a recording beside them"
        yield f"  {rest}{plain} {have}; `stackproof drift` compares them"


def _answered(seen: Seen) -> int:
    return sum(call.get("kind") in ("replayed", "recorded") for call in seen.calls)


def _recorded(where: Room, story: _Story) -> Iterator[str]:
    if not story.own:
        yield f"nothing is recorded for it{story.meant}"
        return
    for setup in dict.fromkeys(entry.setup for entry, _ in story.own):
        yield from _of_setup(where, story, [pair for pair in story.own if pair[0].setup == setup])


def _of_setup(where: Room, story: _Story, pairs: Sequence[tuple[Entry, int | None]]) -> Iterator[str]:
    setup = pairs[0][0].setup
    run = next((seen.run for seen in story.seen if seen.setup == setup), None)
    order = f"in the order of run {run}" if run else "in the order of names"
    yield f"{counted(len(pairs), 'recording')} of setup {setup}, {order}"
    several = len({entry.scope for entry, _ in pairs}) > 1
    last, number = "", 0
    for entry, place in pairs:
        if several and entry.scope != last:
            last, number = entry.scope, 0
            yield f"  {one_line(last)}"
        number += 1
        yield f"  {number if place or not run else '–':>3}  {_of(story, entry)}"
        yield f"       {where.short(entry.path)}"
    if run and not all(place for _, place in pairs):
        yield "    –  not asked for in that run"


def _of(story: _Story, entry: Entry) -> str:
    explained = story.explained.get(entry.name)
    if explained is None:
        return f"damaged: {entry.damage}"
    model = f", model {entry.model}" if entry.model else ""
    number = f", number {explained.number}" if explained.number > 1 or len(explained.numbers) > 1 else ""
    return one_line(f"{entry.method} {entry.endpoint} of {entry.provider}{model}{number}")


def _missed(where: Room, miss: Unmet, *, full: bool) -> Iterator[str]:
    times = f"   {miss.times} times" if miss.times > 1 else ""
    if miss.since is not None:
        yield f"● {one_line(miss.message.splitlines()[0])}{times}"
        yield f"  there is one since: {where.short(miss.since.path)}"
        return
    if miss.nearest is None or miss.proposal is None:
        first, *more = miss.message.splitlines() or [miss.kind]
        yield f"✗ {one_line(first)}{times}"
        yield from (f"  {one_line(line.strip())}" for line in more if line.strip() != f"record it: {miss.command}")
    else:
        first = miss.message.splitlines()[0]
        yield f"✗ {one_line(first)}{times}"
        yield f"  file     {_name(miss)}"
        yield f"  nearest  {where.short(miss.nearest.path)}, differs in"
        yield from _differences(miss.proposal.differences, full=full)
        yield from _advice(miss.proposal)
    if miss.same is not None:
        yield f"  if it was renamed: stackproof recordings rename {shlex.quote(miss.same)} {shlex.quote(miss.scope)}"
    if miss.command:
        yield f"  record it: {miss.command}"


def _name(miss: Unmet) -> str:
    if miss.request is None:
        return ""
    return Identity(scope=Scope(name=miss.scope).digest, request=digest(miss.request)).file_name()


def _differences(those: Sequence[Difference], *, full: bool) -> Iterator[str]:
    shown = those if full else those[:_DIFFERENCES]
    for one in shown:
        yield f"    {one_line(one.path)}"
        wide = 10_000 if full else 60
        yield f"      recorded {value(one.recorded, wide)}"
        yield f"      sent     {value(one.sent, wide)}"
    if len(shown) < len(those):
        yield f"    and {len(those) - len(shown)} more; --full shows all"


def _advice(proposal: Proposal) -> Iterator[str]:
    rules = ", ".join(map(folding.shown, proposal.rules))
    if proposal.complete:
        yield "  if this differs from run to run by itself, a rule of the setup or the suite makes the two equal:"
        yield f"    rules: [{rules}]"
        yield "  and then `stackproof recordings rekey`, as the recordings that there are get other names by it"
        return
    if rules:
        yield f"  {rules} would fold a part of this, and not {', '.join(one_line(one.path) for one in proposal.left)}"
    for look in sorted(looks(proposal.left)):
        if look is not Look.OTHER or not rules:
            yield from (f"  {line}" for line in _BY_LOOK[look])


def _facts(where: Room, story: _Story) -> dict[str, Any]:
    return {
        "test": story.test,
        "recordings": [
            {
                "file": where.short(entry.path),
                "setup": entry.setup,
                "scope": entry.scope,
                "method": entry.method,
                "endpoint": entry.endpoint,
                "provider": entry.provider,
                "model": entry.model,
                "number": story.explained[entry.name].number if entry.name in story.explained else None,
                "used": place,
                "damage": entry.damage,
                "faults": [
                    {"what": fault.what, "next": fault.hint}
                    for fault in (story.explained[entry.name].faults if entry.name in story.explained else ())
                ],
            }
            for entry, place in story.own
        ],
        "fixtures": [{"scope": name, "recordings": count} for name, count in story.fixtures.items()],
        "runs": [
            {
                "run": seen.run,
                "cell": seen.cell,
                "setup": seen.setup,
                "observed": [_observed_facts(where, one) for one in story.again[seen.cell]],
            }
            for seen in story.seen
        ],
        "misses": [_miss_facts(where, miss) for miss in story.misses],
    }


def _observed_facts(where: Room, one: AskedAgain) -> dict[str, Any]:
    return {
        "call": one.what,
        "status": one.status,
        "seconds": one.seconds,
        "retry": one.retry,
        "file": None if one.file is None else where.short(one.file),
        "recording": None if one.recording is None else where.short(one.recording.path),
    }


def _miss_facts(where: Room, miss: Unmet) -> dict[str, Any]:
    told: dict[str, Any] = {
        "run": miss.seen.run,
        "cell": miss.seen.cell,
        "kind": miss.kind,
        "scope": miss.scope,
        "times": miss.times,
        "message": miss.message,
        "file": _name(miss) or None,
        "command": miss.command,
        "nearest": None if miss.nearest is None else where.short(miss.nearest.path),
        "same_request": miss.same,
        "recorded_since": None if miss.since is None else where.short(miss.since.path),
    }
    if miss.proposal is not None:
        told["differences"] = [
            {
                "path": one.path,
                **{name: item for name, item in (("recorded", one.recorded), ("sent", one.sent)) if item is not ABSENT},
            }
            for one in miss.proposal.differences
        ]
        told["rules"] = [dict(rule) for rule in miss.proposal.rules]
        told["rules_suffice"] = miss.proposal.complete
    return told
