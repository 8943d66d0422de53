"""A lane in shards: what each job runs, as people, machines and CI systems get it, and how that is asked for."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.lanes.conftest import Desk

from stackproof.errors import ExitCode
from stackproof.lanes import loads, sharding
from stackproof.shards.records import Shard

FOLDER = "tests/integration/desk/test_desk.py"
TESTS = [f"{FOLDER}::test_{number}" for number in range(12)]
CELLS = ("desk-local-library-desk", "desk-local-server-desk")
BOTH = """\
  both:
    description: d
    triggers: [pull_request]
    cells: {release: {stacks: ["library:*", "server:desk"]}}
    checks: [types]
    shards: 3
"""


@pytest.fixture(name="timed")
def _timed(desk: Desk) -> Desk:
    """The project with a long cell and a short one, both with expected tests and known times."""
    for cell in CELLS:
        content = {"schema": 1, "cell": cell, "nodeids": TESTS, "skips": {}, "xfails": []}
        desk.write(f"ci/expected/{cell}.json", json.dumps(content))
    times = {test.partition("::")[2]: 10.0 for test in TESTS}
    cells = {
        "library:desk": {"start": 2.0, "tests": {FOLDER: dict.fromkeys(times, 1.0)}},
        "server:desk": {"start": 4.0, "tests": {FOLDER: times}},
    }
    content = {"schema": 1, "kind": "timings", "cells": {"desk": {"local": cells}}}
    desk.write("ci/timings.json", json.dumps(content))
    return desk


def planned(desk: Desk, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    words = ("plan", "--lane", "python", "--timings", "ci/timings.json", "--format", "json", *more)
    assert desk.command(*words) == ExitCode.PASS
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_plan_says_for_each_shard_what_it_runs_and_how_long_that_takes(
    timed: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert timed.command("plan", "--lane", "python", "--shards", "2", "--timings", "ci/timings.json") == ExitCode.PASS
    *shown, last = capsys.readouterr().out.splitlines()
    assert shown == [
        "lane python in 2 shards: 78.0 s expected",
        "shard 1/2  78.0 s",
        "  desk × local × library:desk            12 tests     14.0 s",
        "  desk × local × server:desk · part 1/2   6 tests     64.0 s",
        "shard 2/2  64.0 s",
        "  desk × local × server:desk · part 2/2   6 tests     64.0 s",
        "the longest takes 78.0 s, no plan less than 69.0 s; all of them 142.0 s",
    ]
    assert re.fullmatch(r"plan [0-9a-f]{12}, times from ci/timings\.json", last)


def test_a_plan_says_what_nobody_knows(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.lanes(BOTH)
    content = {"schema": 1, "cell": CELLS[0], "nodeids": TESTS, "skips": {}, "xfails": []}
    desk.write(f"ci/expected/{CELLS[0]}.json", json.dumps(content))
    assert desk.command("plan", "--lane", "both", "--shards", "2") == ExitCode.PASS
    shown = capsys.readouterr().out.splitlines()
    assert "not known: 12 of 12 tests, which count as the median of their cell or 1 s" in shown
    assert "not known: the tests of desk × local × server:desk, which count as 60 s" in shown
    assert "not known: 2 starts of a cell, which count as 5 s, in containers as 15 s" in shown
    assert "not known: checks, which count as 20 s each" in shown
    assert any(
        re.fullmatch(r"  desk × local × server:desk( · part ./2)? +tests unknown +\S+ s", line) for line in shown
    )
    assert shown[-1].endswith(", without times of earlier runs")


def test_a_plan_as_json_has_every_test_of_every_cell_once(timed: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    found = planned(timed, capsys, "--shards", "2", "--tests")
    assert found.keys() == {
        "schema", "lane", "shards", "plan_digest", "timings", "expected_seconds", "bound_seconds", "total_seconds",
        "unknown", "undivided", "jobs",
    }  # fmt: skip
    assert (found["shards"], found["expected_seconds"], found["bound_seconds"]) == (2, 78.0, 69.0)
    assert found["unknown"] == {"tests": 0, "cells_without_tests": [], "starts": [], "checks": []}
    first, second = found["jobs"]
    assert first["command"] == "stackproof lane run python --shard 1/2 --timings ci/timings.json"
    pieces = [piece for job in (first, second) for piece in job["pieces"]]
    for cell in CELLS:
        tests = [test for piece in pieces if piece["cell"] == cell for test in piece["nodeids"]]
        assert sorted(tests) == sorted(TESTS)
    without = planned(timed, capsys, "--shards", "2")
    assert all("nodeids" not in piece for job in without["jobs"] for piece in job["pieces"])
    assert without["plan_digest"] == found["plan_digest"]


def test_a_digest_is_of_who_runs_what(timed: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    before = planned(timed, capsys, "--shards", "2")["plan_digest"]
    assert re.fullmatch("[0-9a-f]{64}", before)
    assert planned(timed, capsys, "--shards", "3")["plan_digest"] != before
    text = (timed.folder / "ci/timings.json").read_text()
    timed.write("ci/timings.json", text.replace('"start": 4.0', '"start": 4.5'))
    # Other seconds, and the same pieces in the same jobs.
    assert planned(timed, capsys, "--shards", "2")["plan_digest"] == before
    timed.write("ci/timings.json", text.replace("10.0", "0.1"))
    assert planned(timed, capsys, "--shards", "2")["plan_digest"] != before


def test_times_are_those_of_the_project_where_the_command_names_none(
    timed: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    timed.write("pyproject.toml", '[tool.stackproof]\ntimings = ["ci/timings.json"]\n')
    assert timed.command("plan", "--lane", "python", "--shards", "2", "--format", "json") == ExitCode.PASS
    found = json.loads(capsys.readouterr().out)
    assert (found["timings"], found["expected_seconds"]) == (["ci/timings.json"], 78.0)
    # What the file says need not be said again.
    assert found["jobs"][0]["command"] == "stackproof lane run python --shard 1/2"


def test_times_that_cannot_be_read_are_said_and_those_that_are_not_there_refused(
    timed: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    timed.write("ci/broken.json", "{")
    assert timed.command("plan", "--lane", "python", "--shards", "2", "--timings", "ci/broken.json") == ExitCode.PASS
    assert capsys.readouterr().err.startswith("times: ci/broken.json: it is no file of `stackproof timings`")
    assert timed.command("plan", "--lane", "python", "--shards", "2", "--timings", "ci/time.json") == ExitCode.USAGE
    assert "--timings: there is no ci/time.json\n" in capsys.readouterr().err


def test_a_matrix_has_a_job_for_each_shard_with_something_to_do(
    timed: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("plan", "--lane", "python", "--timings", "ci/timings.json", "--format", "github-matrix")
    assert timed.command(*words, "--shards", "30") == ExitCode.PASS
    (line,) = capsys.readouterr().out.splitlines()
    jobs = json.loads(line)["include"]
    # A test takes as long as two starts: more parts than tests are worth nothing.
    assert 12 <= len(jobs) < 30
    assert jobs[0].items() >= {"lane": "python", "shard": "1/30", "name": "python-1of30", "timeout": 30}.items()
    assert all(re.fullmatch(r"[a-z0-9-]+", job["name"]) for job in jobs)
    assert jobs[0]["command"] == "stackproof lane run python --shard 1/30 --timings ci/timings.json"


def test_a_pipeline_has_one_job_that_runs_in_parallel(timed: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("plan", "--lane", "python", "--timings", "ci/timings.json", "--format", "gitlab")
    assert timed.command(*words, "--shards", "2") == ExitCode.PASS
    job = yaml.safe_load(capsys.readouterr().out)["python"]
    assert (job["parallel"], job["script"]) == (
        2, ["stackproof lane run python --shard auto --timings ci/timings.json"],
    )  # fmt: skip
    assert "rules" not in job
    assert timed.command(*words, "--shards", "201") == ExitCode.USAGE
    assert "a job of GitLab's runs at most 200 times in parallel" in capsys.readouterr().err


def test_no_matrix_is_longer_than_github_takes(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.lanes("".join(BOTH.replace("both", f"l{number}").replace("pull_request", "workflow_dispatch")
                       .replace("shards: 3", "shards: 200") for number in range(2)))  # fmt: skip
    assert desk.command("lane", "list", "--format", "github-matrix") == ExitCode.USAGE
    assert "at most 256 jobs, and these are 400" in capsys.readouterr().err


def test_a_lane_with_shards_is_as_many_jobs_on_github_and_a_parallel_one_on_gitlab(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.lanes(BOTH)
    assert desk.command("lane", "list", "--format", "github-matrix") == ExitCode.PASS
    jobs = json.loads(capsys.readouterr().out)["include"]
    assert [(job["lane"], job["shard"], job["name"]) for job in jobs] == [
        ("both", f"{index}/3", f"both-{index}of3") for index in (1, 2, 3)
    ]
    assert desk.command("lane", "list", "--format", "gitlab") == ExitCode.PASS
    job = yaml.safe_load(capsys.readouterr().out)["both"]
    assert (job["parallel"], job["script"]) == (3, ["stackproof lane run both --shard auto"])
    assert job["artifacts"]["name"] == "lane-both-$CI_NODE_INDEX"
    assert job["rules"] == [{"if": '$STACKPROOF_TRIGGER == "pull_request"'}]
    assert desk.command("lane", "list") == ExitCode.PASS
    assert "  2 cells, types in 3 shards  " in capsys.readouterr().out
    assert desk.command("lane", "show", "both") == ExitCode.PASS
    assert "\n  in CI        3 shards, a job each\n" in capsys.readouterr().out


def test_lanes_that_run_in_one_place_are_not_planned_in_shards_and_not_run_so(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.write(
        "ci/matrix.yaml",
        (desk.folder / "ci/matrix.yaml").read_text()
        + """\
  take:
    description: record
    triggers: [workflow_dispatch]
    record: {cells: [{suite: desk, setup: local, stack: "server:desk", service: echo}]}
