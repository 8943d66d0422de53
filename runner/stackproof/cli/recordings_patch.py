"""`stackproof recordings patch` and `apply`: recordings from a job that may not write to one that may."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from stackproof import console
from stackproof.ci import log
from stackproof.cli import completing
from stackproof.cli.cli_words import json_option
from stackproof.cli.recordings_words import Room, recording_dir_option, room
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import ExitCode, UsageError
from stackproof.evidence import jsonfile
from stackproof.recorder import redact
from stackproof.recordings import gitrange, markdown, pairing, patching
from stackproof.recordings.comparing import Kind
from stackproof.recordings.patching import Checked, Limits, Place
from stackproof.recordings.patching_content import Known
from stackproof.recordings.patching_text import RefusedError
from stackproof.recordings.reporting import Summary, change_facts
from stackproof.recordings.wording import counted, json_text, one_line, size

_DEFAULT = Limits()
_SHOWN = 50  # changes in full


@click.command("patch")
@click.option("--base", metavar="REV", default="HEAD", help="The commit that the patch is for. Default: HEAD.")
@click.option(
    "--output", shell_complete=completing.files, metavar="FILE", required=True, help="Where the patch is written."
)
@recording_dir_option
@json_option
@click.pass_obj
def patch(around: Surroundings, /, *, base: str, output: str, as_json: bool, recording_dir: str | None) -> int:
    """Write what changed below the recording directory as a patch.

    Only recordings are in it, so that a job that does not trust this one can check it and apply it. Nothing that it
    would refuse is written. Where nothing changed the patch is there all the same, and changes nothing.

    \b
    Exit codes: 0 written; 6 a recording may not go into a patch;
    2 no repository, a revision that is not known.
    """
    where = room(around, recording_dir)
    place = _place(around, where)
    commit = patching.head(place, base)
    text, others = patching.make(place, commit)
    limits = Limits(files=max(_DEFAULT.files, text.count(b"\ndiff --git ")), bytes=max(_DEFAULT.bytes, len(text) * 4))
    with patching.checked(place, text, limits, base=commit) as good:
        summary = _summary(good, place)
        _write(where.project / output, text)
        if as_json:
            facts = {"file": output, "bytes": len(text), "left_out": list(others)}
            console.out(json_text({**_facts("recordings-patch", good, summary), **facts}))
            return ExitCode.PASS
        with log.fenced(around.environ):
            for line in (*_lines(good, summary, place), *_left_out(others)):
                console.told(line)
            console.told(f"written: {output}, {size(len(text))}; `stackproof recordings apply {output}` takes it")
    return ExitCode.PASS


@click.command("apply")
@click.argument("file", shell_complete=completing.files, metavar="FILE")
@click.option("--check", "only_check", is_flag=True, help="Look at the patch and change nothing.")
@click.option(
    "--max-files",
    type=click.IntRange(min=1),
    default=_DEFAULT.files,
    metavar="N",
    help=f"How many files it may have. Default: {_DEFAULT.files}.",
)
@click.option(
    "--max-bytes",
    type=click.IntRange(min=1),
    default=_DEFAULT.bytes,
    metavar="N",
    help=f"How large it may be. Default: {_DEFAULT.bytes}.",
)
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown, for a comment on a pull request.")
@recording_dir_option
@json_option
@click.pass_obj
def apply(
    around: Surroundings, /, *, file: str, only_check: bool, as_markdown: bool, as_json: bool,
    recording_dir: str | None, **limits: int,
) -> int:  # fmt: skip
    """Check a patch of recordings that somebody else made, and apply it.

    It may touch recordings and nothing else: regular files with names and in folders that the recorder gives, as it
    writes them, without a secret, and for the commit that is checked out. All of that is looked at in a copy first.
    The changes are staged; nothing is committed.

    \b
    Exit codes: 0 applied, or fit to be; 6 refused, and nothing changed;
    2 no such file, no repository, recordings that are not committed.
    """
    if as_markdown and as_json:
        raise UsageError("--markdown and --json exclude each other", hint="leave one of them out")
    most = Limits(files=limits["max_files"], bytes=limits["max_bytes"])
    where = room(around, recording_dir)
    place = _place(around, where)
    text = _read(where.project / file, file, most.bytes)
    try:
        with patching.checked(place, text, most) as good:
            summary = _summary(good, place)
            if not only_check:
                patching.apply(place, good)
            if as_json:
                facts = {"applied": not only_check, "refused": []}
                console.out(json_text({**_facts("recordings-apply", good, summary), **facts}))
            elif as_markdown:
                console.out(_markdown(good, summary, place))
            else:
                with log.fenced(around.environ):
                    for line in _lines(good, summary, place):
                        console.told(line)
                    console.told(_end(good, only_check=only_check))
    except RefusedError as error:
        if as_json:
            refused = {"schema": 1, "kind": "recordings-apply", "applied": False, "refused": list(error.sentences)}
            console.out(json_text(refused))
        elif as_markdown:
            console.out("### Recordings: the patch is refused\n")
            for sentence in error.sentences:
                console.out(f"- {markdown.code(sentence, 400)}")
        if as_json or as_markdown:
            return error.exit_code
        raise
    return ExitCode.PASS


def _place(around: Surroundings, where: Room) -> Place:
    secrets = {
        name: redact.known_values(spec.all_secrets, around.environ) for name, spec in where.catalog.setups.items()
    }
    known = Known(integration_root=where.catalog.integration_root, secrets=secrets)
    return patching.place_of(where.project, where.root, around.environ, known)


def _read(path: Path, shown: str, most: int) -> bytes:
    """Not more than one byte beyond what is allowed."""
    if not path.is_file():
        raise UsageError(f"there is no file {shown}", hint="`stackproof recordings patch --output FILE` writes one")
    with path.open("rb") as file:
        return file.read(most + 1)


def _write(path: Path, text: bytes) -> None:
    jsonfile.write_text(path, text.decode("utf-8"))


def _summary(good: Checked, place: Place) -> Summary:
    summary = Summary(limit=_SHOWN)
    with gitrange.sides(good.between, good.between.top / place.name) as (old, new):
        try:
            summary.take(pairing.changes(old, new))
        except RecursionError:  # just flat enough to be looked at
            raise RefusedError("a recording in it is nested too deeply to be compared") from None
    return summary


def _new(good: Checked, place: Place, summary: Summary) -> dict[str, list[str]]:
    root = good.between.top / place.name
    return {
        key: [name for name in summary.new_names(names) if not gitrange.knew(good.between, root, key, name)]
        for key, names in (("model", summary.models), ("provider", summary.providers))
    }


def _facts(kind: str, good: Checked, summary: Summary) -> dict[str, Any]:
    return {
        "schema": 1,
        "kind": kind,
        "base": good.patch.base,
        "files": [each.path for each in good.changed],
        "counts": {kind.name.lower(): summary.counts[kind] for kind in Kind},
        "changed_in_meaning": summary.in_meaning,
        "changes": [change_facts(change) for change in summary.shown],
        "changes_left_out": summary.left_out,
    }


def _markdown(good: Checked, summary: Summary, place: Place) -> str:
    new = _new(good, place, summary)
    names = good.between.names
    return markdown.report(summary, names, new_models=new["model"], new_providers=new["provider"]).rstrip("\n")


def _lines(good: Checked, summary: Summary, place: Place) -> Iterator[str]:
    number = counted(len(good.changed), "file")
    differ = "differs" if len(good.changed) == 1 else "differ"
    yield f"{number} below {place.name}/ {differ} from commit {good.patch.base[:12]}"
    for kind in Kind:
        if summary.counts[kind]:
            yield f"{summary.counts[kind]:>7,}  {kind.value}"


def _left_out(others: tuple[str, ...]) -> Iterator[str]:
    if others:
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        yield f"left out, since they are no recordings: {', '.join(map(one_line, others[:3]))}{more}"


def _end(good: Checked, *, only_check: bool) -> str:
    if not good.changed:
        return "nothing to apply"
    return "fit to be applied; nothing was changed" if only_check else "applied and staged; `git commit` is next"
