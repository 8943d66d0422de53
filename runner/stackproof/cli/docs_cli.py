"""`stackproof docs`: the pages, in the terminal."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence

import click

from stackproof import console
from stackproof.ci import kind
from stackproof.cli import completing
from stackproof.cli.cli_words import json_option
from stackproof.cli.help_pages import WIDEST
from stackproof.cli.listing import SCHEMA, print_json
from stackproof.cli.pages import contents, naming, paging, searching
from stackproof.cli.pages.contents import Page
from stackproof.cli.pages.searching import Hit
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import ExitCode, UsageError


@click.command("docs")
@click.argument("page", required=False, metavar="[PAGE]", shell_complete=completing.page)
@click.option(
    "--search",
    metavar="WORDS",
    help="Name the lines with these words, or with the form of this error. Of PAGE, or all.",
)
@click.option("--path", "as_path", is_flag=True, help="Print where PAGE lies, for an editor; without PAGE, the folder.")
@click.option("--schemas", is_flag=True, help="Print the folder of the JSON schemas of the YAML files, for an editor.")
@json_option
@click.pass_obj
def docs(
    around: Surroundings, /, *, page: str | None, search: str | None, as_path: bool, schemas: bool, as_json: bool
) -> ExitCode:
    """Read the documentation here: the list of pages, or one of them.

    PAGE is a name of the list, with or without its folder. On a terminal it is set for reading and goes through $PAGER;
    elsewhere it is the Markdown of the file.
    """
    place = contents.folder()
    pages = contents.known(place)
    _refuse_two({"--schemas": schemas, "--path": as_path, "--search": search is not None})
    _refuse_two({"--schemas": schemas, "--path": as_path, "--json": as_json})
    _refuse_two({"--schemas": schemas, "PAGE": page is not None})
    if schemas:
        console.out(str(place / "schemas"))
        return ExitCode.PASS
    one = None if page is None else naming.find(page, pages)
    if as_path:
        console.out(str(place if one is None else one.path))
    elif search is not None:
        _search([one] if one else pages, search, around.environ, as_json=as_json)
    elif as_json:
        shown = pages if one is None else [one]
        print_json({"schema": SCHEMA, "pages": [{**_facts(each), "path": str(each.path)} for each in shown]})
    else:
        _show("\n".join(contents.lines(pages)) if one is None else _set(one, around.environ), around.environ)
    return ExitCode.PASS


def _refuse_two(given: Mapping[str, bool]) -> None:
    asked = [name for name, is_given in given.items() if is_given]
    if len(asked) > 1:
        raise UsageError(f"{asked[0]} and {asked[1]} ask for two things", hint="leave one of the two out")


def _facts(page: Page) -> dict[str, object]:
    return {"name": page.name, "title": page.title, "below": list(page.below)}


def _search(pages: Sequence[Page], words: str, environ: Mapping[str, str], *, as_json: bool) -> None:
    if not words.strip():
        raise UsageError("--search: there is no word in it", hint="stackproof docs --search WORD")
    hits = searching.search(pages, words)
    if not hits:
        where = "no page" if len(pages) > 1 else f"no line of {pages[0].name}"
        raise UsageError(f"{where} has the words {words!r}", hint="try fewer of them; stackproof docs lists the pages")
    if as_json:
        found = [{"page": hit.page, "line": hit.line, "text": hit.text} for hit in hits]
        print_json({"schema": SCHEMA, "found": found})
    else:
        _show("\n".join(_told(hits, _columns(environ))), environ)


def _told(hits: Sequence[Hit], columns: int | None) -> Iterator[str]:
    """`page:line: text`, in a terminal only as much of the text as a line has room for."""
    for hit in hits:
        where = f"{hit.page}:{hit.line}: "
        room = max(20, columns - len(where)) if columns else len(hit.text)
        start = max(0, min(hit.at - room // 3, len(hit.text) - room))
        text = hit.text[start : start + room]
        before, after = start > 0, start + room < len(hit.text)
        yield where + f"{'…' if before else ''}{text[before : room - after]}{'…' if after else ''}".strip()


def _set(page: Page, environ: Mapping[str, str]) -> str:
    columns = _columns(environ)
    if columns is None:
        return page.text().rstrip("\n")
    from stackproof.cli.pages import setting  # noqa: PLC0415 - a tenth of a second, for a terminal alone

    colour = not console.is_plain(sys.stdout, environ)
    return setting.page(page.text(), name=page.name, width=min(columns, WIDEST), colour=colour).rstrip("\n")


def _show(text: str, environ: Mapping[str, str]) -> None:
    """On standard output, by way of a pager where a person sits at it."""
    at_terminal = _columns(environ) is not None and environ.get("TERM") not in ("dumb", "unknown")
    pager = paging.program(environ) if at_terminal else None
    if pager is not None and paging.show(f"{text}\n", pager, environ):
        return
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # Who has read enough of it leaves, as from `| less`. Nothing may be written there any more, at exit neither.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _columns(environ: Mapping[str, str]) -> int | None:
    """How wide the terminal of a person is; None where the output is a file's, a pipe's or a CI system's."""
    if not sys.stdout.isatty() or kind.of(environ) is not kind.Kind.NONE:
        return None
    return shutil.get_terminal_size().columns
