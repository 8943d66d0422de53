"""`stackproof recordings diff`: what changed in meaning between two files, folders, setups, or states in git."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from stackproof import console
from stackproof.cli import completing
from stackproof.cli.cli_words import json_option
from stackproof.cli.recordings_words import Room, filters, followed, query, recording_dir_option, room
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import UsageError
from stackproof.recordings import corpus, gitrange, lookup, markdown, pairing
from stackproof.recordings.comparing import Difference, Kind, compare
from stackproof.recordings.pairing import Change, Side
from stackproof.recordings.query import Query
from stackproof.recordings.reporting import (
    Summary,
    change_facts,
    difference_facts,
    difference_lines,
    equal_in_meaning,
)  # fmt: skip
from stackproof.recordings.wording import counted, json_text, one_line
from stackproof.suggest import did_you_mean, unknown

# As of diff itself; trouble is 2, the code of a wrong command line.
_SAME, _DIFFERENT = 0, 1


@click.command("diff")
@click.argument("sides", shell_complete=completing.files, nargs=-1, metavar="[A [B]]")
@click.option(
    "--git", "between", metavar="RANGE", help="Two states in git: A..B, A...B, or REV against the files here."
)
@click.option(
    "--limit", type=click.IntRange(min=0), default=50, metavar="N", help="Changes shown in full. Default: 50."
)
@click.option("--exit-code", is_flag=True, help="With --git: end with 1 when something changed in meaning.")
@filters
@recording_dir_option
@json_option
@click.pass_obj
def diff(around: Surroundings, /, sides: tuple[str, ...], between: str | None, **given: Any) -> int:
    """Say what changed in the meaning of recordings.

    Requests are compared by JSON path; answers by text, tool calls, finish reason, status, model, usage and events.

    A and B are two recordings, two folders, or two setups; REV:PATH is a recording as it was in git, and A alone is
    compared with its last commit. --git writes Markdown for a comment on a pull request.

    \b
    Exit codes: 0 equal in meaning, 1 different, 2 trouble.
    With --git, 1 only where --exit-code asks for it.
    """
    where = room(around, given["recording_dir"])
    if between is not None:
        if sides:
            raise UsageError(
                "--git compares all recordings, and takes no A and B", hint="stackproof recordings diff --git main"
            )
        return _git(where, between, given)
    if not 1 <= len(sides) <= 2:
        raise UsageError(
            f"stackproof recordings diff compares two recordings, folders or setups, and {len(sides)} are named",
            hint="stackproof recordings diff A B; or two states in git: stackproof recordings diff --git main",
        )
    first, second = sides if len(sides) == 2 else (f"HEAD:{sides[0]}", sides[0])
    folders = [_folder(where, word) for word in (first, second)]
    if folders[0] is not None and folders[1] is not None:
        return _folders(where, folders[0], folders[1], given)
    if folders[0] is not None or folders[1] is not None:
        folder, other = (first, second) if folders[0] is not None else (second, first)
        if len(sides) == 1:
            raise UsageError(
                f"{second} is a folder, and only a recording is compared with its last commit",
                hint="--git HEAD says what changed in all recordings",
            )
        known = corpus.setups(where.root)
        raise UsageError(
            f"{folder} is a folder, and {other} is not{did_you_mean(other, known)}",
            hint=f"diff takes two files, or two folders; setups with recordings: {', '.join(known)}",
        )
    return _files(where, first, second, as_json=given["as_json"])


def _folder(where: Room, word: str) -> Path | None:
    return next((path for path in (where.root / word, where.project / word) if path.is_dir()), None)


def _files(where: Room, first: str, second: str, *, as_json: bool) -> int:
    with ExitStack() as stack:
        contents, shown = [], []
        for word in (first, second):
            path, name = _file(where, word, stack)
            contents.append(lookup.load(path, where.root, name).content or {})
            shown.append(name)
        found = compare(contents[0], contents[1])
    same = found.kind in (Kind.EQUAL, Kind.BYTES, Kind.MOVED)
    if as_json:
        facts = {"schema": 1, "before": shown[0], "after": shown[1], "equal_in_meaning": same}
        console.out(json_text({**facts, "kind": found.kind.name.lower(), "differs": difference_facts(found)}))
        return _SAME if same else _DIFFERENT
    console.out(f"--- {one_line(shown[0])}")
    console.out(f"+++ {one_line(shown[1])}")
    for line in (*difference_lines(found), *_end(found)):
        console.out(line)
    return _SAME if same else _DIFFERENT


def _end(found: Difference) -> Iterator[str]:
    if found.kind is Kind.EQUAL:
        yield "equal"
    elif found.kind in (Kind.BYTES, Kind.MOVED):
        yield equal_in_meaning(found) if found.other else "equal in meaning"
    else:
        yield found.kind.value


def _file(where: Room, word: str, stack: ExitStack) -> tuple[Path, str]:
    revision, colon, path = word.partition(":")
    if not colon or (where.project / word).exists():
        found = lookup.one(word, where.root, where.project)
        return found, where.short(found)
    scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stackproof-diff-")))
    for place in (where.project / path, where.root / path):
        then = gitrange.file_at(where.project, place, revision, scratch)
        if then is not None:
            return then, word
    try:
        now = lookup.one(path, where.root, where.project)  # a prefix is looked up among the files that are there now
    except UsageError:
        now = None
    then = None if now is None else gitrange.file_at(where.project, now, revision, scratch)
    if now is None or then is None:
        raise UsageError(f"{path} does not exist in {revision}", hint="REV:PATH takes a path below the project")
    return then, f"{revision}:{where.short(now)}"


def _folders(where: Room, old: Path, new: Path, given: dict[str, Any]) -> int:
    summary = Summary(limit=given["limit"])
    _take(where, summary, _side(old), _side(new), query(where, given))
    if given["as_json"]:
        _print_json(summary, (where.short(old), where.short(new)))
    else:
        console.out(f"--- {where.short(old)}")
        console.out(f"+++ {where.short(new)}")
        for change in summary.shown:
            for line in _change_lines(change):
                console.out(line)
        for line in _totals(summary):
            console.out(line)
    return _DIFFERENT if summary.in_meaning else _SAME


def _take(where: Room, summary: Summary, old: Side, new: Side, asked: Query) -> None:
    """Compare what is asked for of both sides. UsageError for a setup of which neither has anything, nor the disk."""
    here = corpus.setups(where.root) if asked.setups and where.root.is_dir() else ()
    known = {*here, *(name.partition("/")[0] for side in (old, new) for name in side.names)}
    for setup in asked.setups:
        if setup not in known:
            raise unknown("setup", setup, known, where="--setup")
    old, new = old.narrowed(asked), new.narrowed(asked)
    summary.take(followed(pairing.changes(old, new), max(len(old.names), len(new.names)), "comparing recordings"))


def _side(folder: Path) -> Side:
    found = (path.relative_to(folder) for path in folder.rglob("*.json"))
    return Side(root=folder, names=tuple(sorted(path.as_posix() for path in found if path.name[0] != ".")))


def _change_lines(change: Change) -> Iterator[str]:
    shown = change.shown
    names = dict.fromkeys(side.file for side in (change.before, change.after) if side is not None)
    yield ""
    yield one_line(f"{change.kind.value}: {' → '.join(names)}")
    yield one_line(f"  {shown.scope}  {shown.method} {shown.endpoint}  {shown.model}".rstrip())
    if shown.damage or change.gist:
        yield f"  {one_line(shown.damage or change.gist)}"
    if change.difference is not None:
        yield from difference_lines(change.difference)


def _totals(summary: Summary) -> Iterator[str]:
    if summary.shown or summary.left_out:
        yield ""
    if summary.left_out:
        yield f"{counted(summary.left_out, 'more change')} not shown; --limit shows more"
    for kind in Kind:
        if summary.counts[kind]:
            yield f"{summary.counts[kind]:>7,}  {kind.value}"


def _git(where: Room, between: str, given: dict[str, Any]) -> int:
    span = gitrange.resolve(where.project, between)
    summary = Summary(limit=given["limit"])
    with gitrange.sides(span, where.root) as (old, new):
        _take(where, summary, old, new, query(where, given))
    # A name is new when no file held it before, not even one that did not change.
    models, providers = (
        [name for name in summary.new_names(names) if not gitrange.knew(span, where.root, key, name)]
        for key, names in (("model", summary.models), ("provider", summary.providers))
    )
    if given["as_json"]:
        _print_json(summary, span.names, models=models, providers=providers)
    else:
        console.out(markdown.report(summary, span.names, new_models=models, new_providers=providers).rstrip("\n"))
    return _DIFFERENT if given["exit_code"] and summary.in_meaning else _SAME


def _print_json(summary: Summary, names: tuple[str, str], **more: Any) -> None:
    facts = {
        "schema": 1,
        "before": names[0],
        "after": names[1],
        "counts": {kind.name.lower(): summary.counts[kind] for kind in Kind},
        "changed_in_meaning": summary.in_meaning,
        **({f"new_{name}": found for name, found in more.items()}),
        "servers": [{"before": old, "after": new, "files": n} for (old, new), n in summary.servers.items()],
        "now_synthetic": summary.now_synthetic,
        "no_longer_synthetic": summary.no_longer_synthetic,
        "changes": [change_facts(change) for change in summary.shown],
        "left_out": summary.left_out,
    }
    console.out(json_text(facts))
