"""`stackproof recordings explain FILE | TEST`: how a file came by its name; what a test has recorded and misses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from stackproof import console
from stackproof.cli import completing, recordings_form
from stackproof.cli import recordings_words as words
from stackproof.cli.cli_words import json_option
from stackproof.cli.recordings_form import titled
from stackproof.cli.recordings_words import Room
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import ExitCode, UsageError
from stackproof.evidence import jsonfile
from stackproof.recorder.canonical import canonical
from stackproof.recordings import explaining, lookup
from stackproof.recordings.explaining import Explained
from stackproof.recordings.meaning import meaning
from stackproof.recordings.showing import headline
from stackproof.recordings.wording import json_text, one_line

_FILE = re.compile(r"(?:models-)?[0-9a-f]+(?:-[0-9a-f]+)*(?:-\d+)?(?:\.json)?")


@click.command("explain")
@click.argument("what", shell_complete=completing.tests, metavar="FILE | TEST")
@click.option("--setup", metavar="NAME", multiple=True, help="Of a test: only this setup's. May be repeated.")
@click.option("--full", is_flag=True, help="Bodies and differences in full.")
@words.recording_dir_option
@json_option
@click.pass_obj
def explain(
    around: Surroundings, /, what: str, setup: tuple[str, ...], recording_dir: str | None, **form: bool
) -> ExitCode:
    """Tell how FILE came by its name, or what TEST has recorded and what it misses.

    FILE is a path, a file's name or its first digits. TEST is a node id, a test file, or a pattern with *. Exit code 6
    when a file has not the name that follows from it, or no call finds it; when a test has no recordings, or the newest
    run of it missed some.
    """
    where = words.room(around, recording_dir)
    if not _is_file(what, where):
        from stackproof.cli import recordings_explain_test  # noqa: PLC0415

        return recordings_explain_test.explain(where, what, setup, full=form["full"], as_json=form["as_json"])
    path = lookup.one(what, where.root, where.project)
    if not path.is_relative_to(where.root):
        raise UsageError(
            f"{what} does not lie below {where.shown}/, so no run looks for it there",
            hint="--recording-dir names another folder; `stackproof recordings show` shows any recording",
        )
    explained = explaining.explain(lookup.load(path, where.root, where.short(path)), where.root, where.catalog)
    if form["as_json"]:
        console.out(json_text({"schema": 1, "recording": facts(where, explained)}))
    else:
        for line in lines(where, explained, full=form["full"]):
            console.told(line)
    return ExitCode.RECORDINGS if explained.faults else ExitCode.PASS


def _is_file(what: str, where: Room) -> bool:
    if not what.strip():
        raise UsageError("no recording and no test is named", hint="name one: stackproof recordings explain FILE")
    if "::" in what or "*" in what:
        return False
    if (where.project / what).is_dir():  # a folder of tests is one of many tests, and one of recordings a mistake
        return (where.project / what).resolve().is_relative_to(where.root.resolve())
    return what.endswith(".json") or bool(_FILE.fullmatch(Path(what).name))


def lines(where: Room, one: Explained, *, full: bool) -> Iterator[str]:
    """The whole story of a file, for a person."""
    yield where.short(one.entry.path)
    yield ""
    if one.number:
        yield from recordings_form.scope(one.entry.scope, one.identity)
    else:
        yield from titled("scope", ["none: a list of models answers whoever asks for it"])
    yield from recordings_form.request(one.form, one.identity, full=full)
    yield from titled("number", _number(one))
    yield from titled("name", _name(one))
    yield ""
    if one.number:
        yield from titled("rules", _rules(where, one))
    yield from titled("masked", [f"*** at {path}" for path in one.masked_at] or ["nothing"])
    yield from titled("looked", _folders(where, one))
    content = one.entry.content
    if content is not None:
        yield from titled("answer", [headline(meaning(content)), *_recorded(one)])
    for fault in one.faults:
        yield ""
        yield f"✗ {one_line(fault.what)}"
        yield f"  {fault.hint.replace(f'{where.project}/', '')}"


def _number(one: Explained) -> list[str]:
    if not one.number:
        return ["none; the last digits of the name are a digest of the models' ids"]
    others = [str(number) for number in one.numbers if number != one.number]
    beside = f"; of the same request there is also {', '.join(others)}" if others else ""
    return [f"{one.number} among equal requests of its scope{beside}"]


def _name(one: Explained) -> list[str]:
    steps = f"{one.computed}"
    return [steps, "as the file is called" if one.agrees else f"but the file is called {one.entry.path.name}"]


def _rules(where: Room, one: Explained) -> Iterator[str]:
    yield from recordings_form.in_force(where.catalog, one.entry.setup, one.active)
    if not one.acted:
        yield "none acted when it was recorded"
        return
    yield f"acted when it was recorded: {', '.join(one.acted)}"
    for path in one.folded_at:
        yield f"  * at {path}"
    if one.unfolded:
        yield f"  the request before that had {one.unfolded[:20]}…; what it said there is not in the file"


def _folders(where: Room, one: Explained) -> Iterator[str]:
    for number, folder in enumerate(one.folders):
        here = "   it lies here" if folder == one.entry.path.parent else ""
        yield f"{'then in ' if number else 'for in '}{where.short(folder)}{here}"


def _recorded(one: Explained) -> list[str]:
    told = jsonfile.table(one.entry.content or {}, "provenance")
    words_ = [jsonfile.text(told, key) for key in ("recorded_at", "server", "recorded_with")]
    line = ", ".join(filter(None, words_))
    return [f"recorded {line}"] if line else []


def facts(where: Room, one: Explained) -> dict[str, Any]:
    """The same for a program."""
    return {
        "file": where.short(one.entry.path),
        "setup": one.entry.setup,
        "scope": one.entry.scope if one.number else None,
        "scope_digest": one.identity.scope if one.number else None,
        "form": one.form,
        "canonical": canonical(one.form),
        "request_digest": one.identity.request,
        "number": one.number or None,
        "numbers": list(one.numbers),
        "computed": one.computed,
        "agrees": one.agrees,
        "rules": {
            "in_force": [
                {"suite": those.suite or None, "rules": [dict(rule) for rule in those.rules]} for those in one.active
            ],
            "acted": list(one.acted),
            "folded_at": list(one.folded_at),
            "unfolded": one.unfolded,
        },
        "masked_at": list(one.masked_at),
        "looked_in": [where.short(folder) for folder in one.folders],
        "faults": [{"what": fault.what, "next": fault.hint} for fault in one.faults],
    }
