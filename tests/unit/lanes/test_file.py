"""`ci/matrix.yaml`: what it says, and one sentence with file and line for everything that is wrong in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.lanes.conftest import Desk

from stackproof.errors import UsageError
from stackproof.lanes import cron
from stackproof.lanes.read import KEYS
from stackproof.lanes.records import Check, Trigger
from stackproof.recorder.mode import Mode

LANE = """\
  one:
    description: d
    triggers: [pull_request]
"""
LIVE = """\
  one:
    description: d
    triggers: [workflow_dispatch]
    secrets: [FAR_API_KEY]
    environment: live
    smoke: {setups: [far]}
"""


def test_a_lane_takes_the_cells_of_the_policy_that_fit_its_selection(desk: Desk) -> None:
    lanes = desk.load().lanes
    assert [each.cell.id for each in lanes["python"].cells] == ["desk-local-library-desk", "desk-local-server-desk"]
    assert all(each.wanted for each in lanes["python"].cells)
    assert lanes["checks"].checks == (Check.TYPES, Check.RECORDINGS)
    assert [lane.name for lane in desk.load().of(Trigger.SCHEDULE)] == ["far"]


def test_a_cell_of_its_own_is_required_as_the_policy_says_where_that_has_it(desk: Desk) -> None:
    own = """\
    cells: [{suite: desk, setup: local, stack: "docker:desk"}, {suite: desk, setup: far, stack: "server:desk"}]
    needs: [docker]
