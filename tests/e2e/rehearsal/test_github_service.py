"""What stands for GitHub in a rehearsal: `gh`, pushes, checkouts, secrets, forks, and runs that follow others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

_GH = """
on:
  schedule: [{cron: "1 2 * * 3"}, {cron: "4 5 * * *"}]
  workflow_dispatch: {inputs: {how: {type: choice, options: [well, badly]}}}
permissions: {}
defaults: {run: {shell: bash}}
jobs:
  track:
    runs-on: x
    permissions: {issues: write}
    steps:
      - env: {GH_TOKEN: "${{ github.token }}", GH_REPO: "${{ github.repository }}", HOW: "${{ inputs.how || 'badly' }}"}
        run: |
          for round in 1 2; do
            issue="$(gh issue list --label broken --json number --jq '.[0].number // empty')"
            if [ -n "$issue" ]; then gh issue comment "$issue" --body "again: $HOW"
            else gh label create broken --force; gh issue create --title "It is broken" --label broken --body "$HOW"; fi
          done
"""


def test_an_issue_is_opened_once_and_updated_the_second_time(rehearse: Callable[..., Any]) -> None:
    done = rehearse({"track.yml": _GH}, "--event", "schedule", "--cron", "4 5 * * *")
    assert done.code == 0, done.errors
    assert done.told["issues"] == [{"number": 101, "title": "It is broken", "state": "OPEN"}]
    assert done.told["comments"] == [{"number": 101, "body": "again: badly"}]
    assert ["issue", "create"] in [words[:2] for words in done.told["gh"]]


def test_inputs_of_a_start_by_hand_have_their_defaults_and_choices(rehearse: Callable[..., Any]) -> None:
    done = rehearse({"track.yml": _GH}, "--event", "workflow_dispatch")
    assert done.told["comments"][0]["body"] == "again: well"
    refused = rehearse({}, "--event", "workflow_dispatch", "--input", "how=so")
    assert (refused.code, "is no choice for the input 'how'" in refused.errors) == (2, True)
    refused = rehearse({}, "--event", "workflow_dispatch", "--input", "who=so")
    assert (refused.code, "has no input 'who'" in refused.errors) == (2, True)
    refused = rehearse({}, "--event", "schedule", "--cron", "0 0 * * *")
    assert (refused.code, "has no schedule '0 0 * * *'" in refused.errors) == (2, True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("{issues: write}", "{issues: read}"), "403: Resource not accessible"),
        (('GH_TOKEN: "${{ github.token }}", ', ""), "set the GH_TOKEN environment variable"),
        ((', GH_REPO: "${{ github.repository }}"', ""), "not a git repository"),
        (("gh label create broken --force; ", ""), "could not add label"),
        (("gh issue comment", "gh issue pin"), "does not play `gh issue pin`"),
    ],
)
def test_what_gh_would_refuse_is_refused(rehearse: Callable[..., Any], change: tuple[str, str], said: str) -> None:
    assert change[0] in _GH
    done = rehearse({"track.yml": _GH.replace(*change)}, "--event", "schedule")
    assert (done.code, said in done.errors) == (1, True), done.errors


_PUSH = """
on: push
permissions: {}
defaults: {run: {shell: bash}}
jobs:
  push:
    runs-on: x
    permissions: {contents: write}
    steps:
      - uses: actions/checkout@v7
      - run: |
          git config user.name a; git config user.email a@b
          echo new >new; git add new; git commit --quiet --message new
          git push origin HEAD:refs/heads/new
"""


def test_a_push_ends_in_a_bare_repository_and_is_noted(rehearse: Callable[..., Any]) -> None:
    done = rehearse({"push.yml": _PUSH}, "--event", "push")
    assert (done.code, done.told["pushed"]) == (0, ["refs/heads/new"]), done.errors


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("contents: write", "contents: read"), "may not write contents: 403"),
        (("checkout@v7", "checkout@v7\n        with: {persist-credentials: false}"), "no-credentials-to-push-to"),
    ],
)
def test_a_push_without_the_right_to_is_refused(
    rehearse: Callable[..., Any], change: tuple[str, str], said: str
) -> None:
    done = rehearse({"push.yml": _PUSH.replace(*change)}, "--event", "push")
    assert (done.code, done.told["pushed"], said in done.errors) == (1, [], True), done.errors


_CHECKOUT = """
on: {pull_request: , push: , release: , merge_group: }
jobs:
  a:
    runs-on: x
    steps:
      - {uses: actions/checkout@v7, with: {fetch-depth: 0}}
      - run: test "$(git rev-parse HEAD)" = "$GITHUB_SHA" -a "$(git rev-list --count origin/main)" -ge 2
      - {uses: actions/checkout@v7, with: {path: shallow}}
      - {working-directory: shallow, run: 'test "$(git rev-parse HEAD) $(git rev-list --count HEAD)" = "$GITHUB_SHA 1"'}
      - {uses: actions/checkout@v7, with: {path: named, ref: main}}
      - {working-directory: named, run: 'test "$(git branch --show-current)" = main'}
