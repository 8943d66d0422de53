"""Whole rehearsals of small workflows: what a runner does, and what goes wrong is found in each of its kinds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_SOUND = """
name: sound
on: {pull_request: , push: }
permissions: {}
env: {LEVEL: workflow}
defaults: {run: {shell: bash}}
jobs:
  plan:
    runs-on: x
    permissions: {contents: read}
    outputs: {lanes: "${{ steps.lanes.outputs.lanes }}"}
    steps:
      - uses: actions/checkout@v7
        with: {persist-credentials: false}
      - id: lanes
        run: |
          echo 'lanes<<END' >>"$GITHUB_OUTPUT"
          echo '{"include": [{"lane": "a"}, {"lane": "b"}]}' >>"$GITHUB_OUTPUT"
          echo END >>"$GITHUB_OUTPUT"
          echo "KEPT=yes" >>"$GITHUB_ENV"
          mkdir bin; printf '#!/bin/sh\\necho tool' >bin/tool; chmod +x bin/tool; echo "$PWD/bin" >>"$GITHUB_PATH"
          echo "# Plan" >>"$GITHUB_STEP_SUMMARY"
      - env: {LEVEL: step, FROM: "${{ env.LEVEL }}/${{ env.KEPT }}"}
        run: |
          test "$LEVEL $FROM $KEPT $(tool)" = "step workflow/yes yes tool"
          test "$(jq -r .repository.full_name "$GITHUB_EVENT_PATH")" = "$GITHUB_REPOSITORY"
          test "$PWD" = "$GITHUB_WORKSPACE" -a "$HOME" != "$RUNNER_TEMP" -a "$CI" = true
  lane:
    needs: plan
    name: lane ${{ matrix.lane }}
    runs-on: x
    strategy: {fail-fast: false, matrix: "${{ fromJSON(needs.plan.outputs.lanes) }}"}
    steps:
      - run: mkdir -p .out/run && echo "${{ matrix.lane }}" >.out/run/what
      - uses: actions/upload-artifact@v7
        with: {name: "kept-${{ matrix.lane }}", path: .out/, include-hidden-files: true}
  never:
    if: github.event_name == 'schedule'
    runs-on: x
    steps: [{run: exit 1}]
  verdict:
    if: ${{ always() }}
    needs: [plan, lane]
    runs-on: x
    steps:
      - env: {PARTS: "${{ needs.plan.result }} ${{ needs.lane.result }}"}
        run: test "$PARTS" = "success success"
      - uses: actions/download-artifact@v8
        if: ${{ !cancelled() }}
        with: {pattern: "kept-*", path: got}
      - if: ${{ !cancelled() }}
        run: test "$(cat got/kept-a/run/what got/kept-b/run/what | tr -d '\\n')" = ab
