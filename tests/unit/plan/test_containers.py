"""What runs beside a stack: planned for a stack in a container, asked of the caller for every other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from stackproof import catalog, plan_text
from stackproof.errors import UsageError
from stackproof.options import resolve
from stackproof.plan import Plan, make

FILES = {
    "tests/suites.yaml": "suites: {base: {description: d, roots: [tests/integration], default_setup: kept}}\n",
    "tests/integration/test_a.py": "",
    "stacks/setups.yaml": "kept: {description: d, containers: [tables]}\n"
    "lost: {description: d, containers: [tabels]}\n",
    "stacks/shop/stack.yaml": "description: s\nmodes: [server, docker, docker-library]\ncommand: [shop]\n"
    "docker: {image: shop}\n",
    "stacks/db/container.yaml": "description: d\ndocker: {image: db}\nreadiness: {path: /}\n",
    "stacks/tables/container.yaml": "description: t\ndocker: {image: t}\nreadiness: {path: /}\nneeds: [db]\n"
    "provides: {DB_HOST: '{host}', DB_PORT: '1'}\n",
}


def planned(project: Path, cli: Mapping[str, Any], caller: Mapping[str, str] | None = None) -> Plan:
    for name, text in FILES.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    options = resolve(cli, caller or {}, project)
    return make(options, catalog.load(project), project, "7f3c2a", caller=caller)


@pytest.mark.parametrize("mode", ["docker", "docker-library"])
def test_a_stack_in_a_container_has_them_in_their_order(tmp_path: Path, mode: str) -> None:
    plan = planned(tmp_path, {"stack_config": f"{mode}:shop"})
    assert [spec.name for spec in plan.cells[0].containers] == ["db", "tables"]
    assert "  beside db, tables, in containers of their own" in list(plan_text.lines(plan))
    cells: Any = plan_text.facts(plan)["cells"]
    assert cells[0]["containers"] == ["db", "tables"]


def test_another_stack_says_that_it_lacks_them(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        planned(tmp_path, {"stack_config": "server:shop"})
    assert caught.value.message == (
        "setup 'kept' needs tables beside the stack, which only runs in containers start: server:shop"
    )
    assert caught.value.hint == "--stack-config docker:shop, or say where yours is: --env DB_HOST=…"


@pytest.mark.parametrize(("cli", "caller"), [({}, {"DB_HOST": "mine"}), ({"env": ("DB_HOST=mine",)}, {})])
def test_or_has_those_of_its_caller(tmp_path: Path, cli: dict[str, Any], caller: dict[str, str]) -> None:
    (cell,) = planned(tmp_path, {"stack_config": "server:shop", **cli}, caller).cells
    assert cell.containers == ()


def test_tests_can_be_collected_without_them(tmp_path: Path) -> None:
    (cell,) = planned(tmp_path, {"stack_config": "server:shop", "collect_only": True}).cells
    assert cell.containers == ()


def test_one_that_is_not_there_is_named_with_who_asked(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"container 'tabels' \(containers of setup 'lost'\), did you mean 'tables'"):
        planned(tmp_path, {"stack_config": "docker:shop", "setup": "lost"})
