"""docs/adr/: every page is in the index, under the title that it has, and all have the same sections."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "docs" / "adr"
INDEX = (FOLDER / "index.md").read_text(encoding="utf-8")
PAGES = sorted(path for path in FOLDER.glob("*.md") if path.name != "index.md")


def test_the_index_names_every_page_once() -> None:
    assert sorted(re.findall(r"^\| \[[^\]]+\]\(([^)]+)\)", INDEX, re.MULTILINE)) == [path.name for path in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_a_page_says_what_there_was_to_decide_what_was_and_what_it_costs(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert re.match(r"# Decisions: [a-z]", text), "its title begins with 'Decisions: '"
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    assert parts[1::2] == ["Context", "Decision", "Consequences"]
    assert all(part.strip() for part in parts[2::2])
