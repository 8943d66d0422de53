"""What real calls spent and how they drifted is evidence as anything else of a cell: altered, it proves nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.verdict.conftest import Project, rule

from stackproof.evidence import jsonfile
from stackproof.verdict.records import State

NAMES = ["drift.json", "budget.json"]


def _alter(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8").replace("1", "0"), encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("change", "said"), [(_alter, "was changed"), (Path.unlink, "gone")])
def test_of_a_cell_is_as_the_manifest_lists_it(
    project: Project, name: str, change: Callable[[Path], None], said: str
) -> None:
    run = project.good_run()
    cell = next((run.folder / "cells").iterdir())
    jsonfile.write(cell / name, {"schema": 1, "number": 1})
    run.finish()
    assert run.verdict().state is State.PASS
    change(cell / name)
    verdict = run.verdict()
    assert verdict.state is State.NOT_PROVEN
    assert f"cells/{cell.name}/{name}" in rule(verdict, "evidence").summary
    assert said in rule(verdict, "evidence").summary


@pytest.mark.parametrize("name", NAMES)
def test_one_that_was_put_there_afterwards_is_seen(project: Project, name: str) -> None:
    run = project.good_run()
    cell = next((run.folder / "cells").iterdir())
    jsonfile.write(cell / name, {"schema": 1})
    assert "is not listed in the manifest" in rule(run.verdict(), "evidence").summary
