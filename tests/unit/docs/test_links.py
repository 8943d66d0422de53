"""The pages of the documentation lead to what is there: files, folders and headings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[3]
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]

_FENCED = re.compile(r"^(```|~~~)[^\n]*\n.*?^\1[ \t]*$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\]\(([^()\s]+)\)|^\[[^\]]+\]:\s+(\S+)|(?:src|href)=\"([^\"]+)\"", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)


def links(text: str) -> list[str]:
    """The targets that lie in this repository, outside of code."""
    found = ("".join(each) for each in _LINK.findall(_CODE.sub("", _FENCED.sub("", text))))
    return [target for target in found if not re.match(r"[a-z][a-z0-9+.-]*:", target)]


def anchors(text: str) -> set[str]:
    """The names that GitHub gives to the headings of a page: in lower case, without marks, `-1` behind a second one."""
    found: set[str] = set()
    for heading in _HEADING.findall(_FENCED.sub("", text)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = base = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        number = 0
        while name in found:
            number += 1
            name = f"{base}-{number}"
        found.add(name)
    return found


def leads_nowhere(page: Path, target: str) -> bool:
    """Whether there is no such file or folder, or no such heading on that page."""
    path, _, anchor = target.partition("#")
    place = page.parent / path if path else page
    if not place.exists():
        return True
    return bool(anchor) and place.suffix == ".md" and anchor not in anchors(place.read_text(encoding="utf-8"))


def dead(page: Path) -> list[str]:
    """The links of a page that lead to nothing."""
    return [target for target in links(page.read_text(encoding="utf-8")) if leads_nowhere(page, target)]


@pytest.mark.parametrize("page", PAGES, ids=[page.relative_to(PROJECT).as_posix() for page in PAGES])
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert dead(page) == []


def test_a_link_to_nothing_is_found(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# What it *is*\n\n## Twice\n\n## Twice\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(
        "# Here\n[a](other.md#what-it-is) [b](other.md#twice-1) [c](#here) [d](https://example.com/x) `[e](code.md)`\n"
        "```\n[f](fenced.md)\n```\n[g](gone.md) [h](other.md#twice-2) [i](#there)\n\n[j]: also-gone.md\n",
        encoding="utf-8",
    )
    assert dead(page) == ["gone.md", "other.md#twice-2", "#there", "also-gone.md"]