"""


@pytest.mark.parametrize("event", ["pull_request", "push", "release", "merge_group"])
def test_a_checkout_is_as_deep_as_it_is_asked_to_be(rehearse: Callable[..., Any], event: str) -> None:
    rehearse({"w.yml": _CHECKOUT}, "--list")
    assert rehearse({}, "--event", event).code == 0


_SECRET = """
on: pull_request
defaults: {run: {shell: bash}}
jobs:
  use:
    runs-on: x
    outputs: {handed: "${{ steps.s.outputs.handed }}"}
    steps:
      - id: s
        env: {KEY: "${{ secrets.THE_KEY }}"}
        run: |
          echo "the key is <$KEY> and $(printf %s "$KEY" | base64)"
          if [ -n "$KEY" ]; then echo "handed=$KEY" >>"$GITHUB_OUTPUT"; else echo "handed=" >>"$GITHUB_OUTPUT"; fi
"""


def test_a_secret_is_handed_over_and_never_shown(rehearse: Callable[..., Any]) -> None:
    done = rehearse({"s.yml": _SECRET}, "--secret", "THE_KEY", "--show", extra={"THE_KEY": "s3cret-of-mine"})
    assert "s3cret-of-mine" not in done.errors + str(done.told)
    assert "the key is <***> and ***" in done.errors
    (found,) = done.findings
    assert "the output 'handed' holds a secret" in found


def test_a_fork_gets_no_secret_and_a_token_that_only_reads(rehearse: Callable[..., Any]) -> None:
    text = _SECRET.replace("    runs-on: x\n", "    runs-on: x\n    permissions: {contents: write, issues: write}\n")
    done = rehearse({"s.yml": text}, "--fork", "--secret", "THE_KEY", "--show", extra={"THE_KEY": "s3cret-of-mine"})
    assert done.code == 0
    assert "the key is <> and" in done.errors
    assert done.told["absent_secrets"] == ["THE_KEY"]
    assert done.told["workflows"][0]["jobs"][0]["permissions"] == {"contents": "read", "issues": "read"}


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ('run: echo "${{ github.event.pull_request.title }}"', "was executed as a script"),
        ("run: git switch -c ${{ github.head_ref }} || true", "was executed as a script"),
        (
            'env: {B: "${{ github.event.pull_request.body }}"}\n        run: echo "$B"',
            "was obeyed as a workflow command",
        ),
        ("run: 'echo ::set-output name=a::b'", "obeyed no longer; write to $GITHUB_OUTPUT"),
    ],
)
def test_text_of_others_that_is_executed_or_obeyed_is_found(rehearse: Callable[..., Any], step: str, said: str) -> None:
    text = f"on: pull_request\njobs:\n  a:\n    runs-on: x\n    steps:\n      - {step}\n"
    done = rehearse({"w.yml": text})
    assert any(said in one for one in done.findings), done.errors


_FIRST = """
name: first
on: pull_request
permissions: {}
jobs:
  make:
    runs-on: x
    steps: [{run: echo made >made}, {uses: actions/upload-artifact@v7, with: {name: made, path: made}}]
"""
_SECOND = """
name: second
on: {workflow_run: {workflows: [first], types: [completed]}}
permissions: {}
jobs:
  take:
    if: github.event.workflow_run.conclusion == 'success' && github.event.workflow_run.event == 'pull_request'
    runs-on: x
    permissions: {actions: read, contents: read}
    steps:
      - uses: actions/checkout@v7
        with: {ref: "${{ github.event.workflow_run.head_sha }}"}
      - uses: actions/download-artifact@v8
        with: {name: made, run-id: "${{ github.event.workflow_run.id }}", github-token: "${{ github.token }}"}
      - run: test "$(cat made)" = made
"""


def test_a_workflow_that_follows_another_gets_its_artifacts_but_no_code_of_a_fork(rehearse: Callable[..., Any]) -> None:
    done = rehearse({"first.yml": _FIRST, "second.yml": _SECOND})
    assert (done.code, done.results) == (0, {"make": "success", "take": "success"}), done.errors
    done = rehearse({}, "--fork")
    assert "the code of a fork" in done.why("take")
    assert rehearse({"second.yml": _SECOND.replace("actions: read, ", "")}).why("take").endswith("by integration")


_SEARCH = """
name: second
on: {workflow_run: {workflows: [first], types: [completed]}}
permissions: {}
jobs:
  search:
    runs-on: x
    permissions: {actions: read}
    env: {GH_TOKEN: "${{ github.token }}", GH_REPO: "${{ github.repository }}"}
    steps:
      - env: {BRANCH: "${{ github.event.workflow_run.head_branch }}"}
        run: |
          test "$(gh run list --branch "$BRANCH" --json event --jq '.[].event')" = pull_request
          test -z "$(gh run list --branch "$BRANCH" --event schedule --json event --jq '.[].event')"
"""


def test_a_run_of_a_fork_is_listed_under_the_branch_that_it_has_there(rehearse: Callable[..., Any]) -> None:
    done = rehearse({"first.yml": _FIRST, "second.yml": _SEARCH}, "--fork")
    assert (done.code, done.results["search"]) == (0, "success"), done.errors
