"""Which cells of a run hand a container on, and to whom."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stackproof import catalog, options, plan
from stackproof.plan import Cell
from stackproof.run import handing

STACK = "description: d\nmodes: [docker, docker-library, server]\napp: a:b\ncommand: [serve]\ndocker: {image: x%s}\n"
RUN = Path("/run")


@pytest.fixture
def cells(tmp_path: Path) -> tuple[Cell, ...]:
    """Suite one and two with each of two stacks, `shop` whose cells may share and `alone` whose may not."""
    suites = {}
    for name in ("one", "two"):
        (tmp_path / "tests" / "integration" / name).mkdir(parents=True)
        suites[name] = {"description": "d", "roots": [f"tests/integration/{name}"], "default_setup": "local"}
    (tmp_path / "tests" / "suites.yaml").write_text(json.dumps({"suites": suites}))
    for name, more in (("shop", ", shared: true"), ("alone", "")):
        (tmp_path / "stacks" / name).mkdir(parents=True)
        (tmp_path / "stacks" / name / "stack.yaml").write_text(STACK % more)
    (tmp_path / "stacks" / "setups.yaml").write_text("local: {description: d, env: {}}\n")
    given = {"suite": "one,two", "stack_config": "docker:shop,docker:alone,server:shop,docker-library:shop"}
    chosen = options.resolve(given, {}, tmp_path)
    return plan.make(chosen, catalog.load(tmp_path), tmp_path, "abc123", caller={}).cells


def follows(cell: Cell, cells: tuple[Cell, ...]) -> bool | None:
    """Whether somebody may have what the cell leaves; None when it leaves nothing."""
    found = handing.of(cell, cells, RUN)
    return None if found is None else found.follows


def test_only_containers_of_a_stack_that_says_so_are_handed_on(cells: tuple[Cell, ...]) -> None:
    found = {cell.id: follows(cell, cells) for cell in cells}
    assert {name: value for name, value in found.items() if value is not None} == {
        "one-local-docker-shop": True,
        "two-local-docker-shop": False,
    }


def test_a_cell_for_itself_has_a_container_for_itself(cells: tuple[Cell, ...]) -> None:
    first = next(cell for cell in cells if cell.id == "one-local-docker-shop")
    assert handing.of(first, (first,), RUN) is None


def test_a_cell_with_containers_beside_its_stack_has_one_for_itself(cells: tuple[Cell, ...]) -> None:
    first, last = [cell for cell in cells if cell.id.endswith("local-docker-shop")]
    database: Any = object()
    beside = replace(last, containers=(database,))
    assert handing.of(first, (first, beside), RUN) is None
    assert handing.of(beside, (first, beside), RUN) is None


def test_what_is_handed_on_is_noted_in_the_run_s_own_folder(cells: tuple[Cell, ...]) -> None:
    found = handing.of(cells[0], cells, RUN)
    assert found is not None
    assert found.folder == RUN / "shared" / "shop"
