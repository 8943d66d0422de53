"""`I/N` and the variables of CI systems, as a shard or as one sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.errors import UsageError
from stackproof.shards import ci_variables
from stackproof.shards.records import Shard


@given(st.integers(1, 10_000).flatmap(lambda total: st.tuples(st.integers(1, total), st.just(total))))
def test_what_is_shown_can_be_given(numbers: tuple[int, int]) -> None:
    shard = Shard(index=numbers[0], total=numbers[1])
    assert Shard.parse(str(shard), where="--shard") == shard


def test_it_has_a_name_for_folders() -> None:
    assert Shard(index=3, total=8).slug == "3of8"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0/3", "--shard: there is no shard 0 of 3, they count from 1 to 3"),
        ("4/3", "--shard: there is no shard 4 of 3, they count from 1 to 3"),
        ("1/1000001", "--shard: 1000001 shards are more than a run can have, which is 1000000"),
        ("2/0", "--shard: '2/0' has no shards at all"),
        ("3", "--shard: '3' is not I/N"),
        ("a/b", "--shard: 'a/b' is not I/N"),
        ("-1/3", "--shard: '-1/3' is not I/N"),
        ("1/3/5", "--shard: '1/3/5' is not I/N"),
        ("¹/3", "--shard: '¹/3' is not I/N"),
        ("1.0/3", "--shard: '1.0/3' is not I/N"),
        ("", "--shard: '' is not I/N"),
        ("1/" + "9" * 5000, "is not I/N"),
    ],
)
def test_what_is_no_shard_is_said_in_one_sentence(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        Shard.parse(text, where="--shard")
    assert said in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("variables", "shard"),
    [
        ({"GITLAB_CI": "true", "CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "3"}, "1/3"),
        ({"GITLAB_CI": "true", "CI_NODE_TOTAL": "1"}, "1/1"),
        ({"HEROKU_TEST_RUN_ID": "x", "CI_NODE_INDEX": "0", "CI_NODE_TOTAL": "3"}, "1/3"),
        ({"CIRCLE_NODE_INDEX": "2", "CIRCLE_NODE_TOTAL": "3"}, "3/3"),
        ({"BUILDKITE_PARALLEL_JOB": "0", "BUILDKITE_PARALLEL_JOB_COUNT": "12"}, "1/12"),
        ({"SYSTEM_JOBPOSITIONINPHASE": "4", "SYSTEM_TOTALJOBSINPHASE": "4"}, "4/4"),
        ({"SEMAPHORE_JOB_INDEX": "2", "SEMAPHORE_JOB_COUNT": "4"}, "2/4"),
        ({"BITBUCKET_PARALLEL_STEP": "1", "BITBUCKET_PARALLEL_STEP_COUNT": "2"}, "2/2"),
        ({"JOB_COMPLETION_INDEX": "7", "STACKPROOF_SHARDS": "8"}, "8/8"),
        # A runner of GitLab inside of a pod that is an index of something else, and both say the same.
        (
            {"CI_NODE_INDEX": "2", "CI_NODE_TOTAL": "3", "JOB_COMPLETION_INDEX": "1", "STACKPROOF_SHARDS": "3"},
            "2/3",
        ),
        # How many there are is for whoever makes the job; alone it says nothing of this one.
        ({"CIRCLE_NODE_INDEX": "0", "CIRCLE_NODE_TOTAL": "2", "STACKPROOF_SHARDS": "8"}, "1/2"),
    ],
)
def test_each_system_counts_in_its_own_way(variables: dict[str, str], shard: str) -> None:
    assert str(ci_variables.read(variables).shard) == shard


@pytest.mark.parametrize("known", ci_variables.KNOWN, ids=lambda known: known.system)
def test_over_all_jobs_of_a_system_each_shard_is_there_once(known: ci_variables.Variables) -> None:
    given = {} if known.when is None else {known.when: "x"}
    told = [
        ci_variables.read({**given, known.index: str(number + known.first), known.total: "5"}).shard
        for number in range(5)
    ]
    assert told == [Shard(index=index, total=5) for index in range(1, 6)]


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "no variable of a CI system says which shard this job is"),
        ({"STACKPROOF_SHARDS": "8"}, "no variable of a CI system says which shard this job is"),
        ({"CI_NODE_INDEX": "", "CI_NODE_TOTAL": ""}, "no variable of a CI system says which shard this job is"),
        ({"CI_NODE_TOTAL": "3"}, "CI_NODE_TOTAL is '3' (GitLab), and CI_NODE_INDEX is not set"),
        ({"CIRCLE_NODE_INDEX": "3"}, "CIRCLE_NODE_INDEX is '3' (CircleCI), and CIRCLE_NODE_TOTAL is not set"),
        ({"JOB_COMPLETION_INDEX": "0"}, "JOB_COMPLETION_INDEX is '0' (Kubernetes), and STACKPROOF_SHARDS is not set"),
        ({"CI_NODE_INDEX": "0", "CI_NODE_TOTAL": "3"}, "where GitLab counts from 1 to 3"),
        ({"CIRCLE_NODE_INDEX": "3", "CIRCLE_NODE_TOTAL": "3"}, "where CircleCI counts from 0 to 2"),
        (
            {"CIRCLE_NODE_INDEX": "0", "CIRCLE_NODE_TOTAL": "999999999"},
            "CIRCLE_NODE_TOTAL: 999999999 shards are more than",
        ),
        ({"CI_NODE_INDEX": "one", "CI_NODE_TOTAL": "3"}, "CI_NODE_INDEX is 'one' (GitLab), which is not a number"),
        ({"CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "²"}, "CI_NODE_TOTAL is '²' (GitLab), which is not a number"),
        (
            {
                "CI_NODE_INDEX": "2",
                "CI_NODE_TOTAL": "3",
                "BUILDKITE_PARALLEL_JOB": "0",
                "BUILDKITE_PARALLEL_JOB_COUNT": "3",
            },
            "CI_NODE_INDEX and CI_NODE_TOTAL say 2/3, and BUILDKITE_PARALLEL_JOB and BUILDKITE_PARALLEL_JOB_COUNT say",
        ),
    ],
)
def test_nobody_guesses(variables: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        ci_variables.read(variables)
    assert said in caught.value.message
    assert caught.value.hint
