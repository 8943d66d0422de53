"""Whole rehearsals of small GitLab pipelines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

_SOUND = """
stages: [plan, lanes, verdict]
workflow:
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
      variables: {KIND: change}
    - if: $CI_PIPELINE_SOURCE == "schedule"
      variables: {KIND: timed}
variables: {GREETING: hello, WHOLE: "$GREETING $KIND"}
.base:
  before_script: [mkdir -p out]
plan:
  extends: .base
  stage: plan
  script:
    - test "$WHOLE" = "hello change"
    - |
      cat >child.yml <<'END'
      one:
        stage: test
        script: ['test "$KIND" = change', 'mkdir out; echo one >out/one; echo "<testsuite/>" >out/junit.xml']
        artifacts: {paths: [out/], reports: {junit: out/junit.xml}}
      END
  artifacts: {paths: [child.yml]}
lanes:
  stage: lanes
  needs: [plan]
  trigger: {include: [{artifact: child.yml, job: plan}, {local: end.yml}], strategy: depend}
timed:
  stage: lanes
  rules: [{if: $KIND == "timed"}]
  script: exit 1
verdict:
  stage: verdict
  script: [!reference [.base, before_script], "true"]
  after_script: ['test "$CI_JOB_STATUS" = success']
"""
_END = "verdict: {stage: .post, when: always, script: ['cat out/one']}\n"


def test_a_pipeline_runs_with_its_child_and_hands_files_on(rehearse: Callable[..., Any]) -> None:
    done = rehearse({".gitlab-ci.yml": _SOUND, "ci/../end.yml": _END}, "--gitlab", "merge_request")
    assert (done.code, done.findings) == (0, []), done.errors
    assert done.results == {"one": "success", "verdict": "success", "plan": "success", "lanes": "success"}
    assert [run["event"] for run in done.told["workflows"]] == ["parent_pipeline", "merge_request_event"]


@pytest.mark.parametrize(
    ("written", "said"),
    # What is forwarded is looked up in the job that forwards it: a name of the child's has to get there as text.
    [('GREETING: "$CI_JOB_NAME"', "said lanes"), ('GREETING: {value: "$CI_JOB_NAME", expand: false}', "said one")],
)
def test_what_is_handed_to_a_child_is_looked_up_in_the_parent(
    rehearse: Callable[..., Any], written: str, said: str
) -> None:
    text = _SOUND.replace("GREETING: hello", written).replace('test "$WHOLE" = "hello change"', "test true")
    text = text.replace("mkdir out; echo one", 'eval "echo said $GREETING"; mkdir out; echo one')
    done = rehearse({".gitlab-ci.yml": text, "ci/../end.yml": _END}, "--gitlab", "merge_request", "--show")
    assert said in done.errors


def test_a_list_runs_nothing_and_names_what_is_left_out(rehearse: Callable[..., Any]) -> None:
    text = _SOUND.replace("mkdir -p out", "exit 1")
    done = rehearse({".gitlab-ci.yml": text, "ci/../end.yml": _END}, "--gitlab", "merge_request", "--list")
    assert (done.code, done.results, done.findings) == (0, {}, [])
    done = rehearse({".gitlab-ci.yml": text.replace("needs: [plan]", "needs: [other]")}, "--gitlab", "push", "--list")
    assert done.code == 0  # its own rules want no pipeline
    done = rehearse(
        {".gitlab-ci.yml": text.replace("needs: [plan]", "needs: [other]")}, "--gitlab", "merge_request", "--list"
    )
    assert done.code == 1
    assert any("needs 'other'" in one for one in done.findings)


def test_the_source_chooses_the_jobs(rehearse: Callable[..., Any]) -> None:
    files = {".gitlab-ci.yml": _SOUND.replace('"hello change"', '"hello timed"'), "ci/../end.yml": _END}
    done = rehearse(files, "--gitlab", "schedule", "--end", "lanes=success", "--expect", "timed=failure")
    assert (done.code, done.results["timed"], done.results["verdict"]) == (0, "failure", "skipped")
    done = rehearse({}, "--gitlab", "web")
    assert (done.code, done.results) == (0, {})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("needs: [plan]", "needs: [timed]"), "'timed', and it is left out"),
        (("extends: .base", "extends: .bass"), "there is no such job"),
        (("paths: [child.yml]", "paths: [children.yml]"), "no file matches 'children.yml'"),
        (("junit: out/junit.xml", "junit: out/*.junit"), "reports: junit: no file matches"),
        (("stage: verdict\n", "stage: verdicts\n"), "there is no stage 'verdicts'"),
        (("{local: end.yml}", "{local: ends.yml}"), "there is no ends.yml"),
        (("!reference [.base, before_script]", "!reference [.base, beforescript]"), "there is no 'beforescript'"),
        (("trigger: {include", "variables: {KIND: $KIND}\n  trigger: {include"), "the variable KIND names itself"),
        (("mkdir out; echo one", "false; echo one"), "the child pipeline ended with failure"),
    ],
)
def test_a_mistake_in_a_pipeline_is_found(rehearse: Callable[..., Any], change: tuple[str, str], said: str) -> None:
    assert change[0] in _SOUND
    files = {".gitlab-ci.yml": _SOUND.replace(*change, 1), "ci/../end.yml": _END}
    done = rehearse(files, "--gitlab", "merge_request")
    assert done.code == 1
    assert any(said in one for one in [*done.findings, *done.told["not_as_expected"]]), done.errors


_PARALLEL = """
stages: [work, verdict]
part:
  stage: work
  parallel: 2
  script: ['mkdir out', 'echo "$CI_JOB_NAME" >"out/$CI_NODE_INDEX"', 'test "$CI_NODE_TOTAL" = 2']
  artifacts: {paths: [out/]}
verdict:
  stage: verdict
  script: ['test "$(cat out/1 out/2)" = "$(printf "part 1/2\\npart 2/2")"']
"""


def test_a_parallel_job_runs_with_each_number_and_hands_on_what_all_have_left(rehearse: Callable[..., Any]) -> None:
    done = rehearse({".gitlab-ci.yml": _PARALLEL}, "--gitlab", "merge_request")
    assert (done.code, done.findings) == (0, []), done.errors
    assert done.results == {"part 1/2": "success", "part 2/2": "success", "verdict": "success"}
    one = rehearse({}, "--gitlab", "merge_request", "--matrix", "shard=2/2", "--expect", "verdict=failure")
    assert (one.code, one.results) == (0, {"part 2/2": "success", "verdict": "failure"}), one.errors