"""


def test_a_sound_workflow_runs_through_with_its_matrix_artifacts_and_files(rehearse: Callable[..., Any]) -> None:
    done = rehearse({"sound.yml": _SOUND})
    assert done.results == {
        "plan": "success",
        "lane a": "success",
        "lane b": "success",
        "never": "skipped",
        "verdict": "success",
    }
    assert (done.code, done.findings, done.told["as_expected"]) == (0, [], True)
    assert done.told["workflows"][0]["artifacts"] == ["kept-a", "kept-b"]
    assert "its condition does not hold (.github/workflows/sound.yml:" in done.why("never")


def test_a_part_that_is_cancelled_or_skipped_fails_the_verdict(rehearse: Callable[..., Any]) -> None:
    for result in ("cancelled", "skipped"):
        done = rehearse(
            {"sound.yml": _SOUND}, "--end", f"lane={result}", "--job", "verdict", "--expect", "verdict=failure"
        )
        assert (done.results["verdict"], done.results["lane"]) == ("failure", result)
        assert done.code == 0, done.told["not_as_expected"]


# Each was a sound workflow once: (what is wrong, the change, what is said, with the line where it matters).
_SEEDED = [
    (
        "a typo in a step's output",
        ("outputs.lanes }}", "outputs.lane }}"),
        "11: the step 'lanes' writes no output 'lane'",
    ),
    ("a need that is missing", ("needs: [plan, lane]", "needs: [lane]"), "'plan' is not among the needs of this job"),
    (
        "a job's output with another name",
        ("needs.plan.outputs.lanes", "needs.plan.outputs.plan"),
        "has no output 'plan'",
    ),
    ("an unknown context", ("${{ always() }}", "${{ secrets.KEY }}"), "the context 'secrets' is not to be had here"),
    ("an unknown function", ("fromJSON(", "fromJson5("), "the function 'fromjson5' is unknown here"),
    ("an unknown key", ("    needs: plan\n", "    need: plan\n"), "the key 'need' is unknown here"),
    ("an action that is not known", ("actions/checkout@v7", "someone/checkout@v1"), "is an action that is not played"),
    ("an input that is not there", ("persist-credentials", "persist-credential"), "has no input 'persist-credential'"),
    ("an output file without an end", ("          echo END >>", "          echo ENDE >>"), "which never comes again"),
    ("an output that is no JSON", ('[{"lane": "a"}, {', '[{"lane": "a"} {'), "fromJSON: the text is no JSON"),
    ("an empty matrix", ('[{"lane": "a"}, {"lane": "b"}]', "[]"), "the matrix has no combination at all"),
    ("an artifact's wrong name", ('pattern: "kept-*"', 'pattern: "keep-*"'), "no artifact matches 'keep-*'"),
    ("hidden files that are not asked for", (", include-hidden-files: true", ""), "only hidden ones"),
    ("a sign that artifacts cannot have", ("kept-${{", "kept:${{"), "has the sign ':'"),
    ("a file name that artifacts cannot have", (">.out/run/what", ">'.out/run/a:b'"), "has the sign ':'"),
    ("a step that fails", ('echo "# Plan"', 'false; echo "# Plan"'), "exit code 1"),
    ("a pipe whose first part fails", ("mkdir bin;", "false | true; mkdir bin;"), "exit code 1"),
    ("no right to read the code", ("permissions: {contents: read}", "permissions: {}"), "may not read contents: 403"),
    (
        "inputs of a script",
        ("    steps: [{run: exit 1}]", "    steps: [{run: a, working-directory: b, with: {}}]"),
        "'with' is for",
    ),
]


@pytest.mark.parametrize(("change", "said"), [one[1:] for one in _SEEDED], ids=[one[0] for one in _SEEDED])
def test_a_mistake_in_a_workflow_is_found(rehearse: Callable[..., Any], change: tuple[str, str], said: str) -> None:
    assert change[0] in _SOUND
    done = rehearse({"sound.yml": _SOUND.replace(*change, 1)})
    assert done.code != 0
    assert any(said in one for one in [*done.findings, *done.told.get("not_as_expected", []), done.errors])


def test_filters_of_branches_and_tags_choose_what_a_push_starts(rehearse: Callable[..., Any]) -> None:
    job = "\njobs: {a: {runs-on: x, steps: [{run: 'test $GITHUB_REF_NAME = WHERE'}]}}\n"
    files = {
        "tags.yml": "on: {push: {tags: ['v*']}}" + job.replace("WHERE", "v0.0.0-rehearsal"),
        "main.yml": "on: {push: {branches: [main, 'release/**']}}" + job.replace("WHERE", "main"),
        "other.yml": "on: {push: {branches: ['*', '!main']}}" + job.replace("WHERE", "other"),
    }
    done = rehearse(files, "--event", "push")
    assert done.code == 0, done.errors
    assert [run["file"] for run in done.told["workflows"]] == [
        ".github/workflows/main.yml",
        ".github/workflows/tags.yml",
    ]
    none = rehearse({}, "other.yml", "--event", "push")
    assert (none.code, "no workflow here is started by push" in none.errors) == (2, True)


_STATUS = """
on: push
jobs:
  a:
    runs-on: x
    steps:
      - {id: may, run: exit 3, continue-on-error: true}
      - run: test "${{ steps.may.outcome }} ${{ steps.may.conclusion }}" = "failure success"
      - {id: bad, run: exit 4}
      - run: exit 5
      - {if: failure(), run: 'test "${{ steps.bad.outcome }}" = failure'}
      - {if: always(), run: 'test "${{ job.status }}" = failure'}
  b: {needs: a, runs-on: x, steps: [{run: exit 1}]}
  c: {needs: b, if: always(), runs-on: x, steps: [{run: 'test "${{ needs.b.result }}" = skipped'}]}
  d: {needs: c, runs-on: x, steps: [{run: exit 1}]}
  e: {needs: b, if: failure(), runs-on: x, steps: [{run: "true"}]}
  f: {runs-on: x, continue-on-error: true, steps: [{run: exit 1}]}
  g: {needs: f, runs-on: x, steps: [{run: 'test "${{ needs.f.result }}" = success'}]}
  h: {runs-on: x, strategy: {matrix: {n: [1, 2, 3]}}, steps: [{run: 'test "${{ matrix.n }}" != 2'}]}
"""


def test_steps_and_jobs_go_on_after_a_failure_as_their_conditions_say(rehearse: Callable[..., Any]) -> None:
    done = rehearse({"w.yml": _STATUS}, "--event", "push", "--expect", "a=failure", "--expect", "h=failure")
    assert done.results == {
        "a": "failure",
        "b": "skipped",
        "c": "success",
        "d": "skipped",
        "e": "success",
        "f": "failure",
        "g": "success",
        "h (1)": "success",
        "h (2)": "failure",
        "h (3)": "cancelled",
    }
    outcomes = [step["outcome"] for step in done.told["workflows"][0]["jobs"][0]["steps"]]
    assert outcomes == ["failure", "success", "failure", "skipped", "success", "success"]
    assert done.code == 0, done.told["not_as_expected"]


_ACTION = """
name: An action
inputs: {what: {required: true}, more: {default: "${{ github.event_name }}"}}
outputs: {said: {value: "${{ steps.say.outputs.said }}"}}
runs:
  using: composite
  steps:
    - id: say
      shell: bash
      env: {WHAT: "${{ inputs.what }} ${{ inputs.more }}"}
      run: test -d "$GITHUB_ACTION_PATH"; echo "said=$WHAT" >>"$GITHUB_OUTPUT"
