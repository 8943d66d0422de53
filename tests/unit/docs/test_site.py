"""The documentation as a site: it is built, nothing in it leads nowhere, and every page can be found."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ci.site import building
from ci.site.__main__ import main
from ci.site.checking import problems

PROJECT = Path(__file__).parents[3]
DOCS = PROJECT / "docs"
CONFIGURATION = tomllib.loads((PROJECT / building.CONFIGURATION).read_text(encoding="utf-8"))["project"]


def listed(entries: list[Any]) -> Iterator[str]:
    """The pages of the navigation, in its order."""
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            yield from listed(value) if isinstance(value, list) else [value]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of this project."""
    if building.zensical() is None:
        pytest.skip("zensical is not installed")
    into = tmp_path_factory.mktemp("site") / "site"
    building.build(PROJECT, into)
    return into


def test_it_is_built_and_sound(site: Path) -> None:
    assert list(problems(site)) == []


def test_it_has_a_page_for_each_in_the_sources_and_nothing_is_written_among_these(site: Path) -> None:
    pages = {path.relative_to(DOCS).with_suffix(".html").as_posix() for path in DOCS.rglob("*.md")}
    assert pages <= {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert not [*PROJECT.glob("site"), *PROJECT.glob(".cache"), *DOCS.rglob("*.html")]


def test_search_looks_into_a_file_of_its_own(site: Path) -> None:
    found = (site / "search.json").read_text(encoding="utf-8")
    assert "How recording and replay work" in found


def test_a_file_of_the_project_that_a_page_names_is_on_the_site(site: Path) -> None:
    copied = site / "files/stacks/reference/benchmark/turns.py.txt"
    assert copied.read_bytes() == (PROJECT / "stacks/reference/benchmark/turns.py").read_bytes()


def test_the_drawing_is_text_on_its_page(site: Path) -> None:
    text = (site / "architecture.html").read_text(encoding="utf-8")
    assert "<title id=" in text
    assert ">recorder</text>" in text


def test_a_bar_in_a_table_is_there_without_its_backslash(site: Path) -> None:
    assert "<code>--shard I/N|auto</code>" in (site / "reference/options.html").read_text(encoding="utf-8")


def test_every_page_is_in_the_navigation_once() -> None:
    pages = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
    assert sorted(listed(CONFIGURATION["nav"])) == pages


def test_the_navigation_begins_with_what_a_newcomer_needs() -> None:
    doors = [next(iter(entry)) for entry in CONFIGURATION["nav"]]
    assert doors == ["Start", "How-to", "Explanation", "Reference", "Troubleshooting", "Decisions"]
    assert list(listed(CONFIGURATION["nav"]))[:2] == ["index.md", "start.md"]


GOOD = '<link rel="stylesheet" href="site.css"><body><h1 id="here">A</h1><a href="#here">b</a></body>'


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A site of two pages that is sound."""
    (tmp_path / "site.css").write_text("p { color: red }\n", encoding="utf-8")
    (tmp_path / "index.html").write_text(GOOD, encoding="utf-8")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/index.html").write_text(
        '<h1 id="there">A</h1><a href="../index.html#here">b</a>', encoding="utf-8"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("html", "said"),
    [
        ('<a href="gone.html">a</a>', "the link gone.html leads nowhere"),
        ('<a href="other/#here">a</a>', "the link other/#here leads to no such heading"),
        ('<a href="#gone">a</a>', "the link #gone leads to no such heading"),
        ('<a href="../secret.html">a</a>', "the link ../secret.html leads nowhere"),
        ('<p id="here"></p>', "the id 'here' is there 2 times"),
        ('<img src="gone.svg" alt="A">', "gone.svg is fetched, and is not there"),
        ('<img src="site.css">', "the image site.css has no alternative text"),
        ('<script src="https://example.com/a.js"></script>', "https://example.com/a.js is fetched from elsewhere"),
        ('<link rel="preconnect" href="//example.com">', "//example.com is fetched from elsewhere"),
        ("<style>@font-face { src: url('https://example.com/a.woff2') }</style>", "a.woff2 is fetched from elsewhere"),
        ('<iframe src="https://example.com/"></iframe>', "https://example.com/ is fetched from elsewhere"),
    ],
)
def test_what_is_wrong_with_a_page_is_said(small: Path, html: str, said: str) -> None:
    (small / "index.html").write_text(GOOD.replace("</body>", f"{html}</body>"), encoding="utf-8")
    (found,) = problems(small)
    assert found.startswith("index.html: ")
    assert found.endswith(said)


def test_a_style_sheet_fetches_nothing_from_elsewhere(small: Path) -> None:
    assert list(problems(small)) == []
    (small / "site.css").write_text('@import "https://example.com/a.css";', encoding="utf-8")
    assert list(problems(small)) == ["site.css: https://example.com/a.css is fetched from elsewhere"]


def test_the_command_looks_at_a_site_and_says_what_is_wrong(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check", str(small)]) == 0
    assert re.search(r"2 pages in .*, 0 problems", capsys.readouterr().out)
    (small / "index.html").write_text('<a href="gone.html">a</a>', encoding="utf-8")
    assert main(["--check", str(small)]) == 1
    assert "gone.html leads nowhere" in capsys.readouterr().err
    assert main(["--check", str(small / "nowhere")]) == 2


def test_without_a_builder_it_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ci.site.building.zensical", lambda: None)
    assert main(["--into", str(tmp_path / "site")]) == 2
    assert "there is no zensical" in capsys.readouterr().err


def test_a_page_that_leads_to_a_folder_outside_is_refused_by_name(tmp_path: Path) -> None:
    for folder in ("docs", "ci", "stage"):
        (tmp_path / folder).mkdir()
    (tmp_path / building.CONFIGURATION).write_text("", encoding="utf-8")
    (tmp_path / "docs/a.md").write_text("[b](../ci)\n", encoding="utf-8")
    with pytest.raises(building.BuildError, match=r"^docs/a.md leads to ci, which is no file$"):
        building.copy(tmp_path, tmp_path / "stage")


def test_an_ending_that_is_not_well_keeps_the_site_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / building.CONFIGURATION).write_text("", encoding="utf-8")
    (tmp_path / "builds").write_text("#!/bin/sh\necho page does not exist\nexit 1\n", encoding="utf-8")
    (tmp_path / "builds").chmod(0o755)
    monkeypatch.setattr("ci.site.building.zensical", lambda: [os.fspath(tmp_path / "builds")])
    (tmp_path / "site").mkdir()
    with pytest.raises(building.BuildError, match=r"exit code 1:\npage does not exist"):
        building.build(tmp_path, tmp_path / "site")
    assert (tmp_path / "site").is_dir()
