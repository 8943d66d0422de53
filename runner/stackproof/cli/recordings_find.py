"""`stackproof recordings find IDENTITY`: where it is looked up, what is there, and who else has the same request."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from typing import Any

import click

from stackproof import console
from stackproof.cli import recordings_words as words
from stackproof.cli.cli_words import json_option
from stackproof.cli.listing import print_json
from stackproof.cli.recordings_words import Room
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import ExitCode
from stackproof.evidence import jsonfile
from stackproof.recordings import finding, looking
from stackproof.recordings.finding import Findings, Hit
from stackproof.recordings.looking import Place
from stackproof.recordings.wording import counted, one_line

_SHOWN = 20


@click.command("find")
@click.argument("identity")
@click.option("--setup", metavar="NAME", multiple=True, help="Only recordings of this setup. May be repeated.")
@words.recording_dir_option
@json_option
@click.pass_obj
def find(
    around: Surroundings, identity: str, setup: tuple[str, ...], recording_dir: str | None, as_json: bool
) -> ExitCode:
    """Tell where IDENTITY is looked up and what is there.

    IDENTITY is SCOPE-REQUEST[-N], as --debug and `explain` print it, a request's digest or its first digits, the first
    digits of a scope's digest, or the name or path of a file. Exit code 0 when a call would find it, 6 when not.
    """
    where = words.room(around, recording_dir)
    asked = finding.parse(identity)
    found = finding.find(
        where.root, asked, setups=setup, integration_root=where.catalog.integration_root,
        known_scopes=looking.scopes_of_runs(where.project, where.root),
    )  # fmt: skip
    if as_json:
        print_json({"schema": 1, **facts(where, found)})
    else:
        for line in lines(where, found):
            console.told(line)
    return ExitCode.PASS if found.is_there else ExitCode.RECORDINGS


def lines(where: Room, found: Findings) -> Iterator[str]:
    """What was found, for a person."""
    asked = found.asked
    if asked.name:
        yield f"file     {asked.name}"
        unknown = f"{asked.scope}, which no recording and none of the last runs names"
        yield f"scope    {one_line(found.scope) if found.scope else unknown}"
        yield f"request  {_request(found) or asked.request}"
        yield ""
    yield from what_is_there(where, found)


def what_is_there(where: Room, found: Findings) -> Iterator[str]:
    """Where it is looked up, what is there, and the same request elsewhere."""
    if found.places:
        yield f"looked for {'in this order' if _one_setup(found.places) else 'in this order, in each setup'}"
        yield from looked(where, found)
        yield ""
    yield from _hits(where, found)
    if found.elsewhere:
        yield ""
        yield from _elsewhere(where, found)


def looked(where: Room, found: Findings) -> Iterator[str]:
    """One line for each folder, by setup: whether the file is there. Setups without the request are one line."""
    by_setup: dict[str, list[Place]] = {}
    for place in found.places:
        by_setup.setdefault(place.setup, []).append(place)
    with_some = {hit.entry.setup for hit in found.hits or found.elsewhere}.intersection(by_setup)
    shown = {setup: those for setup, those in by_setup.items() if not with_some or setup in with_some}
    rows = [(setup if not n else "", where.short(place.folder), _there(place, found.asked.name))
            for setup, those in shown.items() for n, place in enumerate(those)]  # fmt: skip
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for setup, folder, there in rows:
        yield f"  {setup:<{widths[0]}}  {folder:<{widths[1]}}  {there}"
    others = [setup for setup in by_setup if setup not in shown]
    if others:
        yield f"  {', '.join(others)}: nothing"


def _there(place: Place, name: str) -> str:
    there = [path.name for path in place.files]
    if name in there:
        return "there"
    if not name and there:  # lists of models: whichever there are answer
        return f"there: {', '.join(there)}"
    return f"not there, but {', '.join(there)}" if there else "not there"


def _one_setup(places: Iterable[Place]) -> bool:
    return len({place.setup for place in places}) == 1


def _request(found: Findings) -> str:
    hits = found.hits or found.elsewhere
    return _asked(hits[0]) if hits else ""


def _asked(hit: Hit) -> str:
    entry = hit.entry
    if entry.content is None:
        return ""
    model = f", model {entry.model}" if entry.model else ""
    return f"{entry.method} {one_line(entry.endpoint)} of {entry.provider}{model}"


def _hits(where: Room, found: Findings) -> Iterator[str]:
    if not found.hits:
        yield "nothing is recorded of it" if found.asked.name else "no recording has such a digest"
        return
    looked_in = {place.folder for place in found.places}
    yield (
        f"{counted(len(found.hits), 'recording')} of it"
        if not found.asked.either
        else (f"{counted(len(found.hits), 'recording')} with this digest")
    )
    for hit in found.hits[:_SHOWN]:
        astray = bool(looked_in) and hit.number and hit.entry.path.parent not in looked_in
        yield from _told(where, hit, ", in a folder in which nobody looks for it" if astray else "")
    if len(found.hits) > _SHOWN:
        yield f"  and {len(found.hits) - _SHOWN} more; --json tells all"


def _told(where: Room, hit: Hit, note: str = "") -> Iterator[str]:
    entry = hit.entry
    yield f"  {where.short(entry.path)}{note}"
    if entry.content is None:
        yield f"    damaged: {entry.damage}"
        return
    number = f"number {hit.number}" if hit.number else "a list of models, which belongs to no scope"
    status = entry.content["response"].get("status")
    yield f"    {number}, {_asked(hit)}, status {status}{_recorded(hit)}"
    if hit.number:
        yield f"    {one_line(entry.scope)}"


def _recorded(hit: Hit) -> str:
    told = jsonfile.text(jsonfile.table(hit.entry.content or {}, "provenance"), "recorded_at")
    return f", recorded {told[:10]}" if told else ""


def _elsewhere(where: Room, found: Findings) -> Iterator[str]:
    scopes = {hit.entry.scope for hit in found.elsewhere}
    yield f"the same request is recorded for {counted(len(scopes), 'other scope')}"
    for hit in found.elsewhere[:_SHOWN]:
        yield f"  {where.short(hit.entry.path)}"
        yield f"    {one_line(hit.entry.scope) or 'damaged'}"
    if len(found.elsewhere) > _SHOWN:
        yield f"  and {len(found.elsewhere) - _SHOWN} more; --json tells all"
    if found.is_there or not found.scope:
        return
    old = next((hit.entry.scope for hit in found.elsewhere if hit.entry.scope), None)
    if old is not None:
        yield "was the test renamed?"
        yield f"  stackproof recordings rename {shlex.quote(old)} {shlex.quote(found.scope)}"


def facts(where: Room, found: Findings) -> dict[str, Any]:
    """What was found, for a program."""
    asked = found.asked
    return {
        "asked": {"scope": asked.scope, "request": asked.request, "either": asked.either, "number": asked.number},
        "file": asked.name or None,
        "scope": found.scope,
        "is_there": found.is_there,
        "looked_in": [
            {
                "setup": place.setup,
                "folder": where.short(place.folder),
                "files": [path.name for path in place.files],
                "is_there": asked.name in {path.name for path in place.files},
            }
            for place in found.places
        ],
        "found": [_facts_of(where, hit) for hit in found.hits],
        "same_request": [_facts_of(where, hit) for hit in found.elsewhere],
    }


def _facts_of(where: Room, hit: Hit) -> dict[str, Any]:
    entry = hit.entry
    response = entry.content["response"] if entry.content is not None else {}
    return {
        "file": where.short(entry.path),
        "setup": entry.setup,
        "number": hit.number or None,
        "scope": entry.scope,
        "test": entry.test_id,
        "provider": entry.provider,
        "method": entry.method,
        "endpoint": entry.endpoint,
        "model": entry.model,
        "status": response.get("status"),
        "recorded_at": jsonfile.text(jsonfile.table(entry.content or {}, "provenance"), "recorded_at"),
        "damage": entry.damage,
    }