""",
    )
    for lane, why in (("far", "makes real calls within one budget"), ("take", "records, and several jobs would write")):
        for command in (["plan", "--lane", lane, "--shards", "2"], ["lane", "run", lane, "--shard", "1/2"]):
            assert desk.command(*command) == ExitCode.USAGE
            assert f"lane {lane!r} {why}" in capsys.readouterr().err
    assert not (desk.folder / ".stackproof").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["plan", "--lane", "python", "--timings", "x"], "--timings is about a plan in shards"),
        (["plan", "--lane", "python", "--tests"], "--tests is about a plan in shards"),
        (["plan", "--lane", "python", "--shards", "2", "--tests"], "--tests names the tests of each piece, in JSON"),
        (["plan", "--lane", "python", "--shards", "0"], "--shards"),
        (["plan", "--lane", "python", "--shards", "100001"], "100001 shards are more than anything runs"),
        (["plan"], "no lane is named"),
        (
            ["lane", "run", "python", "--timings", "x"],
            "--timings says how shards are balanced, and no shard is asked for",
        ),
        (["lane", "run", "python", "--shard", "3/2"], "there is no shard 3 of 2"),
        (["lane", "run", "python", "--shard", "2"], "'2' is not I/N"),
        (["lane", "run", "python", "--shard", "auto"], "no variable of a CI system says which shard this job is"),
    ],
)
def test_what_makes_no_sense_is_refused(
    desk: Desk, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert desk.command(*words) == ExitCode.USAGE
    assert message in capsys.readouterr().err
    assert not (desk.folder / ".stackproof").exists()


def test_a_share_has_its_cells_and_checks_and_which_part_of_each(timed: Desk) -> None:
    timed.lanes(BOTH)
    lane = timed.load().lanes["both"]
    made = sharding.planned(
        lane, 2, project=timed.folder, things=timed.catalog, environ={}, timings=["ci/timings.json"]
    )
    shares = [made.share(Shard(index=index, total=2)) for index in (1, 2)]
    assert sorted(check for share in shares for check in share.lane.checks) == ["types"]
    names = [each.cell.id for share in shares for each in share.lane.cells]
    assert sorted(names) == sorted([*CELLS, CELLS[1]])
    parts = [share.parts.get(CELLS[1]) for share in shares]
    assert parts == [Shard(index=1, total=2), Shard(index=2, total=2)]
    assert all(CELLS[0] not in share.parts for share in shares)
    facts = shares[1].facts()
    assert (facts["lane"], facts["shard"], facts["plan_digest"]) == ("both", {"index": 2, "total": 2}, made.digest)
    assert facts["in_use"] == 2
    many = sharding.planned(
        lane, 99, project=timed.folder, things=timed.catalog, environ={}, timings=["ci/timings.json"]
    )
    used = many.share(Shard(index=99, total=99)).facts()["in_use"]
    assert [bool(job) for job in many.packed.jobs] == [number <= used for number in range(1, 100)]
    with pytest.raises(ValueError, match="1/3 of a plan of 2"):
        made.share(Shard(index=1, total=3))


def test_tests_that_stay_together_are_planned_as_one(timed: Desk) -> None:
    lane = timed.load().lanes["python"]
    timed.write("pyproject.toml", '[tool.stackproof]\ntogether = ["module"]\n')
    made = sharding.planned(
        lane, 4, project=timed.folder, things=timed.catalog, environ={}, timings=["ci/timings.json"]
    )
    # All of them are of one module.
    assert {piece.of for job in made.packed.jobs for piece in job} == {1}
    assert made.packed.bound == 124_000


def test_what_a_runner_of_another_kind_runs_is_not_divided(timed: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    suites = (timed.folder / "tests/suites.yaml").read_text()
    runner = "runner: {name: jest, folder: tests/integration/desk, command: [jest, '{junit}']}"
    timed.write("tests/suites.yaml", suites.replace("default_setup: local}", f"default_setup: local, {runner}}}", 1))
    words = ("plan", "--lane", "python", "--shards", "3", "--timings", "ci/timings.json")
    assert timed.command(*words) == ExitCode.PASS
    shown = capsys.readouterr().out.splitlines()
    assert shown[1:6] == [
        "shard 1/3  124.0 s",
        "  desk × local × server:desk   12 tests    124.0 s",
        "shard 2/3  14.0 s",
        "  desk × local × library:desk  12 tests     14.0 s",
        "shard 3/3  0.0 s",
    ]
    assert "  nothing: there are fewer pieces than shards" in shown
    assert [line for line in shown if line.startswith("not divided: ")] == [
        f"not divided: desk × local × {mode}:desk: jest runs its tests" for mode in ("library", "server")
    ]


def test_defaults_are_those_that_the_page_names() -> None:
    page = (Path(__file__).parents[3] / "docs/lanes.md").read_text(encoding="utf-8")
    told = re.findall(r"counts as (\d+) s", page)
    wanted = (loads.START, loads.START_IN_CONTAINERS, loads.TESTS, loads.CHECK)
    assert {float(each) for each in told} >= set(wanted)
