"""Reading workflows: YAML as GitHub has it, keys, places, templates, conditions, and what is found before a run."""

from __future__ import annotations

import pytest
from ci.rehearsal.check import check
from ci.rehearsal.document import read_github
from ci.rehearsal.expressions import ExpressionError, Scope, evaluate
from ci.rehearsal.problems import Found, WorkflowError
from ci.rehearsal.reading import workflow
from ci.rehearsal.runs import in_order
from ci.rehearsal.template import condition, fill

_HEAD = "on: push\njobs:\n"
_WRITES = "  a:\n    runs-on: x\n    steps:\n      - {run: 'echo lanes=1 >>$GITHUB_OUTPUT', id: p}\n"
_STEPS = "    runs-on: x\n    steps: [{run: a}]\n"


def _found(jobs: str, head: str = _HEAD) -> list[str]:
    found = Found()
    check(workflow(head + jobs, "w.yml"), found)
    return [str(one) for one in found.findings]


def test_words_of_older_yaml_stay_words_and_every_value_has_a_line() -> None:
    document = read_github("on:\n  push:\njobs:\n  a:\n    b: yes\n    c: |\n      text\n    d: 12:30\n", "w.yml")
    assert document.data == {"on": {"push": None}, "jobs": {"a": {"b": "yes", "c": "text\n", "d": "12:30"}}}
    assert [document.place(("jobs", "a", key)).line for key in "bcd"] == [5, 7, 8]
    assert str(document.place(("jobs", "a", "absent"))) == "w.yml:4"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("on: push", "w.yml:1: the key 'jobs' is missing"),
        ("on: pusch\njobs: {a: {}}", "w.yml:1: the event 'pusch' is unknown"),
        ("on: push\njobs: {}", "w.yml:2: there is no job"),
        (_HEAD + "  a:\n    steps: [{run: x}]\n", "w.yml:3: the key 'runs-on' is missing"),
        (
            _HEAD + "  a:\n    runs-on: x\n    step: []\n    steps: [{run: x}]",
            "w.yml:5: the key 'step' is unknown here",
        ),
        (_HEAD + "  a:\n    runs-on: x\n    steps:\n      - run: x\n        uses: y", "w.yml:6: a step has either"),
        (_HEAD + "  a:\n    runs-on: x\n    steps: [{run: x, id: i}, {run: y, id: i}]", "two steps have the id 'i'"),
        (_HEAD + "  a:\n" + _STEPS + "    permissions: {issue: write}", "the key 'issue' is unknown here"),
        (_HEAD + "  a:\n" + _STEPS + "  a:\n" + _STEPS, "the key 'a' stands here a second time"),
        ("on: {schedule: [{cron: '1 2 3'}]}\njobs: {a: {}}", "this is no schedule"),
        ("on: [push\n", "this is no YAML"),
    ],
)
def test_a_file_that_github_would_refuse_is_refused_with_its_line(text: str, said: str) -> None:
    with pytest.raises(WorkflowError) as refused:
        workflow(text, "w.yml")
    assert said in refused.value.message


def test_text_is_filled_and_a_lone_expression_keeps_its_kind() -> None:
    scope = Scope(contexts={"a": {"list": [1], "n": 1.0}})
    assert fill("${{ a.list }}", scope) == [1]
    assert fill("x ${{ a.n }} ${{ '}}' }}", scope) == "x 1 }}"
    with pytest.raises(ExpressionError, match="never closed"):
        fill("x ${{ a.n }", scope)


@pytest.mark.parametrize(
    ("written", "succeeded", "holds"),
    [
        (None, True, True),
        (None, False, False),
        ("yes.it_is", False, False),
        ("${{ yes.it_is }}", True, True),
        ("always() && yes.it_is", False, True),
        ("!cancelled()", False, True),
        ("failure()", False, True),
        ("failure() || yes.it_is", True, True),
        (False, True, False),
    ],
)
def test_a_condition_asks_for_success_unless_it_names_a_status(written: object, succeeded: bool, holds: bool) -> None:
    status = {"success": succeeded, "failure": not succeeded, "always": True, "cancelled": False}
    functions = {name: (lambda _, answer=answer: answer) for name, answer in status.items()}
    tree = condition(written)  # type: ignore[arg-type]
    assert evaluate(tree, Scope(contexts={"yes": {"it_is": True}}, functions=functions)) is holds


