"""docs/adopting.md: what a newcomer copies from it is a project that can be planned as it stands."""

from __future__ import annotations

import re
from pathlib import Path

from stackproof import catalog, options, plan
from stackproof.verdict import policy

PAGE = Path(__file__).parents[3] / "docs/adopting.md"
FILES = (
    "desk/app.py",
    "stacks/desk/stack.yaml",
    "stacks/setups.yaml",
    "pyproject.toml",
    "tests/suites.yaml",
    "tests/integration/desk/test_ask.py",
    "ci/release.yaml",
)


def test_every_block_of_the_page_is_a_file_that_works(tmp_path: Path) -> None:
    blocks = re.findall(r"```\w+\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    blocks = [block for block in blocks if not block.startswith("python:")]  # a part of a file
    for name, text in zip(FILES, blocks, strict=True):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    compile((tmp_path / "desk/app.py").read_text(encoding="utf-8"), "app.py", "exec")
    chosen = options.resolve({}, {}, tmp_path)
    (cell,) = plan.make(chosen, catalog.load(tmp_path), tmp_path, "abc123", caller={}).cells
    assert cell.id == "desk-local-server-desk"
    assert [provider.name for provider in cell.setup.providers if provider.variable] == ["desk-models"]
    assert [wanted.id for wanted in policy.load(tmp_path).cells] == [
        "desk-local-library-desk",
        "desk-local-server-desk",
    ]
