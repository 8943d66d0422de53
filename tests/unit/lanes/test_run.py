"""Lanes that run no cell: a smoke gets its order, and whether one has run of late is asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest
from tests.unit.lanes.conftest import Desk

from stackproof.errors import ExitCode
from stackproof.live import smoke
from stackproof.live.order import SmokeOrder

FRESH = """\
  fresh:
    description: d
    triggers: [workflow_dispatch]
    checks: [freshness]
"""


def test_a_smoke_gets_its_order_and_what_the_caller_has_wins_over_the_file(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed: list[tuple[Path, SmokeOrder, Mapping[str, str]]] = []

    def run(project: Path, order: SmokeOrder, *, environ: Mapping[str, str], today: date) -> int:
        handed.append((project, order, environ))
        return 7

    monkeypatch.setattr(smoke, "run", run)
    text = (desk.folder / "ci/matrix.yaml").read_text()
    desk.write("ci/matrix.yaml", text + "    env: {STACKPROOF_LIVE_MODEL: far/small, FAR_REGION: here}\n")
    # As CI systems set what nobody has given a value.
    desk.environ |= {"STACKPROOF_LIVE_MODEL": "far/large", "FAR_REGION": "", "FAR_API_KEY": "k"}
    assert desk.command("lane", "run", "far", "--json") == 7
    ((project, order, environ),) = handed
    assert project == desk.folder
    assert (order.setups, order.require, order.as_json, order.budget.max_requests) == (("far",), True, True, 5)
    assert dict(environ) == {"STACKPROOF_LIVE_MODEL": "far/large", "FAR_REGION": "here", "FAR_API_KEY": "k"}


def test_a_lane_that_asks_for_freshness_ends_with_7_where_no_smoke_has_run(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.write("ci/release.yaml", (desk.folder / "ci/release.yaml").read_text() + "live: {setups: [far]}\n")
    desk.lanes(FRESH)
    page = desk.folder / "summary.md"
    desk.environ["GITHUB_STEP_SUMMARY"] = str(page)
    assert desk.command("lane", "run", "fresh") == ExitCode.NOT_PROVEN
    shown = capsys.readouterr().out
    assert "[1/1] freshness\n✗ live smoke of far has not run" in shown
    assert shown.endswith("again: stackproof lane run fresh\n")
    (told,) = (desk.folder / ".stackproof/runs").glob("*/lane.json")
    assert json.loads(told.read_text())["codes"] == {"freshness": 7}
    assert "far" in page.read_text()


@pytest.mark.parametrize("at_once", ["1", "2"])
def test_a_lane_without_cells_says_what_it_was_too(desk: Desk, at_once: str) -> None:
    desk.write("ci/release.yaml", (desk.folder / "ci/release.yaml").read_text() + "live: {setups: [far]}\n")
    desk.lanes(FRESH)
    assert desk.command("lane", "run", "fresh", "--cells-at-once", at_once) == ExitCode.NOT_PROVEN
    (planned,) = (desk.folder / ".stackproof/runs").glob("*/plan.json")
    assert json.loads(planned.read_text()).items() >= {"kind": "lane", "cells": []}.items()


@pytest.mark.parametrize("given", ["0", "two", ""])
def test_cells_at_once_is_a_number_of_cells(desk: Desk, capsys: pytest.CaptureFixture[str], given: str) -> None:
    assert desk.command("lane", "run", "python", "--cells-at-once", given) == ExitCode.USAGE
    assert "--cells-at-once" in capsys.readouterr().err
    assert desk.command("verify-release", f"--cells-at-once={given}") == ExitCode.USAGE
    assert "--cells-at-once" in capsys.readouterr().err
