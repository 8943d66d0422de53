"""What is wrong with a built site: links and images that lead nowhere, ids twice, what is fetched from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# A browser fetches these when it shows a page; what only a click leads to may lie anywhere.
_FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "object": "data"}
_FETCHED_RELATIONS = {"stylesheet", "icon", "preload", "modulepreload", "preconnect", "dns-prefetch", "prefetch"}
_URL = re.compile(r"""url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)""")
# What the pages hold for their own scripts, not for readers.
_NOT_A_PAGE = ("404.html",)


@dataclass(kw_only=True, slots=True)
class Page:
    """links: targets of `a`. fetched: targets that a browser loads by itself. ids: in their order, doubled ones too."""

    links: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self, page: Page) -> None:
        super().__init__()
        self.page = page
        self._style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.page.ids.append(given["id"])
        if tag == "a" and "href" in given:
            self.page.links.append(given["href"])
        if tag == "link" and _FETCHED_RELATIONS & set(given.get("rel", "").split()):
            self.page.fetched.append(given.get("href", ""))
        if (name := _FETCHED.get(tag)) is not None and given.get(name):
            self.page.fetched.append(given[name])
        if tag == "img" and not given.get("alt", "").strip():
            self.page.silent.append(given.get("src", ""))
        self._style = tag == "style"

    def handle_data(self, data: str) -> None:
        if self._style:
            self.page.fetched += ["".join(each) for each in _URL.findall(data)]


def read(path: Path) -> Page:
    """What a page names."""
    page = Page()
    _Reader(page).feed(path.read_text(encoding="utf-8"))
    return page


def problems(site: Path) -> Iterator[str]:
    """A sentence for everything that is wrong, page by page."""
    pages = {path.resolve(): read(path) for path in sorted(site.rglob("*.html")) if path.name not in _NOT_A_PAGE}
    for path, page in pages.items():
        shown = path.relative_to(site.resolve()).as_posix()
        for each in dict.fromkeys(name for name in page.ids if page.ids.count(name) > 1):
            yield f"{shown}: the id {each!r} is there {page.ids.count(each)} times"
        for each in page.silent:
            yield f"{shown}: the image {each} has no alternative text"
        for each in dict.fromkeys(page.fetched):
            if (wrong := _fetched(path, each)) is not None:
                yield f"{shown}: {wrong}"
        for each in dict.fromkeys(page.links):
            if (wrong := _linked(path, each, pages, site)) is not None:
                yield f"{shown}: {wrong}"
    for path in sorted(site.rglob("*.css")):
        for each in _URL.findall(path.read_text(encoding="utf-8")):
            if (wrong := _fetched(path, "".join(each))) is not None:
                yield f"{path.relative_to(site).as_posix()}: {wrong}"


def _fetched(path: Path, target: str) -> str | None:
    parts = urlsplit(target)
    if parts.scheme == "data" or target.startswith("#"):
        return None
    if parts.scheme or parts.netloc:
        return f"{target} is fetched from elsewhere"
    return None if (path.parent / unquote(parts.path)).is_file() else f"{target} is fetched, and is not there"


def _linked(path: Path, target: str, pages: dict[Path, Page], site: Path) -> str | None:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return None
    place = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if place.is_dir():
        place /= "index.html"
    if not place.is_relative_to(site.resolve()) or not place.is_file():
        return f"the link {target} leads nowhere"
    if parts.fragment and place in pages and unquote(parts.fragment) not in pages[place].ids:
        return f"the link {target} leads to no such heading"
    return None
