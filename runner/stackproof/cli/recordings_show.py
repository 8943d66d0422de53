"""`stackproof recordings show`: what was asked and what was answered, for a person."""

from __future__ import annotations

import click

from stackproof import console
from stackproof.cli import completing
from stackproof.cli.cli_words import json_option
from stackproof.cli.recordings_words import recording_dir_option, room
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import ExitCode, UsageError
from stackproof.recordings import lookup, showing
from stackproof.recordings.wording import json_text


@click.command("show")
@click.argument("recordings", shell_complete=completing.files, nargs=-1, required=True, metavar="RECORDING…")
@click.option("--raw", is_flag=True, help="Print the file as it is, and nothing else.")
@click.option("--events", is_flag=True, help="Show the events of a stream, one a line; ┄ marks the start of a chunk.")
@recording_dir_option
@json_option
@click.pass_obj
def show(around: Surroundings, /, recordings: tuple[str, ...], recording_dir: str | None, **form: bool) -> int:
    """Show what was asked and what was answered, recording by recording.

    Beside it stand whose recording it is, the rules that acted on it, and where it came from.

    RECORDING is a path, a file name, or the first digits of a name or of a request's digest.
    """
    raw, events, as_json = form["raw"], form["events"], form["as_json"]
    if raw + events + as_json > 1:
        raise UsageError("--raw, --events and --json exclude each other", hint="leave all but one of them out")
    where = room(around, recording_dir)
    paths = [lookup.one(word, where.root, where.project) for word in recordings]
    if raw:
        for path in paths:
            console.out(path.read_text(encoding="utf-8", errors="replace").rstrip("\n"))
        return ExitCode.PASS
    entries = [(lookup.load(path, where.root, where.short(path)), where.short(path)) for path in paths]
    if as_json:
        console.out(json_text({"schema": 1, "recordings": [showing.facts(entry, name) for entry, name in entries]}))
        return ExitCode.PASS
    for number, (entry, name) in enumerate(entries):
        if number:
            console.out("")
        for line in showing.event_lines(entry, name) if events else showing.lines(entry, name):
            console.told(line)
    return ExitCode.PASS
