"""`stackproof recordings rename`: recordings follow their test, or the model that they ask, to its new name."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import islice

import click

from stackproof import console
from stackproof.cli import completing
from stackproof.cli.cli_words import json_option
from stackproof.cli.listing import print_json
from stackproof.cli.recordings_words import Room, followed, recording_dir_option, room
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import ExitCode, UsageError
from stackproof.recordings import carrying, corpus
from stackproof.recordings.carrying import Finished
from stackproof.recordings.corpus import Entry
from stackproof.recordings.relocating import Plan, settle
from stackproof.recordings.renaming import Kind, Renaming, of_names, renamed
from stackproof.recordings.survey import Survey, doubts, models_of, nothing_found, survey
from stackproof.recordings.wording import counted

_SHOWN = 20


@click.command("rename")
@click.argument("old", shell_complete=completing.tests)
@click.argument("new")
@click.option("--parameter", is_flag=True, help="OLD and NEW are the id of a parameter, in whichever test it is.")
@click.option("--model", is_flag=True, help="OLD and NEW are a model, as requests and tests name it.")
@click.option("--setup", metavar="NAME", multiple=True, help="Only recordings of this setup. May be repeated.")
@recording_dir_option
@click.option("--dry-run", is_flag=True, help="Say what would move, and move nothing.")
@json_option
@click.pass_obj
def rename(
    around: Surroundings,
    /,
    *,
    old: str,
    new: str,
    parameter: bool,
    model: bool,
    setup: tuple[str, ...],
    recording_dir: str | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Move recordings to the new name of a test, a model, or what else they belong to.

    OLD and NEW are node ids (tests/a.py::test_b, tests/a.py::test_b[x]), files, folders, or scopes of fixtures
    (fixture:tests/a.py::name), relative to the project. Answers stay as they are.
    """
    where = room(around, recording_dir)
    renaming = _renaming(old, new, parameter=parameter, model=model)
    what = shlex.join(["rename", *_flags(renaming, setup), renaming.old, renaming.new])
    with carrying.alone(where.root):
        if dry_run:
            carrying.refuse_unfinished(where.root)
        finished = carrying.finish(where.root)
        if finished is not None:
            _show_finished(finished, as_json=as_json, is_all=finished.what == what)
            if finished.what == what:
                return ExitCode.PASS
        if renaming.kind is Kind.MODEL:
            renaming = renaming.beside(models_of(_entries(where, setup, "models")))
        found = Survey()
        moves = list(survey(_entries(where, setup, "rename"), renaming, where.catalog.integration_root, found))
        if not moves:
            raise nothing_found(renaming, found.names)
        plan = settle(where.root, what, moves, lambda _, content: renamed(content, renaming))
        if not dry_run:
            carrying.carry_out(where.root, plan, lambda _, content: renamed(content, renaming))
    warnings = doubts(renaming, where.project)
    if as_json:
        print_json(_facts(where, renaming, plan, found) | {"dry_run": dry_run, "warnings": warnings})
    else:
        for line in (
            *_lines(where, renaming, plan, found),
            *(f"warning: {text}" for text in warnings),
            _summary(plan, dry_run),
        ):
            console.told(line)
    return ExitCode.RECORDINGS if found.stranded() else ExitCode.PASS


def _renaming(old: str, new: str, *, parameter: bool, model: bool) -> Renaming:
    if parameter and model:
        raise UsageError(
            "--parameter and --model exclude each other",
            hint="leave --parameter out: --model renames the model in the parameters of tests too",
        )
    if not parameter and not model:
        return of_names(old, new)
    if not old or not new or old == new:
        raise UsageError(
            f"{old!r} cannot be renamed to {new!r}: two different names are needed",
            hint=f"stackproof recordings rename --{'model' if model else 'parameter'} OLD NEW",
        )
    return Renaming(kind=Kind.MODEL if model else Kind.PARAMETER, old=old, new=new)


def _flags(renaming: Renaming, setups: tuple[str, ...]) -> Iterator[str]:
    if renaming.kind in (Kind.PARAMETER, Kind.MODEL):
        yield f"--{renaming.kind.value}"
    for name in setups:
        yield from ("--setup", name)


def _entries(where: Room, setups: tuple[str, ...], what: str) -> Iterator[Entry]:
    found = followed(corpus.paths(where.root, setups), corpus.count(where.root, setups), what)
    return (corpus.read(path, where.root) for path in found)


def _show_finished(finished: Finished, *, as_json: bool, is_all: bool) -> None:
    if not as_json:
        console.told(str(finished))
        if is_all:
            console.told(f"Summary: {counted(finished.files, 'file')} moved")
    elif is_all:
        print_json({"schema": 1, "finished": finished.what, "files": finished.files})


def _lines(where: Room, renaming: Renaming, plan: Plan, found: Survey) -> Iterator[str]:
    moved = sorted((old, new, files) for (old, new), files in found.scopes.items() if old != new)
    for old, new, files in islice(moved, _SHOWN):
        yield f"{old}\n  → {new}   {counted(files, 'file')}"
    if len(moved) > _SHOWN:
        yield f"and {len(moved) - _SHOWN} more; --json names every file"
    if found.mentions:
        yield f"{counted(found.mentions, 'file')} of a wider scope recorded during such a test: its name follows there"
    if found.requests:
        asked = counted(found.requests, "request")
        yield f"{asked} for {renaming.new} from now on; answers still name the model that gave them"
    if found.unfolded:
        yield (
            f"{found.unfolded} of them had been folded by a rule: the digest of the request before it is not kept, "
            "since it cannot be told any more"
        )
    for move in plan.folded:
        yield f"{where.shown}/{move.source} is in {where.shown}/{move.target} already"
    for entry in found.stranded():
        yield f"✗ {where.short(entry.path)} {entry.damage}; it was left where nobody looks for it any more"
    if (where.project / "ci/release.yaml").is_file():
        yield "ci/expected/ may still expect the old names: stackproof policy update, after a run"


def _summary(plan: Plan, dry_run: bool) -> str:
    setups = {move.source.partition("/")[0] for move in (*plan.moves, *plan.folded)}
    folded = f", {len(plan.folded)} folded into an equal one" if plan.folded else ""
    moved = f"{counted(len(plan.moves), 'file')} {'would be ' if dry_run else ''}moved"
    return f"Summary: {moved}{folded} in {counted(len(setups), 'setup')}"


def _facts(where: Room, renaming: Renaming, plan: Plan, found: Survey) -> dict[str, object]:
    return {
        "schema": 1,
        "kind": renaming.kind.value,
        "old": renaming.old,
        "new": renaming.new,
        "scopes": [{"old": old, "new": new, "files": files} for (old, new), files in found.scopes.items()],
        "moved": [{"from": move.source, "to": move.target} for move in plan.moves],
        "folded": [{"from": move.source, "to": move.target} for move in plan.folded],
        "requests": found.requests,
        "unfolded_dropped": found.unfolded,
        "damaged": [{"file": where.short(entry.path), "damage": entry.damage} for entry in found.stranded()],
    }
