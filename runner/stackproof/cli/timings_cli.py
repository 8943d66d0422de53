"""`stackproof timings`: how long tests took, to balance shards by."""

from __future__ import annotations

from pathlib import Path

import click

from stackproof import console
from stackproof.cli.cli_words import json_option
from stackproof.cli.listing import print_json
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import NothingRanError, UsageError
from stackproof.evidence import jsonfile
from stackproof.plaintext import counted
from stackproof.plan import RUNS
from stackproof.shards import timings, timings_file
from stackproof.shards.timings import Timings


@click.command("timings")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[RUN…]")
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write them into this file."
)
@json_option
@click.pass_obj
def command(around: Surroundings, paths: tuple[Path, ...], output: Path | None, as_json: bool) -> int:
    """Say how long tests took, and write it down for `--timings`.

    RUN is a run folder, a folder of such, an older file of this command, or a JUnit report; without any it is
    .stackproof/runs. Of what ran several times the median counts. The file is sorted and rounded to two digits, one
    test a line, so that it can be kept in the repository: --output ci/timings.json.

    \b
    Exit codes: 0 written; 2 a wrong command line, or a path that is not there;
    3 no time was found, and nothing is written.
    """
    for path in paths or (RUNS,):
        if not (around.project / path).exists():
            raise UsageError(f"there is no {path}", hint=f"`stackproof run` makes a run, below {RUNS}")
    found = timings.read(paths or (RUNS,), project=around.project)
    for problem in found.problems:
        click.echo(f"not read: {problem}", err=True)
    if not found.count:
        raise NothingRanError(
            f"no test with a time is in {', '.join(map(str, paths)) or RUNS}", hint="`stackproof run` makes some"
        )
    text = timings_file.text(found.cells, found.rows)
    if output is not None:
        jsonfile.write_text(around.project / output, text)
    if as_json:
        print_json(jsonfile.parsed(text))
        return 0
    console.table(_rows(found), head=("cell", "tests", "seconds", "start"), environ=around.environ)
    if output is not None:
        console.out(f"{counted(found.count, 'time')} in {output}")
    return 0


def _rows(found: Timings) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        (
            str(key),
            str(len(cell.tests)),
            f"{sum(cell.tests.values()):.1f}",
            "–" if cell.start is None else f"{cell.start:.1f}",
        )
        for key, cell in found.cells.items()
    ]
    if found.rows:
        rows.append(("JUnit reports", str(len(found.rows)), f"{sum(found.rows.values()):.1f}", "–"))
    return rows
