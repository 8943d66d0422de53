"""The lanes of this project: nothing that a release asks for is left out, and nothing is run for nobody."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from stackproof.lanes import covered
from stackproof.lanes.read import load
from stackproof.lanes.records import Matrix, Trigger
from stackproof.verdict import policy

PROJECT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    """`ci/matrix.yaml`."""
    return load(PROJECT)


def test_every_lane_has_a_trigger(matrix: Matrix) -> None:
    assert {name for name, lane in matrix.lanes.items() if not lane.triggers} == set()


@pytest.mark.parametrize("trigger", [Trigger.PULL_REQUEST, Trigger.MERGE_GROUP, Trigger.PUSH, Trigger.RELEASE])
def test_every_cell_and_check_of_the_release_policy_is_in_a_lane(matrix: Matrix, trigger: Trigger) -> None:
    assert covered.missing(matrix, policy.load(PROJECT), trigger) == []


def test_each_setup_that_the_policy_wants_smoked_is_called_on_a_schedule(matrix: Matrix) -> None:
    live = policy.load(PROJECT).live
    assert live is not None
    called = {setup for lane in matrix.of(Trigger.SCHEDULE) if lane.smoke is not None for setup in lane.smoke.setups}
    assert set(live.setups) <= called


def test_no_two_schedules_start_in_the_same_minute(matrix: Matrix) -> None:
    starts = Counter(lane.schedule for lane in matrix.of(Trigger.SCHEDULE))
    assert set(starts.values()) == {1}


def test_a_schedule_that_lacks_its_secret_fails(matrix: Matrix) -> None:
    smokes = [lane.smoke for lane in matrix.of(Trigger.SCHEDULE) if lane.smoke is not None]
    assert smokes
    assert all(smoke.require for smoke in smokes)


def test_what_an_unread_change_runs_has_no_secrets(matrix: Matrix) -> None:
    for trigger in (Trigger.PULL_REQUEST, Trigger.MERGE_GROUP):
        assert [lane.name for lane in matrix.of(trigger) if lane.secrets] == []
