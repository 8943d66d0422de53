"""The table of what is left (docs/stacks/leaks.md): each row is whole, and names a test that is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "stacks" / "leaks.md"
COLUMNS = ["scenario", "containers", "networks", "volumes", "images", "processes", "folders", "test"]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ")
]


def test_the_table_has_its_columns() -> None:
    assert ROWS[0] == COLUMNS
    assert len(ROWS) > 20


@pytest.mark.parametrize("row", ROWS[1:], ids=[row[0] for row in ROWS[1:]])
def test_a_row_says_numbers_and_a_test_that_is_there(row: list[str]) -> None:
    assert len(row) == len(COLUMNS)
    *_, scenario_test = row
    for kind in (1, 2, 3, 5, 6):
        assert re.fullmatch(r"0|\d+ → 0", row[kind]), f"{COLUMNS[kind]}: {row[kind]}"
    file, _, name = scenario_test.strip("`").partition("::")
    (path,) = (ROOT / "tests" / "e2e" / "run" / "docker").rglob(file)
    text = path.read_text(encoding="utf-8")
    assert f"\ndef {name}(" in text