"""
_USES = """
on: push
jobs:
  a:
    runs-on: x
    steps:
      - uses: actions/checkout@v7
      - {uses: ./.github/actions/say, id: one, with: {what: hello}}
      - {uses: $/.github/actions/say, id: two, with: {what: "${{ steps.one.outputs.said }}"}}
      - run: test "${{ steps.two.outputs.said }}" = "hello push push"
"""


def test_composite_actions_of_the_repository_are_run(rehearse: Callable[..., Any]) -> None:
    files = {"w.yml": _USES, ".github/actions/say/action.yml": _ACTION}
    assert rehearse(files, "--event", "push").code == 0
    # Before a checkout there is no such folder; what is named by the repository itself needs none.
    files["w.yml"] = _USES.replace("      - uses: actions/checkout@v7\n", "")
    done = rehearse(files, "--event", "push")
    assert "is the repository checked out before this step?" in done.why("a")
    files["w.yml"] = files["w.yml"].replace("./.github", "$/.github")
    assert rehearse(files, "--event", "push").code == 0
    files["w.yml"] = _USES.replace("with: {what: hello}", "with: {when: now}")
    found = rehearse(files, "--event", "push").findings
    assert ["has no input 'when'" in found[0], "wants the input 'what'" in found[1]] == [True, True]


def test_workflows_that_call_each_other_hand_inputs_secrets_and_outputs_on(rehearse: Callable[..., Any]) -> None:
    called = """
on:
  workflow_call:
    inputs: {what: {type: string, required: true}}
    secrets: {KEY: }
    outputs: {got: {value: "${{ jobs.in.outputs.got }}"}}
jobs:
  in:
    runs-on: x
    outputs: {got: "${{ steps.s.outputs.got }}"}
    steps:
      - id: s
        env: {KEY: "${{ secrets.KEY }}", WHAT: "${{ inputs.what }}"}
        run: echo "got=$WHAT ${#KEY}" >>$GITHUB_OUTPUT
"""
    caller = """
on: push
jobs:
  call: {uses: ./.github/workflows/called.yml, with: {what: hello}, secrets: {KEY: "${{ secrets.MINE }}"}}
  after: {needs: call, runs-on: x, steps: [{run: 'test "${{ needs.call.outputs.got }}" = "hello 4"'}]}
"""
    files = {"called.yml": called, "caller.yml": caller}
    done = rehearse(files, "--event", "push", "--secret", "MINE", extra={"MINE": "four"})
    assert (done.code, done.results) == (0, {"call / in": "success", "after": "success"}), done.errors


_ONE = "on: push\njobs:\n  a:\n    runs-on: x\n"


def test_a_time_limit_ends_a_step_with_its_children(rehearse: Callable[..., Any]) -> None:
    steps = f"    steps: [{{run: '{_long(1)} & {_long(2)}; wait', timeout-minutes: TIME}}]\n"
    for time_, words in (("0.01", ()), ("5", ("--timeout", "0.6"))):
        done = rehearse({"w.yml": _ONE + steps.replace("TIME", time_)}, "--event", "push", *words)
        assert "its time was up" in done.why("a")
    assert _gone(_long(1), _long(2))


def test_what_a_job_leaves_running_ends_with_it(rehearse: Callable[..., Any]) -> None:
    # Another process may take a moment to become what it is to be.
    sees = f"for i in $(seq 600); do if pgrep -fx '{_long(3)}'; then exit 0; fi; sleep 0.1; done; exit 1"
    steps = f"    steps:\n      - run: setsid {_long(3)} >/dev/null 2>&1 &\n      - run: {sees}\n"
    assert rehearse({"w.yml": _ONE + steps}, "--event", "push").code == 0
    assert _gone(_long(3))


def test_a_signal_ends_the_rehearsal_its_children_and_its_folder(rehearse: Callable[..., Any], tmp_path: Path) -> None:
    text = _ONE + f"    steps: [{{run: '{_long(4)}'}}]\n"
    rehearse({"w.yml": text}, "--event", "push", "--list")
    words = [sys.executable, "-m", "ci.rehearsal", "--event", "push", "--project", str(tmp_path / "project")]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "scratch")}
    root = Path(__file__).parents[3]
    child = subprocess.Popen(words, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 120
        while not _running(_long(4)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert _running(_long(4))
        child.send_signal(signal.SIGTERM)
        assert child.wait(120) == 143
    finally:
        child.kill()
        child.communicate()
    assert _gone(_long(4))
    assert list((tmp_path / "scratch").iterdir()) == []


def _long(number: int) -> str:
    """A command that lasts longer than a test, and that no other process of this machine has."""
    return f"sleep {900 + number}.{os.getpid()}"


def _gone(*commands: str) -> bool:
    """Whether none of them runs, once the kernel has done what it was told to."""
    deadline = time.monotonic() + 60
    while _running(*commands) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not _running(*commands)


def _running(*commands: str) -> list[str]:
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in listed if line.strip() in commands]
