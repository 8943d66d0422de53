"""GitLab's words: conditions, variables, configurations, and which jobs a pipeline has."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from ci.rehearsal.expressions import ExpressionError
from ci.rehearsal.gitlab import config
from ci.rehearsal.gitlab.conditions import holds
from ci.rehearsal.gitlab.plan import Pipeline, plan
from ci.rehearsal.gitlab.variables import circles, expanded, worked_out
from ci.rehearsal.problems import Place, WorkflowError

_KNOWN = {"SOURCE": "push", "TAG": "v1.2", "EMPTY": "", "RE": "/^v/"}


@pytest.mark.parametrize(
    ("condition", "answer"),
    [
        ('$SOURCE == "push"', True),
        ("$SOURCE == 'push' && $TAG == 'v1.2'", True),
        ('$SOURCE != "push" || $TAG =~ /^v\\d/', True),
        ('($SOURCE == "web" || $SOURCE == "push") && $EMPTY', False),
        ('$SOURCE == "web" && $EMPTY || $TAG', True),
        ("$TAG =~ /^V/i", True),
        ("$TAG !~ /^w/", True),
        ("$TAG =~ $RE", True),
        ("$ABSENT =~ /x/", False),
        ("$ABSENT == null", True),
        ("$EMPTY == null", False),
        ('$EMPTY == ""', True),
        ("$ABSENT", False),
        ("${SOURCE}", True),
    ],
)
def test_a_condition_holds_as_the_documentation_says(condition: str, answer: bool) -> None:
    assert holds(condition, _KNOWN) is answer


@pytest.mark.parametrize("condition", ["$A =", "$A == ", "($A", "$A $B", "$A =~ /[/", "$A =~ 'x'", "push"])
def test_what_is_no_condition_is_refused(condition: str) -> None:
    with pytest.raises(ExpressionError):
        holds(condition, {"A": "x"})


def test_variables_stand_for_others_and_one_that_names_itself_is_told() -> None:
    known = {"A": "$B/x", "B": "${C}y", "C": "z", "SELF": "$SELF"}
    assert expanded("$A $ABSENT $$A", known) == "zy/x  $A"
    wrong: list[str] = []
    circles(known, wrong.append)
    assert wrong == ["the variable SELF names itself: it replaces what was there, and hands on the text '$SELF'"]


def test_a_value_that_is_not_to_be_expanded_stays_as_it_is_wherever_it_goes() -> None:
    known = config.variables({"A": {"value": "$B", "expand": False}, "B": "b", "C": "$A/$B", "D": True})
    assert worked_out(known) == {"A": "$B", "B": "b", "C": "$B/b", "D": "true"}
    assert isinstance(worked_out(known)["A"], config.Raw)


def _plan(text: str, given: Mapping[str, str] | None = None) -> Pipeline | None:
    return plan(config.load([(text, "c.yml")], {"inc.yml": "inc: {script: i}\n"}.get), given or {}, lambda _: True)


_TEXT = """
stages: [one, two]
default: {image: python:3.11}
.base: {before_script: [b], variables: {X: "1", Y: "1"}}
.rules: &rules
  - if: $KIND == "full"
a:
  extends: .base
  stage: one
  variables: {Y: "2"}
  script: [!reference [.base, before_script], c]
b:
  stage: two
  needs: [a]
  rules: *rules
  script: d
include: inc.yml
"""


def test_templates_references_defaults_and_files_make_whole_jobs() -> None:
    text = _TEXT.replace("stages: [one, two]", "stages: [one, two, test]")
    loaded = config.load([(text, "c.yml")], {"inc.yml": "inc: {script: i}\n"}.get)
    assert set(loaded.jobs) == {"a", "b", "inc"}
    assert loaded.jobs["a"]["script"] == ["b", "c"]
    assert loaded.jobs["a"]["variables"] == {"X": "1", "Y": "2"}
    assert loaded.jobs["inc"]["image"] == "python:3.11"
    assert str(loaded.places["b"]) == "c.yml:12"


def test_rules_choose_the_jobs_and_needs_their_order() -> None:
    text = _TEXT.replace("include: inc.yml", "")
    full = _plan(text, {"KIND": "full"})
    assert full is not None
    assert [job.name for job in full.jobs] == ["a", "b"]
    small = _plan(text)
    assert small is not None
    assert ([job.name for job in small.jobs], dict(small.absent)) == (["a"], {"b": "none of its rules holds"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: {script: x, rules: [{if: $NO}]}\nb: {script: y, needs: [a]}", "needs 'a', and it is left out"),
        ("b: {script: y, needs: [a]}", "needs 'a', and there is no such job"),
        ("a: {script: x, needs: [b]}\nb: {script: y, needs: [a]}", "in a circle"),
        ("a: {script: x, stage: late}", "there is no stage 'late'"),
        ("a: {script: x, scripts: y}", "the key 'scripts' is unknown here"),
        ("a: {image: x}", "either 'script' or 'trigger'"),
        ("a: {extends: .b, script: x}", "there is no such job"),
        ("a: {script: !reference [.b, script]}", "there is no '.b'"),
        ("a: {script: x, rules: [{if: $NO}]}", "the pipeline has no job"),
        ("a: {script: x, rules: [{if: $A =}]}", "is no part of a condition"),
        ("include: {project: other}\na: {script: x}", "only files of this repository"),
        ("a: {script: x, parallel: 201}", "'parallel' is a number from 1 to 200, not 201"),
        ("a: {script: x, parallel: {matrix: []}}", "'parallel: matrix' is not played"),
    ],
)
def test_a_configuration_that_gitlab_refuses_is_refused(text: str, said: str) -> None:
    with pytest.raises(WorkflowError) as refused:
        _plan(text)
    assert said in refused.value.message


def test_an_optional_need_may_be_left_out_and_rules_of_the_pipeline_may_want_none() -> None:
    made = _plan("a: {script: x, rules: [{if: $NO}]}\nb: {script: y, needs: [{job: a, optional: true}]}")
    assert made is not None
    assert [job.name for job in made.jobs] == ["b"]
    assert _plan("workflow: {rules: [{if: $NO}]}\na: {script: x}") is None


@pytest.mark.parametrize(("given", "seconds"), [("10 minutes", 600), ("1h 30m", 5400), ("90", 90), ("2 hours", 7200)])
def test_times_are_read(given: str, seconds: float) -> None:
    assert config.seconds(given, Place(file="c.yml", line=1)) == seconds


def test_what_runs_in_parallel_has_a_number_each_time_and_nothing_else_has_one() -> None:
    made = _plan("a: {script: x, parallel: 2}\nb: {script: y, needs: [a]}")
    assert made is not None
    first, second = made.jobs
    assert first.instances() == [
        ("a 1/2", {"CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "2"}),
        ("a 2/2", {"CI_NODE_INDEX": "2", "CI_NODE_TOTAL": "2"}),
    ]
    assert second.instances() == [("b", {"CI_NODE_TOTAL": "1"})]
