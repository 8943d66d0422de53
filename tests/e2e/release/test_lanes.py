"""A release in lanes: what each runs, and that only all of them together are the release's verdict."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.release.conftest import Release, Weighed

MATRIX = """\
version: 1
lanes:
  inside:
    description: in the process of the tests
    triggers: [pull_request]
    cells: {release: {stacks: ["library:*"]}}
  server:
    description: as a server
    triggers: [pull_request]
    cells: {release: {stacks: ["server:*"]}}
  both:
    description: every cell, side by side
    triggers: [workflow_dispatch]
    cells: {release: {}}
    cells_at_once: 2
  checks:
    description: beside the cells
    triggers: [pull_request]
    checks: [claims, types, benchmarks, recordings]
  again:
    description: a cell that no policy asks for, with the variable that it needs
    triggers: [workflow_dispatch]
    cells: [{suite: desk, setup: far, stack: "library:desk"}]
  take:
    description: records what is missing
    triggers: [workflow_dispatch]
    record: {mode: record-if-missing, cells: [{suite: desk, setup: local, stack: "server:desk"}]}
"""
LANE = ("-m", "stackproof", "lane", "run")


@pytest.fixture(scope="module", name="laned")
def _laned(good: Release, tmp_path_factory: pytest.TempPathFactory) -> Release:
    """The good project with lanes."""
    laned = good.copied(tmp_path_factory.mktemp("lanes") / "desk")
    setups = (laned.root / "stacks/setups.yaml").read_text()
    laned.write("stacks/setups.yaml", setups + setups.replace("local:", "far:").replace("/v1", "/v2"))
    laned.write("ci/matrix.yaml", MATRIX)
    return laned


@pytest.fixture(scope="module", name="runs")
def _runs(laned: Release) -> dict[str, Path]:
    """The run folders of all lanes of a pull request, by lane; each of them is green."""
    folders = {}
    for name in ("inside", "server", "checks"):
        done = laned.command(*LANE, name, CI="true")
        assert done.returncode == 0, done.stdout + done.stderr
        folders[name] = laned.run
        assert f"LANE {name}  PASS" in done.stdout
        assert "RELEASE VERDICT" not in done.stdout
    return folders


def weighed(release: Release, *folders: Path) -> Weighed:
    """What `stackproof verdict` makes of these folders, where everything is insisted on."""
    return release._weighed(release.command("-m", "stackproof", "verdict", "--json", *map(str, folders), CI="true"))


def test_all_lanes_together_have_the_verdict_of_the_release(laned: Release, runs: dict[str, Path]) -> None:
    together = weighed(laned, *runs.values())
    assert (together.code, together.verdict["verdict"]) == (0, "PASS"), together.said
    # Its cells side by side, too.
    alone = laned._weighed(laned.command("-m", "stackproof", "verify-release", "--cells-at-once=2", "--json"))
    assert (alone.code, alone.verdict["verdict"]) == (0, "PASS"), alone.said
    rules: list[set[str]] = [
        {rule["id"] for rule in each.verdict["rules"] if rule["state"] == "PASS"}  # type: ignore[attr-defined]
        for each in (together, alone)
    ]
    assert rules[0] == rules[1]


def test_without_one_of_the_lanes_nothing_is_proven_and_what_is_missing_is_named(
    laned: Release, runs: dict[str, Path]
) -> None:
    lacking = weighed(laned, runs["inside"], runs["checks"])
    assert (lacking.code, lacking.verdict["verdict"]) == (7, "NOT PROVEN")
    assert lacking.line("cell:desk-local-server-desk").startswith("NOT PROVEN: not proven: it did not run")
    unchecked = weighed(laned, runs["inside"], runs["server"])
    assert unchecked.code == 7
    assert unchecked.line("types").startswith("NOT PROVEN: not proven: mypy has not run")
    assert unchecked.line("recordings").startswith("NOT PROVEN: not proven: the recordings were not looked at")


def test_the_folder_of_a_lane_twice_proves_no_more(laned: Release, runs: dict[str, Path]) -> None:
    assert weighed(laned, runs["inside"], runs["inside"]).code == 7


def test_a_lane_leaves_its_part_of_the_verdict_and_one_report(laned: Release, runs: dict[str, Path]) -> None:
    told = json.loads((runs["inside"] / "lane.json").read_text())
    assert (told["kind"], told["lane"], told["exit_code"]) == ("lane", "inside", 0)
    assert told["codes"] == {"desk-local-library-desk": 0}
    assert [rule["id"] for rule in told["part"]["rules"]] == [
        "source", "evidence", "cell:desk-local-library-desk", "recordings", "sealed", "flaky",
    ]  # fmt: skip
    assert not (runs["inside"] / "verdict.json").exists()
    assert '<testsuite name="desk-local-library-desk"' in (runs["inside"] / "junit.xml").read_text()
    assert '<testsuite name="claims"' in (runs["checks"] / "junit.xml").read_text()
    assert json.loads((runs["checks"] / "plan.json").read_text())["kind"] == "lane"


def test_cells_side_by_side_leave_what_they_leave_one_after_another(
    laned: Release, runs: dict[str, Path], tmp_path: Path
) -> None:
    done = laned.command(*LANE, "both", CI="true", DESK_MEETING=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n[1/2] desk × local × library:desk\n" in done.stdout
    # Each line says of which cell it is.
    for place, stack in ((1, "library"), (2, "server")):
        assert re.search(rf"^\[{place}/2\] PASS  desk × local × {stack}:desk in ", done.stdout, re.MULTILINE)
    spans = []
    for folder in (laned.run / "cells").iterdir():
        outcome = json.loads((folder / "outcome.json").read_text())
        spans.append((outcome["started"], outcome["stopped"]))
    (first, second) = sorted(spans)
    assert second[0] < first[1]
    assert weighed(laned, laned.run, runs["checks"]).code == 0
    plan = json.loads((laned.run / "plan.json").read_text())
    assert [cell["id"] for cell in plan["cells"]] == ["desk-local-library-desk", "desk-local-server-desk"]


@pytest.fixture(name="broken")
def _broken(laned: Release, tmp_path: Path) -> Release:
    """A copy of the project with lanes, for a fault to be put into."""
    return laned.copied(tmp_path / "desk")


@pytest.mark.parametrize(
    ("lane", "changes", "code", "words"),
    [
        (
            "inside",
            [("tests/integration/desk/test_desk.py", "== 200", "== 201")],
            1,
            ["✗ desk × local × library:desk"],
        ),
        (
            "checks",
            [("desk/app.py", "-> Starlette:", "-> int:"), ("tests/faults/test_claims.py", '"closed"', '"shut"')],
            1,
            ["✗ types", "✗ claim"],
        ),
        (
            "server",
            [("stacks/desk/stack.yaml", '"desk.app:create_app", "--host"', '"desk.ap:x", "--host"')],
            5,
            ["did not"],
        ),
    ],
)
def test_a_lane_fails_with_the_worst_of_what_it_ran(
    broken: Release, lane: str, changes: list[tuple[str, str, str]], code: int, words: list[str]
) -> None:
    for name, old, new in changes:
        text = (broken.root / name).read_text()
        assert old in text
        broken.write(name, text.replace(old, new))
    done = broken.command(*LANE, lane)
    assert done.returncode == code, done.stdout + done.stderr
    assert [word for word in words if word not in done.stdout] == []
    assert f" stackproof lane run {lane}\n" in done.stdout[done.stdout.index("again: ") :]
    assert json.loads((broken.run / "lane.json").read_text())["exit_code"] == code


def test_a_recording_that_is_gone_is_a_fault_of_the_lane_whose_cell_needs_it(broken: Release) -> None:
    for path in (broken.root / "recordings/local").rglob("*.json"):
        path.unlink()
    broken.commit()
    done = broken.command(*LANE, "inside", "--json")
    told: dict[str, Any] = json.loads(done.stdout)
    assert (done.returncode, told["exit_code"]) == (6, 6)
    states = {rule["id"]: rule["state"] for rule in told["part"]["rules"]}
    assert states["cell:desk-local-library-desk"] == "FAIL"
    assert states["recordings"] == "FAIL"


def test_changes_that_are_not_committed_prove_nothing(broken: Release) -> None:
    (broken.root / "desk/news.py").write_text("NEWS: list[str] = []\n")
    done = broken.command(*LANE, "inside")
    assert done.returncode == 7, done.stdout
    assert "LANE inside  NOT PROVEN" in done.stdout


def test_a_cell_that_no_policy_asks_for_counts_by_how_it_ended(laned: Release) -> None:
    done = laned.command(*LANE, "again")
    # Nothing is recorded for that setup.
    assert done.returncode in (1, 6), done.stdout + done.stderr
    assert "LANE again  ended with" in done.stdout
    told = json.loads((laned.run / "lane.json").read_text())
    assert (told["part"], list(told["codes"])) == (None, ["desk-far-library-desk"])


def test_a_lane_that_records_leaves_what_is_there_as_it_is_under_ci_too(laned: Release) -> None:
    done = laned.command(*LANE, "take", CI="true", DESK_URL="http://127.0.0.1:9/v1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "LANE take  PASS" in done.stdout
    changed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=laned.root, check=True, capture_output=True, text=True, timeout=300
    )
    assert changed.stdout == ""


@pytest.mark.parametrize(("lane", "cells"), [("inside", 1), ("both", 2)])
def test_a_signal_ends_a_lane_with_its_code_and_whole_evidence(broken: Release, lane: str, cells: int) -> None:
    broken.write(
        "tests/integration/desk/test_desk.py",
        "import os, pathlib, time\n\n\ndef test_slow():\n    pathlib.Path(f'begun-{os.getpid()}').touch()\n"
        "    time.sleep(900)\n",
    )
    broken.write(".gitignore", ".stackproof/\n__pycache__/\nbegun-*\n")
    process = subprocess.Popen(
        [sys.executable, *LANE, lane], cwd=broken.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        deadline = time.monotonic() + 240
        while len(list(broken.root.glob("begun-*"))) < cells and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=240)
    finally:
        process.kill()
        process.wait(timeout=60)
    assert process.returncode == 130, said
    told = json.loads((broken.run / "lane.json").read_text())
    assert (told["exit_code"], list(told["codes"].values())) == (130, [130] * cells)
    assert said.count("SIGINT: the tests stop and everything is torn down; once more stops at once") == cells
    assert f"stackproof lane run {lane}" in said
    # Of the tests that are expected, none ran.
    assert f"LANE {lane}  FAIL" in said
    # Nothing of it runs on; the kernel may take a moment to do away with what was killed.
    deadline = time.monotonic() + 60
    while (left := _running_below(broken.root)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []


def _running_below(folder: Path) -> list[Path]:
    return [path for path in Path("/proc").glob("[0-9]*/cwd") if _points_below(path, folder)]


def _points_below(path: Path, folder: Path) -> bool:
    try:
        return path.readlink().is_relative_to(folder)
    except OSError:
        return False
