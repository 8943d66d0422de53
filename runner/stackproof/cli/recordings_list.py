"""`stackproof recordings list`: a line for each recording, written while they are read."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import click

from stackproof import console
from stackproof.cli.cli_words import json_option
from stackproof.cli.recordings_words import filters, followed, query, recording_dir_option, room
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import ExitCode
from stackproof.recordings import corpus
from stackproof.recordings.listing import Order, Row, Total, ordered, row
from stackproof.recordings.query import select
from stackproof.recordings.wording import counted, json_text, one_line, shortened, shortened_left, size

_SAMPLE = 200  # rows that decide how wide the columns are; a longer cell later moves its line, no more
_WIDEST = 40  # past that a column is ragged
_WIDE = 110  # columns of a terminal that has room for everything
_ENDPOINT = 20  # characters of an endpoint where there is no more room
_DIGITS = 6  # of either half of a name: enough for `show`, as a rule


@click.command("list")
@filters
@click.option(
    "--sort",
    type=click.Choice([order.value for order in Order]),
    default=Order.NAME.value,
    metavar="|".join(order.value for order in Order),
    help="Sort by this; the oldest and the largest come first. Default: name.",
)
@recording_dir_option
@json_option
@click.pass_obj
def list_(around: Surroundings, /, sort: str, as_json: bool, recording_dir: str | None, **given: Any) -> int:
    """List recordings, a line for each.

    On a terminal the lines are cut to its width and begin with the first digits of the file's name; elsewhere they are
    whole and begin with its path.
    """
    where = room(around, recording_dir)
    asked = query(where, given)
    found: Iterable[Path] = corpus.paths(where.root, asked.setups)
    if sort != Order.NAME.value or not sys.stdout.isatty():  # else the lines themselves tell how far it is
        found = followed(found, corpus.count(where.root, asked.setups), "reading recordings")
    rows = ordered((row(entry) for entry in select(where.root, asked, found)), Order(sort))
    total = Total()
    if as_json:
        _write_json(rows, total)
        return ExitCode.PASS
    width = _width(around)
    # A heading for each folder needs the order of the folders.
    grouped = width is not None and sort == Order.NAME.value
    for line in _lines(rows, total, width, prefix="" if grouped else f"{where.shown}/", grouped=grouped):
        console.out(line)
    damaged = f", {total.damaged} damaged" if total.damaged else ""
    mark = "; ~ is a stream" if width is not None and width < _WIDE else ""
    console.told(f"{counted(total.files, 'recording')}, {size(total.bytes)}{damaged}{mark}")
    return ExitCode.PASS


def _width(around: Surroundings) -> int | None:
    """Columns of the terminal, or those that COLUMNS asks for; None where lines may be as long as they are."""
    asked = around.environ.get("COLUMNS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _write_json(rows: Iterable[Row], total: Total) -> None:
    """One object, its array written item by item."""
    print('{\n  "schema": 1,\n  "recordings": [', end="")
    for item in rows:
        print(f"{',' if total.files else ''}\n    {json_text(item.facts, indent=None)}", end="")
        total.count(item)
    console.out(f'\n  ],\n  "files": {total.files},\n  "bytes": {total.bytes},\n  "damaged": {total.damaged}\n}}')


def _lines(rows: Iterator[Row], total: Total, width: int | None, *, prefix: str, grouped: bool) -> Iterator[str]:
    sample = list(islice(rows, _SAMPLE))
    narrow = width is not None and width < _WIDE
    columns = [_cells(item, narrow=narrow) for item in sample]
    widths = [min(max((len(cells[at]) for cells in columns), default=0), _WIDEST) for at in range(5)]
    folder = None
    for item in chain(sample, rows):
        total.count(item)
        path, _, name = item.file.rpartition("/")
        if grouped and path != folder:
            folder = path
            yield path
        yield _line(item, name, prefix, widths, width, grouped=grouped)


def _cells(item: Row, *, narrow: bool) -> tuple[str, str, str, str, str]:
    outcome = item.exception or str(item.status)
    if narrow:  # no room for the model
        return (
            f"{outcome}{'~' if item.streaming else ''}",
            "",
            shortened_left(item.endpoint, _ENDPOINT),
            "",
            size(item.bytes),
        )
    form = "stream" if item.streaming else ""
    return outcome, form, f"{item.method} {item.endpoint}", item.model, size(item.bytes)


def _line(item: Row, name: str, prefix: str, widths: list[int], width: int | None, *, grouped: bool) -> str:
    shown = f"  {_digits(name)}" if grouped else item.file if width is None else _short(item.file)
    if width is None:
        shown = f"{prefix}{shown}"
    if item.damage is not None:
        return _cut(f"{shown}  damaged: {one_line(item.damage)}", width)
    cells = _cells(item, narrow=width is not None and width < _WIDE)
    columns = [
        f"{cell:>{wide}}" if at == len(cells) - 1 else f"{cell:<{wide}}"
        for at, (cell, wide) in enumerate(zip(cells, widths, strict=True))
        if wide
    ]
    line = one_line("  ".join([shown, *columns]))
    if width is None:
        return f"{line}  {one_line(item.scope) or '-'}"
    return f"{line}  {shortened_left(_test(item.scope), max(width - len(line) - 2, 0))}".rstrip()


def _cut(line: str, width: int | None) -> str:
    return line if width is None else shortened(line, width)


def _digits(name: str) -> str:
    scope, _, request = name.removesuffix(".json").partition("-")
    digits, dash, number = request.partition("-")
    # A model list has words and two digests in its name.
    return f"{scope[:_DIGITS]}-{digits[:_DIGITS]}{dash}{number[:_DIGITS]}"


def _short(file: str) -> str:
    setup, _, rest = file.partition("/")
    return f"{setup}/{_digits(rest.rpartition('/')[2])}"


def _test(scope: str) -> str:
    """A scope without its folders, which stand in the heading."""
    scope = one_line(scope)
    base, colons, name = scope.partition("::")
    return f"{base.rpartition('/')[2]}{colons}{name}" if colons else scope
