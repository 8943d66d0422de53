"""`stackproof claims list` and `show`, as a person and as a program reads them."""

from __future__ import annotations

import json

import pytest
from tests.unit.claims.conftest import Small

from stackproof.cli.main import main
from stackproof.errors import ExitCode

POLICY = """\
version: 1
cells:
  - {suite: base, setup: ollama, stack: "library:reference"}
claims: {file: tests/claims.yaml, tests: [tests], required: [cut, elsewhere]}
"""


@pytest.fixture
def ready(small: Small) -> Small:
    small.write("ci/release.yaml", POLICY)
    return small


def call(project: Small, *arguments: str) -> int:
    return main(["claims", *arguments], environ={}, project=project.folder)


def test_every_claim_has_a_line_with_what_this_machine_lacks(ready: Small, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(ready, "list") == ExitCode.PASS
    assert capsys.readouterr().out.splitlines() == [
        "claim      required  lacks here     invariant",
        "cut        yes       –              A stream that is cut off never completes a turn",
        "full       no        –              A full mailbox lets the producer wait",
        "elsewhere  yes       /no/such/path  i",
    ]


def test_one_claim_is_shown_in_full(ready: Small, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(ready, "show", "cut") == ExitCode.PASS
    assert capsys.readouterr().out == (
        "cut: A stream that is cut off never completes a turn\n"
        "  fault     the connection is lost after the third event\n"
        "  events    turn_started\n"
        "            text_delta*\n"
        "            turn_failed\n"
        "  residue   pending: []\n"
        '            terminal: "failed"\n'
        "  excludes  what a real provider sends\n"
        "            other transports\n"
        "  needs     nothing in particular\n"
        "  required  yes\n"
        "  from      tests/claims.yaml:3\n"
    )
    assert call(ready, "show", "elsewhere") == ExitCode.PASS
    shown = capsys.readouterr().out
    assert "  events    nothing may happen\n" in shown
    assert "  needs     /no/such/path; this machine lacks /no/such/path\n" in shown


def test_the_same_facts_come_as_json(ready: Small, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(ready, "list", "--json") == ExitCode.PASS
    listed = json.loads(capsys.readouterr().out)
    assert (listed["schema"], listed["file"], listed["tests"]) == (1, "tests/claims.yaml", ["tests"])
    assert [(each["name"], each["required"], each["lacks"]) for each in listed["claims"]] == [
        ("cut", True, []),
        ("full", False, []),
        ("elsewhere", True, ["/no/such/path"]),
    ]
    assert call(ready, "show", "cut", "--json") == ExitCode.PASS
    assert json.loads(capsys.readouterr().out)["claim"] == listed["claims"][0]


def test_a_name_that_there_is_not_and_a_policy_without_claims_end_with_2(
    ready: Small, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(ready, "show", "cot") == ExitCode.USAGE
    assert "did you mean 'cut'?" in capsys.readouterr().err
    ready.write("ci/release.yaml", POLICY[: POLICY.index("claims:")])
    assert call(ready, "list") == ExitCode.USAGE
    assert "add: claims: {file: tests/faults/claims.yaml" in capsys.readouterr().err
