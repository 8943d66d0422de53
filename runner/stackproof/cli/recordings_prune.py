"""`stackproof recordings prune`: removes what no test asks for any more, and says so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from stackproof import console
from stackproof.cli import recordings_use
from stackproof.cli.cli_words import json_option
from stackproof.cli.listing import print_json
from stackproof.cli.recordings_words import Room, filters, followed, query, recording_dir_option, room
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import ExitCode, UsageError
from stackproof.plaintext import counted
from stackproof.recordings import corpus, disuse, leftovers, observed, pruning
from stackproof.recordings.pruning import Picked, Removal

_STAYS = "nothing is removed: what was deleted cannot be told from what is broken"


@click.command("prune")
@filters
@recording_dir_option
@recordings_use.runs_option
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@json_option
@click.pass_obj
def prune(
    around: Surroundings,
    /,
    *,
    recording_dir: str | None,
    runs: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
    **given: tuple[str, ...],
) -> int:
    """Remove recordings that no test asks for any more.

    Those of tests that are gone; those that a passing test did not ask for in any run that is kept; bodies without
    a recording and temporary files that a killed process left. What no run has shown stays. Recordings are under
    version control: look with --dry-run, and at the diff afterwards.
    """
    where = room(around, recording_dir)
    asked = query(where, given)
    total = corpus.count(where.root, asked.setups)
    pruning.refuse_while_running(where.project)
    try:
        collected = recordings_use.collect(around, where, asked.setups)
    except UsageError as error:
        raise UsageError(f"{error.message}; {_STAYS}", hint=error.hint) from error
    evidence = disuse.gather(
        project=where.project,
        root=where.root,
        catalog=where.catalog,
        environ=around.environ,
        observed=observed.read(where.project, where.root, recordings_use.folders(where, runs)),
        policy=recordings_use.release_policy(where),
        collected=collected,
    )
    walk = followed(leftovers.files(where.root, asked.setups), total, "look")
    found = pruning.pick(where.root, asked, walk, evidence)
    pruning.refuse_unobserved(found, evidence, asked.suites, recordings_use.program(around))
    found.removals.sort(key=lambda one: (one.scope, one.why, one.name))
    if not dry_run:
        pruning.refuse_while_running(where.project)
    gone: list[Removal] = []
    try:
        for group in _by_test(found.removals):
            done = group if dry_run else list(pruning.remove(group, where.root))
            gone += done
            if done and not as_json:
                _show(where, done)
    finally:
        if as_json:
            print_json(_facts(where, found, gone, dry_run=dry_run))
        else:
            _summary(found, gone, dry_run=dry_run)
    return ExitCode.PASS


def _by_test(removals: Iterable[Removal]) -> list[list[Removal]]:
    groups: dict[tuple[str, str, str], list[Removal]] = {}
    for one in removals:
        groups.setdefault((one.scope, one.why, one.name.partition("/")[0]), []).append(one)
    return list(groups.values())


def _show(where: Room, group: list[Removal]) -> None:
    first = group[0]
    console.told(f"{first.scope or 'of no recording'}: {first.why}")
    for one in group:
        console.told(f"    {where.short(one.path)}")


def _summary(found: Picked, gone: list[Removal], *, dry_run: bool) -> None:
    unobserved = sum(found.unobserved.values())
    if unobserved:
        console.told(f"– {unobserved} were not observed and stay; stackproof recordings check says why")
    tests = len({one.scope for one in gone if one.scope})
    of = f" of {counted(tests, 'test or fixture', 'tests or fixtures')}" if tests else ""
    would = "would be removed" if dry_run else "removed"
    console.told(f"{counted(len(gone), 'file')} {would}{of}, {counted(found.files, 'recording')} looked at")


def _facts(where: Room, found: Picked, gone: list[Removal], *, dry_run: bool) -> dict[str, Any]:
    return {
        "schema": 1,
        "kind": "recordings-prune",
        "recording_dir": where.shown,
        "dry_run": dry_run,
        "files": found.files,
        "removed": [
            {
                "file": where.short(one.path),
                "kind": one.kind.value,
                "setup": one.name.partition("/")[0],
                "test": one.scope,
                "why": one.why,
            }
            for one in gone
        ],
        "not_observed": sum(found.unobserved.values()),
    }
