"""Sets the Markdown of a page for a terminal.

Code keeps its lines, so that a command can be copied whole; a link to another page has its name behind it, as
`stackproof docs` takes it. Without colour, code in a sentence keeps its backticks.
"""

from __future__ import annotations

import io
import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement, TableElement
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

if TYPE_CHECKING:
    from markdown_it.token import Token

# Of the colours that a terminal itself chooses.
_STYLES = {
    "markdown.code": "cyan",
    "markdown.table.header": "bold",
    "markdown.table.border": "none",
    "markdown.link": "none",
    "markdown.link_url": "none",
}
_RULES = {"h1": "═", "h2": "─"}
# Columns of the terminal, for one of a table that has sentences.
_READABLE = 20
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:")


class _Heading(Heading):
    """At the left, as text is, with a line below it where it is one of the upper two."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(self.text.plain, style="bold")
        if rule := _RULES.get(self.tag):
            yield Text(rule * min(self.text.cell_len, options.max_width))


class _Code(CodeBlock):
    """Indented, each line whole."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        style = console.get_style("markdown.code")
        for line in str(self.text).rstrip().splitlines():
            yield Segment(f"    {line}", style)
            yield Segment.line()


class _Table(TableElement):
    """Columns, or, where they would be too narrow to be read, each row as lines below its first cell."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        head = [cell.content for cell in self.header.row.cells] if self.header and self.header.row else []
        rows = [[cell.content for cell in row.cells] for row in self.body.rows] if self.body else []
        columns = list(zip(head, *rows, strict=False))
        if sum(_needed(column) + 2 for column in columns) - 2 <= options.max_width:
            table = Table(
                box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True, header_style="bold"
            )
            # Where a row takes several lines, an empty one says where it ends.
            table.leading = int(
                sum(max(cell.cell_len for cell in column) + 2 for column in columns) - 2 > options.max_width
            )
            for heading in head:
                # A word that is wider than its column goes on below: a name that is cut is of no use.
                table.add_column(heading, overflow="fold")
            for row in rows:
                table.add_row(*row)
            yield table
            return
        for first, *more in rows:
            yield Text.assemble((first.plain, "bold"))
            for heading, cell in zip(head[1:], more, strict=False):
                if cell.plain:
                    yield Padding(Text(": ").join([heading, cell]) if heading.plain else cell, (0, 0, 0, 2))


def _needed(column: Iterable[Text]) -> int:
    """Columns of the terminal that a column of a table can be read in."""
    cells = list(column)
    longest = max((cell_len(word) for cell in cells for word in cell.plain.split()), default=0)
    return min(max((cell.cell_len for cell in cells), default=0), max(longest, _READABLE))


class _Page(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
        "table_open": _Table,
    }


def page(markdown: str, *, name: str, width: int, colour: bool) -> str:
    """The text of a page. name: the page's own, from which its links count. width: columns, at most."""
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not colour,
        highlight=False,
        emoji=False,
        legacy_windows=False,
        theme=Theme(_STYLES),
    )
    set_page = _Page(markdown, hyperlinks=False)
    set_page.parsed = [token for token in set_page.parsed if token.type != "html_block"]
    for token in _inside(set_page.parsed):
        if token.type == "code_inline" and not colour:
            token.content = f"`{token.content}`"
        elif token.type == "image":
            token.type, token.content = "text", f"(picture: {token.content})"
        elif token.children:
            _name_pages(token.children, posixpath.dirname(name))
    console.print(set_page, crop=False)
    return "".join(f"{line.rstrip()}\n" for line in stream.getvalue().strip("\n").splitlines())


def _inside(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _inside(token.children or [])


def _name_pages(tokens: list[Token], folder: str) -> None:
    """Give links the name of their page; those that lead within it, or to a file that is no page, are text alone."""
    dropped = False
    for token in tokens:
        if token.type == "link_open":
            link = str(token.attrs.get("href", ""))
            if _ADDRESS.match(link):
                continue
            path = posixpath.normpath(posixpath.join(folder, link.partition("#")[0]))
            dropped = link.startswith("#") or path.startswith("..")
            token.attrs["href"] = path.removesuffix(".md")
        if dropped and token.type in ("link_open", "link_close"):
            dropped = token.type == "link_open"
            token.type, token.content = "text", ""
