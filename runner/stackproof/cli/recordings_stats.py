"""`stackproof recordings stats`: how many there are, of what, from where and how old."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click

from stackproof import console
from stackproof.cli.cli_words import json_option
from stackproof.cli.recordings_words import filters, followed, query, recording_dir_option, room
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import ExitCode
from stackproof.recordings import corpus
from stackproof.recordings.query import select
from stackproof.recordings.tallies import By, Tallies
from stackproof.recordings.wording import counted, json_text, one_line, size


@click.command("stats")
@filters
@click.option(
    "--by",
    type=click.Choice([kind.value for kind in By]),
    multiple=True,
    metavar="TABLE",
    help=f"Only this table: {', '.join(kind.value for kind in By)}. May be repeated.",
)
@recording_dir_option
@json_option
@click.pass_obj
def stats(around: Surroundings, /, by: tuple[str, ...], as_json: bool, recording_dir: str | None, **given: Any) -> int:
    """Count recordings by what they are.

    The tables are of setups, suites, providers, endpoints, models, status, age, and where the answers came from.
    """
    where = room(around, recording_dir)
    asked = query(where, given)
    kinds = [By(kind) for kind in dict.fromkeys(by)] or list(By)
    found = followed(
        corpus.paths(where.root, asked.setups), corpus.count(where.root, asked.setups), "reading recordings"
    )
    tallies = Tallies(where.suites, datetime.now(UTC), kinds)
    tallies.count(select(where.root, asked, found))
    if as_json:
        console.out(json_text(_facts(tallies, kinds)))
        return ExitCode.PASS
    damaged = f", {tallies.damaged} damaged" if tallies.damaged else ""
    console.told(f"{counted(tallies.files, 'recording')}, {size(tallies.bytes)}{damaged}, in {where.shown}/")
    for kind in kinds:
        rows = [(f"{files:>7,}", f"{size(count):>8}", one_line(name)) for name, files, count in tallies.rows(kind)]
        if rows:
            console.out("")
            console.table(rows, head=("  files", "    size", kind.value.replace("-", " ")), environ=around.environ)
    return ExitCode.PASS


def _facts(tallies: Tallies, kinds: list[By]) -> dict[str, Any]:
    return {
        "schema": 1,
        "files": tallies.files,
        "bytes": tallies.bytes,
        "damaged": tallies.damaged,
        "by": {
            kind.value: [{"name": name, "files": files, "bytes": count} for name, files, count in tallies.rows(kind)]
            for kind in kinds
        },
    }
