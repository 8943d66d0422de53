"""What is named in a catalog becomes a folder, a file and an artifact, and has to be fit for all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof import catalog
from stackproof.errors import UsageError


def named(folder: Path, name: str) -> None:
    (folder / "stacks").mkdir()
    (folder / "stacks/setups.yaml").write_text(f"{name!r}: {{description: d, env: {{}}}}\n")
    catalog.load(folder).setup(name)


@pytest.mark.parametrize("name", ["a", "gpt-5.1_x", "A" * 50, "a..b"])
def test_one_that_fits_everywhere_may_be_given(tmp_path: Path, name: str) -> None:
    named(tmp_path, name)


@pytest.mark.parametrize("name", ["a.", "a:b", "a/b", "a b", ".a", "a*", "a?", "a|b", "<a>", "A" * 51, "é", "a\\b"])
def test_one_that_some_system_refuses_may_not(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="may hold letters, digits"):
        named(tmp_path, name)