"""
    desk.lanes(LANE + own)
    first, second = desk.load().lanes["one"].cells
    assert (first.wanted, first.cell.required) == (True, "where-available")
    assert not second.wanted


def test_several_selections_are_taken_together_and_in_the_policys_order(desk: Desk) -> None:
    desk.lanes(LANE + '    cells: {release: [{stacks: ["server:*"]}, {stacks: ["library:*"]}]}\n')
    assert [each.cell.stack for each in desk.load().lanes["one"].cells] == ["library:desk", "server:desk"]


def test_a_smoke_has_a_budget_and_fails_without_its_secret_unless_told_otherwise(desk: Desk) -> None:
    smoke = desk.load().lanes["far"].smoke
    assert smoke is not None
    assert (smoke.setups, smoke.require, smoke.budget.max_requests) == (("far",), True, 5)


def test_a_recording_asks_only_for_what_is_missing_unless_told_otherwise(desk: Desk) -> None:
    desk.lanes(LANE + '    record: {cells: [{suite: desk, setup: local, stack: "server:desk", service: echo}]}\n')
    record = desk.load().lanes["one"].record
    assert record is not None
    assert record.mode is Mode.RECORD_IF_MISSING
    assert record.cells[0].service == "echo"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 2, "the file of lanes has no lane"),
        ("  One: {}\n", 3, "lane name 'One' may hold small letters, digits and single '-' between them only"),
        ("  one: {descripton: d}\n", 3, "unknown key 'descripton' in lane 'one', did you mean 'description'?"),
        ("  one: {triggers: [push]}\n", 3, "lane 'one' lacks 'description'"),
        (LANE, 4, "lane 'one' has nothing to do"),
        ("  one:\n    description: d\n    checks: [types]\n", 4, "lane 'one' has no trigger, so it never runs"),
        (
            LANE.replace("pull_request", "pul_request"),
            5,
            "'pul_request' in 'triggers' of lane 'one' is not known, did you",
        ),
        (LANE.replace("[pull_request]", "[push, push]"), 5, "'triggers' of lane 'one' names push twice"),
        (LANE + "    checks: [type]\n", 6, "'type' in 'checks' of lane 'one' is not known, did you mean 'types'?"),
        (LANE + "    checks: [claims]\n", 6, "lane 'one' checks claims, of which ci/release.yaml says nothing"),
        (LANE + "    checks: [freshness]\n", 6, "checks freshness, of which ci/release.yaml says nothing"),
        (
            LANE + '    cells: {release: {stacks: ["server:dsk"]}}\n',
            6,
            "stack 'server:dsk' is in no cell of ci/release.yaml",
        ),
        (
            LANE + "    cells: {release: {suites: [dask]}}\n",
            6,
            "suite 'dask' is in no cell of ci/release.yaml, did you",
        ),
        (
            LANE + "    cells: {release: {setups: [lokal]}}\n",
            6,
            "setup 'lokal' is in no cell of ci/release.yaml, did you",
        ),
        (LANE + "    cells: {release: {suites: []}}\n", 6, "'release' in 'cells' of lane 'one' takes no cell"),
        (
            LANE + "    cells:\n      - {suite: dsk, setup: local, stack: 'server:desk'}\n",
            7,
            "unknown suite 'dsk', did you",
        ),
        (
            LANE + "    cells:\n      - {suite: desk, setup: locl, stack: 'server:desk'}\n",
            7,
            "unknown setup 'locl', did you",
        ),
        (
            LANE + "    cells:\n      - {suite: desk, setup: local, stack: 'server:dsk'}\n",
            7,
            "unknown stack 'dsk', did you",
        ),
        (
            LANE + "    cells:\n      - {suite: desk, setup: local, stack: 'sever:desk'}\n",
            7,
            "unknown stack mode 'sever'",
        ),
        (LANE + "    cells:\n      - {suite: desk, setup: local, stack: 'server:young'}\n", 7, "does not run in mode"),
        (
            LANE + "    cells:\n      - {suite: desk, setup: local, stack: 'library:young'}\n",
            4,
            "needs Python 3.12 or newer",
        ),
        (
            LANE + '    cells: {release: {stacks: ["docker:desk"]}}\n',
            4,
            "runs desk × local × docker:desk, which needs docker",
        ),
        (
            LANE + "    checks: [types]\n    needs: [dcker]\n",
            7,
            "lane 'one' needs 'dcker', which is not known, did you mean",
        ),
        (LANE + "    checks: [types]\n    needs: [python3.12, python3.13]\n", 7, "a lane runs on one Python"),
        (LANE + "    checks: [types]\n    label: a/b\n", 7, "'label' in lane 'one' must be a plain name, not 'a/b'"),
        (
            LANE + "    checks: [types]\n    timeout: 0\n",
            7,
            "'timeout' in lane 'one' must be a whole number of at least 1",
        ),
        (LANE + "    checks: [types]\n    schedule: '17 5 * * 1'\n", 7, "lane 'one' lacks the trigger schedule"),
        (LANE.replace("pull_request", "schedule") + "    checks: [types]\n", 5, "lane 'one' lacks a 'schedule'"),
        (
            LANE + "    checks: [types]\n    schedule: '30 5 * * 1'\n",
            7,
            "the schedule '30 5 * * 1' of lane 'one' has '30' for",
        ),
        (
            LANE.replace("pull_request", "push") + "    checks: [types]\n    label: x\n",
            7,
            "waits for a label, and pull_request",
        ),
        (
            LIVE.replace("FAR_API_KEY", "FAR_KEY"),
            6,
            "no setup has the secret 'FAR_KEY' of lane 'one', did you mean 'FAR_API_KEY'?",
        ),
        (
            LIVE.replace("    secrets: [FAR_API_KEY]\n", ""),
            4,
            "setup 'far' calls with FAR_API_KEY, which lane 'one' lacks",
        ),
        (
            LIVE.replace("    environment: live\n", ""),
            6,
            "lane 'one' has secrets and no 'environment' that guards them",
        ),
        (
            LIVE.replace("workflow_dispatch", "pull_request"),
            5,
            "lane 'one' has secrets and runs at pull_request, before",
        ),
        (LIVE.replace("[far]", "[fra]"), 8, "unknown setup 'fra', did you mean 'far'?"),
        (
            LIVE.replace("setups: [far]", "setups: [far], budget: {tokens: 0}"),
            8,
            "'tokens' in 'budget' of 'smoke' of lane",
        ),
        (
            LIVE.replace("setups: [far]", "setups: [far], service: eco"),
            8,
            "unknown service 'eco', did you mean 'echo'?",
        ),
        (
            LIVE.replace("secrets: [FAR_API_KEY]", "variables: [FAR_API_KEY]"),
            6,
            "FAR_API_KEY in 'variables' of lane 'one' is a",
        ),
        (
            LIVE + "    env: {FAR_API_KEY: x}\n",
            9,
            "FAR_API_KEY in 'env' of lane 'one' is a secret: list it in 'secrets'",
        ),
        (LIVE + "    checks: [types]\n", 4, "lane 'one' has cells or checks and a smoke: these are lanes of their own"),
        (
            LIVE.replace("smoke: {setups: [far]}", "checks: [types]"),
            6,
            "has the secret FAR_API_KEY, and nothing that it runs",
        ),
        (
            LIVE + "    shards: 2\n",
            9,
            "lane 'one' makes real calls within one budget, which each of several jobs would",
        ),
        (
            LANE + "    shards: 2\n    record: {cells: [{suite: desk, setup: local, stack: 'server:desk'}]}\n",
            6,
            "lane 'one' records, and several jobs would write into the same recordings",
        ),
        (
            LANE + "    checks: [types]\n    shards: 0\n",
            7,
            "'shards' in lane 'one' must be a whole number of at least 1",
        ),
        (LANE + "    checks: [types]\n    shards: 201\n", 7, "and a job of GitLab's runs at most 200 times"),
        (LANE + "    record: {cells: []}\n", 6, "'record' of lane 'one' names no cell"),
        (
            LANE + "    record: {mode: replay, cells: [{suite: desk, setup: local, stack: 'server:desk'}]}\n",
            6,
            "'mode' in 'record'",
        ),
        (
            LANE + "    checks: [types]\n" + LANE.replace("one", "two") + "    checks: [types]\n",
            7,
            "lanes 'one' and 'two' of",
        ),
    ],
)
def test_a_mistake_is_one_sentence_with_file_and_line(desk: Desk, text: str, line: int, message: str) -> None:
    desk.lanes(text)
    with pytest.raises(UsageError) as caught:
        desk.load()
    assert caught.value.message.startswith(f"ci/matrix.yaml:{line}: ")
    assert message in caught.value.message
    assert "\n" not in caught.value.message


def test_two_lanes_that_never_run_for_one_commit_may_do_the_same(desk: Desk) -> None:
    again = LANE.replace("one", "two").replace("pull_request", "release, workflow_dispatch")
    first = LANE.replace("[pull_request]", "[pull_request, workflow_dispatch]")
    desk.lanes(first + "    checks: [types]\n" + again + "    checks: [types]\n")
    assert list(desk.load().lanes) == ["one", "two"]


def test_a_project_without_lanes_is_told_which_file_it_lacks(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    (desk.folder / "ci/matrix.yaml").unlink()
    assert desk.command("lane", "list") == 2
    assert capsys.readouterr().err.startswith("✗ there is no ci/matrix.yaml here, which says what lanes there are\n")


@pytest.mark.parametrize("text", ["17 5 * * 1", "1 0 1,15 * *", "59 */6 * * 1-5", "7 8-18/2 * 1-12 0", "03 5 * * *",
                                  "7 5 29 2 *", "7 5 31 */2 *", "7 5 30 2 1"])  # fmt: skip
def test_schedules_that_both_systems_read_are_taken(text: str) -> None:
    assert cron.wrong(text) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("17 5 * *", "has 4 fields, not 5"),
        ("17", "has 1 field, not 5"),
        ("@daily", "has 1 field"),
        ("0 5 * * 1", "has '0' for the minute: choose one odd number"),
        ("30 5 * * 1", "choose one odd number"),
        ("*/15 5 * * 1", "choose one odd number"),
        ("17,47 5 * * 1", "choose one odd number"),
        ("61 5 * * 1", "has '61' for the minute, which is 0 to 59"),
        ("17 24 * * 1", "has '24' for the hour"),
        ("17 5 0 * 1", "has '0' for the day of the month"),
        ("17 5 * 13 1", "has '13' for the month"),
        ("17 5 * * 7", "has '7' for the day of the week"),
        ("17 5 * * MON", "has 'MON' for the day of the week"),
        ("17 8-5 * * 1", "has '8-5' for the hour"),
        ("17 5/2 * * 1", "has '5/2' for the hour"),
        ("17 */0 * * 1", "has '*/0' for the hour"),
        ("17 5, * * 1", "has '5,' for the hour"),
        ("1٧ 5 * * 1", "for the minute"),
        ("7 5 30 2 *", "never comes: no month of '2' has a day 30"),
        ("7 5 31 4,6-6,9 *", "never comes"),
    ],
)
def test_a_schedule_that_is_wrong_says_which_field(text: str, message: str) -> None:
    assert message in (cron.wrong(text) or "")


def test_every_key_is_on_the_page_of_the_file() -> None:
    page = (Path(__file__).parents[3] / "docs/reference/files/matrix.md").read_text(encoding="utf-8")
    assert [key for key in KEYS if f"| `{key}` |" not in page] == []
    assert [word.value for kind in (Trigger, Check) for word in kind if f"`{word}`" not in page] == []
