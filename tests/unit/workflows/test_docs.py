"""docs/ci.md shows every workflow, and every lane with its trigger, its secrets and the rights of its workflow."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from stackproof.lanes.records import Matrix

_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


@pytest.fixture(scope="session")
def page(project: Path) -> str:
    """The page."""
    return (project / "docs" / "ci.md").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def rows(page: str) -> list[list[str]]:
    """trigger, lanes, workflow, may write, secrets."""
    section = page.partition("### Lanes, rights and secrets")[2].partition("\n### ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_every_workflow_is_in_the_table_of_what_they_do(page: str, workflows: dict[str, dict[str, Any]]) -> None:
    table = page.partition("### Lanes, rights and secrets")[0]
    assert {name.removesuffix(".yml") for name in names(table) if name.endswith(".yml")} >= workflows.keys()


def test_every_lane_is_in_the_other_table_once_with_its_secrets(rows: list[list[str]], matrix: Matrix) -> None:
    told = [(lane, names(row[4])) for row in rows for lane in names(row[1])]
    assert sorted(told) == sorted((lane.name, list(lane.secrets)) for lane in matrix.lanes.values())


def test_a_schedule_is_told_as_it_is(rows: list[list[str]], matrix: Matrix) -> None:
    for row in rows:
        for lane in (matrix.lanes[name] for name in names(row[1])):
            if lane.schedule is not None:
                minute, hour, _, _, day = lane.schedule.split()
                when = "every day" if day == "*" else _DAYS[int(day)]
                assert row[0] == f"{when} {int(hour):02d}:{minute}", lane.name


def test_rights_that_are_told_are_those_of_the_workflow(
    rows: list[list[str]], workflows: dict[str, dict[str, Any]]
) -> None:
    for row in rows:
        (workflow,) = names(row[2])
        jobs = workflows[workflow.removesuffix(".yml")]["jobs"].values()
        writes = {what for job in jobs for what, level in job["permissions"].items() if level == "write"}
        assert set(re.findall(r"contents|pull-requests|actions|issues", row[3])) == writes, workflow
