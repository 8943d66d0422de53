"""`stackproof recordings import`: take over what another tool recorded."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import click

from stackproof import console
from stackproof.cli import completing
from stackproof.cli.cli_words import json_option
from stackproof.cli.listing import print_json
from stackproof.cli.recordings_words import Room, followed, room
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import ExitCode, UsageError
from stackproof.recordings.importing import walk
from stackproof.recordings.importing.imported import Choices, Reader
from stackproof.recordings.importing.place import Place
from stackproof.recordings.importing.report import Fate, Report
from stackproof.recordings.wording import counted
from stackproof.suggest import unknown

# In the order in which `auto` asks them.
_READERS = {"ogx": "stackproof.recordings.importing.ogx", "vcr": "stackproof.recordings.importing.vcr"}
_NAMED = 3  # files named for each reason; --json has them all


@click.command("import")
@click.argument("source", shell_complete=completing.files, metavar="DIR")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["auto", *_READERS]),
    default="auto",
    metavar="|".join(["auto", *_READERS]),
    help="Whose recordings they are: OGX's, or vcrpy's cassettes; auto looks into each file. Default: auto.",
)
@click.option(
    "--setup",
    shell_complete=completing.setup,
    metavar="NAME",
    help="The setup they belong to. Default: told by each call's URL.",
)
@click.option("--provider", metavar="NAME", help="Who was called, where the URL does not tell.")
@click.option("--test", metavar="TEST", help="The test that all of them belong to, where the files do not tell.")
@click.option(
    "--rename", "renames", metavar="OLD=NEW", multiple=True,
    help="Tests below the path OLD are below NEW here. May be repeated.",
)  # fmt: skip
@click.option(
    "--into",
    shell_complete=completing.folders,
    metavar="DIR",
    help="Where they are written. Default: where recordings lie.",
)
@click.option("--record-errors", is_flag=True, help="Take answers like 401, 429 and 5xx, too.")
@click.option("--overwrite", is_flag=True, help="Replace other recordings that are in their place.")
@click.option("--dry-run", is_flag=True, help="Read and check everything, and write nothing.")
@json_option
@click.pass_obj
def import_(around: Surroundings, /, source: str, into: str | None, dry_run: bool, as_json: bool, **given: Any) -> int:
    """Take over the recordings in DIR (or one file) that another tool made.

    They become recordings of this project, with their answers as they were and without anything that the source does
    not say. What cannot be told of a file for certain is not guessed: it is refused with the reason, and the exit code
    is 6. A recording that is there already stays; --overwrite replaces it.
    """
    where = room(around, None)
    root, place = Path(around.project / source).absolute(), where.root if into is None else around.project / into
    readers = [_reader(name) for name in (_READERS if given["format_"] == "auto" else [given["format_"]])]
    found = _found(root, source, readers)
    run = walk.Import(
        root=root if root.is_dir() else root.parent,
        readers=readers,
        choices=_choices(where, given),
        place=Place(
            place,
            integration_root=where.catalog.integration_root,
            overwrite=given["overwrite"],
            dry=dry_run,
            environ=around.environ,
            suites=where.catalog.suites,
        ),
    )
    report = run.run(followed(found, len(found), "importing"))
    if as_json:
        print_json(_facts(report, dry_run=dry_run))
    else:
        _tell(report, f"{where.short(place)}{' (dry run: nothing was written)' if dry_run else ''}", around)
    return ExitCode.RECORDINGS if report.refused else ExitCode.PASS


def _reader(name: str) -> Reader:
    return cast("Reader", importlib.import_module(_READERS[name]))


def _found(root: Path, shown: str, readers: Sequence[Reader]) -> list[Path]:
    if root.is_file():
        return [root]
    if not root.is_dir():
        raise UsageError(f"there is no folder {shown} to import from", hint="name a folder or one file")
    found = list(walk.sources(root, readers))
    if not found:
        endings = sorted({suffix for reader in readers for suffix in reader.SUFFIXES})
        raise UsageError(
            f"there is nothing to import in {shown}: no file in it ends with {' or '.join(endings)}",
            hint="name the folder that the other tool writes its recordings to",
        )
    return found


def _choices(where: Room, given: dict[str, Any]) -> Choices:
    setup = where.catalog.setup(given["setup"], where="--setup") if given["setup"] is not None else None
    providers = {
        spec.name for item in ([setup] if setup else where.catalog.setups.values()) for spec in item.providers
    }  # fmt: skip
    if given["provider"] is not None and given["provider"] not in providers:
        raise unknown("provider", given["provider"], providers, where="--provider")
    return Choices(
        setups=where.catalog.setups,
        setup=setup,
        provider=given["provider"],
        renames=tuple(_rename(text) for text in given["renames"]),
        test=given["test"],
        record_errors=given["record_errors"],
        project=where.project,
    )


def _rename(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not (old.strip("/") and equals and new.strip("/")):
        raise UsageError(f"--rename: {text!r} is not OLD=NEW", hint="as tests/integration/inference=tests/base")
    return old.rstrip("/"), new.rstrip("/")


def _tell(report: Report, into: str, around: Surroundings) -> None:
    if report.kinds:
        heads = {Fate.WRITTEN: "written", Fate.PRESENT: "there already", Fate.FOLDED: "folded"}
        rows = [(kind, *(str(fates.get(fate, 0)) for fate in heads)) for kind, fates in report.kinds.items()]
        console.table(rows, head=("call", *heads.values()), environ=around.environ)
        console.told(f"by setup: {', '.join(f'{name} {number}' for name, number in report.setups.items())}")
    if report.count(Fate.FOLDED):
        console.told("folded: an equal answer to the same request of the same test, or a list of the same models")
    for what, number in report.lost.items():
        console.told(f"not carried over in {counted(number, 'call')}: {what}")
    if report.refused:
        console.told(f"refused {len(report.refused):,}:")
    for reason, files in report.reasons.items():
        more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
        console.told(f"  {len(files)} × {reason}\n      {', '.join(files[:_NAMED])}{more}")
    console.told(f"{counted(report.imported, 'call')} of {counted(report.files, 'file')} into {into}")


def _facts(report: Report, *, dry_run: bool) -> dict[str, Any]:
    facts = {
        "schema": 1,
        "dry_run": dry_run,
        "files": report.files,
        "imported": report.imported,
        "kinds": {kind: {fate.value: fates.get(fate, 0) for fate in Fate} for kind, fates in report.kinds.items()},
        "setups": report.setups,
        "lost": report.lost,
        "refused": [{"source": item.source, "reason": item.reason} for item in report.refused],
    }
    return dict(json.loads(json.dumps(facts)))
