"""Which pages there are: their names, titles, headings and files."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import stackproof
from stackproof.errors import StackproofError

LIST = "pages.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """One page. name: its path below the folder, without `.md`. below: the headings that it is listed under."""

    name: str
    title: str
    below: tuple[str, ...]
    path: Path

    def text(self) -> str:
        """Its Markdown."""
        return self.path.read_text(encoding="utf-8")


def folder() -> Path:
    """Where the pages lie: package data of an installed wheel, `docs/` beside `runner/` in an editable install."""
    package = Path(stackproof.__file__).resolve().parent
    for place in (package / "_docs", package.parent.parent / "docs"):
        if (place / LIST).is_file():
            return place
    raise StackproofError("the pages are missing from this installation", hint="install stackproof again")


def known(place: Path) -> tuple[Page, ...]:
    """All pages of a folder, in the order of its list."""
    return tuple(
        Page(name=item["name"], title=item["title"], below=tuple(item["below"]), path=place / f"{item['name']}.md")
        for item in json.loads((place / LIST).read_text(encoding="utf-8"))
    )


def lines(pages: Iterable[Page]) -> Iterator[str]:
    """All pages below their headings, one a line: what to call it, and its title."""
    listed = list(pages)
    width = max((len(page.name) + 2 * len(page.below) for page in listed), default=0)
    above: tuple[str, ...] = ()
    for number, page in enumerate(listed):
        if number and above[:1] != page.below[:1]:
            yield ""
        for depth, heading in enumerate(page.below):
            if above[: depth + 1] != page.below[: depth + 1]:
                yield f"{'  ' * depth}{heading}"
                above = page.below[: depth + 1]
        above = page.below
        indent = "  " * len(page.below)
        yield f"{indent}{page.name.ljust(width - len(indent))}  {page.title}"


def listed(project: Path) -> str:
    """The list of this project's own pages, from what its site has at the side (zensical.toml), as JSON."""
    nav = tomllib.loads((project / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    found = [
        {"name": file.removesuffix(".md"), "title": title or _heading(project / "docs" / file), "below": list(below)}
        for below, title, file in _flat(nav, ())
    ]
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def _flat(nav: Iterable[object], below: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str, str]]:
    for item in nav:
        if isinstance(item, str):
            yield below, "", item
        elif isinstance(item, dict):
            for title, what in item.items():
                if isinstance(what, str):
                    yield below, title, what
                else:
                    yield from _flat(what, (*below, title))


def _heading(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
