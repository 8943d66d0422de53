"""Rules on volatile fields are checked where they are written, not when the first request meets them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof import catalog
from stackproof.errors import UsageError

SETUPS = """\
mine:
  description: Mine
  env: {MINE_URL: "http://localhost:1/v1"}
  providers: {mine: {variable: MINE_URL}}
  rules:
    - {name: flaots}
"""


def test_a_rule_that_does_not_exist_is_named_with_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "setups.yaml").write_text(SETUPS)
    with pytest.raises(UsageError) as caught:
        catalog.load(tmp_path)
    assert caught.value.message.startswith("stacks/setups.yaml:5: setup 'mine': rule 'flaots' is not one of: bedrock")


def test_a_rule_that_exists_is_kept(tmp_path: Path) -> None:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "setups.yaml").write_text(SETUPS.replace("flaots", "floats"))
    assert catalog.load(tmp_path).setup("mine").rules == ({"name": "floats"},)