def test_text_beside_an_expression_is_no_condition() -> None:
    with pytest.raises(ExpressionError, match="always holds"):
        condition("${{ false }} && true")


@pytest.mark.parametrize(
    ("jobs", "said"),
    [
        ("  a:\n    if: secrets.KEY\n" + _STEPS, "w.yml:4: the context 'secrets' is not to be had here"),
        ("  a:\n    if: matrix.x == 1\n" + _STEPS, "the context 'matrix' is not to be had here"),
        ("  a:\n    env: {X: '${{ env.Y }}'}\n" + _STEPS, "the context 'env' is not to be had here"),
        ("  a:\n    env: {X: '${{ always() }}'}\n" + _STEPS, "the function 'always' is unknown here"),
        ("  a:\n    needs: b\n" + _STEPS, "the job 'a' needs 'b', and there is no such job"),
        ("  a:\n    if: needs.b.result\n" + _STEPS + "  b:\n" + _STEPS, "'b' is not among the needs of this job"),
        (
            "  b:\n    outputs: {lanes: x}\n" + _STEPS + "  a:\n    needs: b\n    if: needs.b.outputs.lane\n" + _STEPS,
            "the job 'b' has no output 'lane'; it has lanes",
        ),
        ("  a:\n    needs: b\n    if: needs.b.outcome\n" + _STEPS + "  b:\n" + _STEPS, "and no 'outcome'"),
        (
            "  a:\n    runs-on: x\n    steps: [{run: '${{ steps.p.outputs.x }}'}, {run: y, id: p}]",
            "no step before this one",
        ),
        (
            _WRITES + "      - run: |\n          echo\n          echo ${{ steps.p.outputs.lanse }}\n",
            "w.yml:9: the step 'p' writes no output 'lanse'",
        ),
        ("  a:\n    strategy: {matrix: {x: [1]}}\n    name: ${{ matrix.y }}\n" + _STEPS, "the matrix has no 'y'"),
        ("  a:\n    runs-on: x\n    steps: [{run: '${{ inputs.lane }}'}]", "no input is called 'lane'"),
        ("  a:\n    runs-on: x\n    steps: [{run: '${{ github.sha'}]", "never closed"),
    ],
)
def test_a_name_that_cannot_be_there_is_found_before_anything_runs(jobs: str, said: str) -> None:
    (found,) = _found(jobs)
    assert said in found


def test_a_sound_workflow_has_nothing_found() -> None:
    text = (
        "  plan:\n    runs-on: x\n    outputs: {lanes: '${{ steps.l.outputs.lanes }}'}\n"
        "    steps: [{id: l, run: 'echo lanes=1 >>$GITHUB_OUTPUT'}]\n"
        "  lane:\n    needs: plan\n    if: ${{ always() && needs.plan.outputs.lanes }}\n"
        "    strategy: {matrix: '${{ fromJSON(needs.plan.outputs.lanes) }}'}\n    name: ${{ matrix.lane }}\n" + _STEPS
    )
    assert _found(text) == []


def test_jobs_come_after_what_they_need_and_a_circle_is_refused() -> None:
    jobs = "  a:\n    needs: [b, c]\n" + _STEPS + "  b:\n    needs: c\n" + _STEPS + "  c:\n" + _STEPS
    assert [job.id for job in in_order(workflow(_HEAD + jobs, "w.yml"), ())] == ["c", "b", "a"]
    assert [job.id for job in in_order(workflow(_HEAD + jobs, "w.yml"), ("b",))] == ["c", "b"]
    with pytest.raises(WorkflowError, match="in a circle"):
        in_order(workflow(_HEAD + jobs + "    needs: a\n", "w.yml"), ())
