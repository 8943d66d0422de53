"""`stackproof recordings normalize`: files that were written before today's rules, as they would be written today."""

from __future__ import annotations

from collections.abc import Iterable

import click

from stackproof import console
from stackproof.cli.cli_words import json_option
from stackproof.cli.listing import print_json
from stackproof.cli.recordings_words import Room, filters, followed, query, recording_dir_option, room
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import ExitCode
from stackproof.recordings import corpus
from stackproof.recordings.corpus import Entry
from stackproof.recordings.normalising import Change
from stackproof.recordings.query import select
from stackproof.recordings.rewriting import rewrite


@click.command("normalize")
@filters
@recording_dir_option
@click.option("--dry-run", is_flag=True, help="Say what would change, and change nothing.")
@json_option
@click.pass_obj
def normalize(
    around: Surroundings, /, recording_dir: str | None, dry_run: bool, as_json: bool, **given: tuple[str, ...]
) -> int:
    """Bring recordings to what would be written today.

    Times, durations and cache counts become zero, response headers that nobody acts on go, secret fields are masked,
    and the file gets today's layout. Requests and ids stay, so no key changes.
    """
    where = room(around, recording_dir)
    asked = query(where, given)
    found = followed(corpus.paths(where.root, asked.setups), corpus.count(where.root, asked.setups), "normalize")
    total, modified, damaged = 0, list[tuple[str, tuple[Change, ...]]](), list[Entry]()
    for entry in select(where.root, asked, found):
        total += 1
        if entry.content is None:
            damaged.append(entry)
        elif made := rewrite(entry, dry_run=dry_run):
            modified.append((where.short(entry.path), made))
            if not as_json:
                _show(where.short(entry.path), made)
    if as_json:
        print_json(_facts(where, total, modified, damaged, dry_run))
    else:
        for entry in damaged:
            console.told(f"✗ {where.short(entry.path)} {entry.damage}; it was left as it is")
        console.told(f"Summary: {len(modified)}/{total} files {'would be ' if dry_run else ''}modified")
    return ExitCode.RECORDINGS if damaged else ExitCode.PASS


def _show(file: str, made: Iterable[Change]) -> None:
    console.told(file)
    for change in made:
        times = f"  ({change.count} times)" if change.count > 1 else ""
        console.told(f"  {change.rule}{f': {change.path}' if change.path else ''}{times}")


def _facts(
    where: Room, total: int, modified: list[tuple[str, tuple[Change, ...]]], damaged: list[Entry], dry_run: bool
) -> dict[str, object]:
    return {
        "schema": 1,
        "dry_run": dry_run,
        "total": total,
        "modified": len(modified),
        "files": [
            {
                "file": file,
                "changes": [{"rule": one.rule, "path": one.path, "count": one.count} for one in made],
            }
            for file, made in modified
        ],
        "damaged": [{"file": where.short(entry.path), "damage": entry.damage} for entry in damaged],
    }
