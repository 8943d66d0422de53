"""The generated pages are those that the data would give now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from stackproof.cli.reference_pages import main, pages
from stackproof.option_table import OPTIONS

FOLDER = Path(__file__).parents[3] / "docs" / "reference"


@pytest.fixture(name="made", scope="module")
def _made() -> Mapping[str, str]:
    return pages()


@pytest.mark.parametrize(
    "name",
    [
        "options.md",
        "setups.md",
        "commands.md",
        *(f"api/{name}.md" for name in ("recorder", "trace", "faults", "fixtures")),
    ],
)
def test_page_is_current(name: str, made: Mapping[str, str]) -> None:
    current = (FOLDER / name).read_text(encoding="utf-8")
    assert current == made[name], "write it again: python -m stackproof.cli.reference_pages docs/reference"


def test_every_option_is_on_its_page(tmp_path: Path) -> None:
    main(tmp_path)
    text = (tmp_path / "options.md").read_text(encoding="utf-8")
    assert all(option.flag in text for option in OPTIONS)
