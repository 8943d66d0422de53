"""`stackproof recordings rekey`: a rule or an SDK changed, and recordings get the names that look-up asks for now."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice

import click

from stackproof import console, options
from stackproof.cli import completing
from stackproof.cli.cli_words import json_option
from stackproof.cli.listing import print_json
from stackproof.cli.recordings_resend import resend
from stackproof.cli.recordings_words import Room, filters, followed, query, recording_dir_option, room
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import ExitCode, UsageError
from stackproof.recorder.miss import command_for
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope
from stackproof.recordings import carrying, corpus
from stackproof.recordings.query import Query, select
from stackproof.recordings.refolding import Gone, Refolding
from stackproof.recordings.relocating import Plan, settle
from stackproof.recordings.wording import counted

_SHOWN = 20


@click.command("rekey")
@filters
@click.option(
    "--run",
    shell_complete=completing.last_run,
    metavar="RUN",
    help="Pair what this run missed ('last': the newest) with what it did not use.",
)
@click.option("--accept", metavar="PATH", multiple=True, help="The answer stays the same where this JSON path of a "
              "request differs; * stands for anything. May be repeated.")  # fmt: skip
@recording_dir_option
@click.option("--dry-run", is_flag=True, help="Say what would be re-keyed, and change nothing.")
@json_option
@click.pass_obj
def rekey(
    around: Surroundings,
    /,
    *,
    run: str | None,
    accept: tuple[str, ...],
    recording_dir: str | None,
    dry_run: bool,
    as_json: bool,
    **given: tuple[str, ...],
) -> int:
    """Give recordings the key that look-up asks for now.

    Without --run: by the rules of setups and suites that are in force, and by what files hold. With --run: by what an
    SDK sends now. Answers stay as they are.
    """
    where = room(around, recording_dir)
    asked = query(where, given)
    if accept and run is None:
        raise UsageError("--accept is about what a run missed, and needs --run", hint="add --run last, for the newest")
    with carrying.alone(where.root):
        if dry_run:
            carrying.refuse_unfinished(where.root)
        finished = carrying.finish(where.root)
        if finished is not None and not as_json:
            console.told(str(finished))
        if run is not None:
            return resend(where, asked, run, accept=accept, dry_run=dry_run, as_json=as_json)
        found = _look(where, asked)
        plan = settle(where.root, "rekey", found.moves, found.form)
        if (plan.moves or plan.folded) and not dry_run:
            carrying.carry_out(where.root, plan, found.form)
    program = partial(_record_anew, options.resolve({}, around.environ, around.project).program)
    if as_json:
        print_json({"dry_run": dry_run, **_facts(where, plan, found), "record_anew": _anew(found.gone, program)})
    else:
        for line in (*_lines(where, plan, found, program), _summary(plan, found, dry_run)):
            console.told(line)
    return ExitCode.RECORDINGS if found.gone or found.split or found.damaged else ExitCode.PASS


def _look(where: Room, asked: Query) -> Refolding:
    found = Refolding(catalog=where.catalog, root=where.root)
    paths = followed(corpus.paths(where.root, asked.setups), corpus.count(where.root, asked.setups), "rekey")
    found.take_in(select(where.root, asked, paths))
    return found


def _lines(where: Room, plan: Plan, found: Refolding, program: partial[str]) -> Iterator[str]:
    for move in islice(plan.moves, _SHOWN):
        yield f"{where.shown}/{move.source}\n  → {where.shown}/{move.target}"
    if len(plan.moves) > _SHOWN:
        yield f"and {len(plan.moves) - _SHOWN} more; --json names every file"
    for name, files in found.by_rule.items():
        yield f"rule {name} changes {counted(files, 'request')}"
    if found.healed:
        yield f"{counted(found.healed, 'file')} lay where nothing looks for them"
    for move in plan.folded:
        yield f"{where.shown}/{move.source} is in {where.shown}/{move.target} already"
    for entry, suites in found.split:
        yield f"✗ {where.short(entry.path)}: suites {' and '.join(suites)} fold it differently; it was left as it is"
    for entry in found.damaged:
        yield f"✗ {where.short(entry.path)} {entry.damage}; it was left as it is"
    for name in sorted(found.strangers):
        yield f"warning: there is no setup {name} any more; its recordings were left as they are"
    yield from _gone(found.gone, program)


def _gone(gone: Iterable[Gone], program: partial[str]) -> Iterator[str]:
    commands: dict[str, Counter[str]] = defaultdict(Counter)
    for one in gone:
        commands[", ".join(one.rules)][program(one)] += 1
    for names, those in commands.items():
        files = counted(those.total(), "file")
        yield f"✗ {files} folded by rule {names}, which is not in force any more; to be recorded anew:"
        yield from (f"  {command}" for command in islice(those, _SHOWN))
        if len(those) > _SHOWN:
            yield f"  and {len(those) - _SHOWN} more; --json names them all"


def _record_anew(program: str, one: Gone) -> str:
    """The command that records it: what a rule folded is in no file."""
    suite = f" --suite {shlex.quote(one.suite)}" if one.suite else ""
    scope = Scope(name=one.entry.scope, test_id=one.entry.test_id or None)
    return command_for(f"{program}{suite} --setup {shlex.quote(one.entry.setup)}", scope, Mode.RECORD)


def _anew(gone: Iterable[Gone], program: partial[str]) -> list[dict[str, object]]:
    return [{"file": one.entry.name, "rules": list(one.rules), "command": program(one)} for one in gone]


def _summary(plan: Plan, found: Refolding, dry_run: bool) -> str:
    folded = f", {len(plan.folded)} folded into an equal one" if plan.folded else ""
    anew = f", {len(found.gone)} to record anew" if found.gone else ""
    return f"Summary: {len(plan.moves)}/{found.total} files {'would be ' if dry_run else ''}re-keyed{folded}{anew}"


def _facts(where: Room, plan: Plan, found: Refolding) -> dict[str, object]:
    return {
        "schema": 1,
        "total": found.total,
        "moved": [{"from": move.source, "to": move.target} for move in plan.moves],
        "folded": [{"from": move.source, "to": move.target} for move in plan.folded],
        "rules": dict(found.by_rule),
        "healed": found.healed,
        "split": [{"file": entry.name, "suites": list(suites)} for entry, suites in found.split],
        "damaged": [{"file": where.short(entry.path), "damage": entry.damage} for entry in found.damaged],
        "unknown_setups": sorted(found.strangers),
    }
