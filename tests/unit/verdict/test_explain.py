"""What the policy asks for, in sentences with their lines."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest
from tests.unit.claims.conftest import CLAIMS
from tests.unit.verdict.conftest import POLICY, Project

from stackproof.cli.main import main
from stackproof.errors import ExitCode
from stackproof.verdict import policy
from stackproof.verdict.expected import Expectation
from stackproof.verdict.explain import explain

FULL = """\
version: 1
cells:
  - {suite: base, setup: ollama, stack: "server:reference"}
  - {suite: base, setup: ollama, stack: "docker:reference", required: where-available}
sealed: namespace
recordings: {missed: 1, unused: 3, damaged: 0, late: 2, unnormalised: 0, max_age_days: 90}
typecheck: {paths: [a, b], at_least: 2}
benchmarks:
  turns: {gate: 1.5, samples: 30}
claims: {file: claims.yaml, tests: [tests], required: [full], timeout: 9}
flaky: {allowed: 2, suites: {base: 0}}
waivers:
  - {test: "t::x", reason: known, owner: team, expires: 2026-12-31}
  - {test: "t::y", reason: late, owner: team, expires: 2026-01-01, cell: base-ollama-server-reference}
"""


def test_every_part_of_a_policy_is_a_sentence_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "ci").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "claims.yaml").write_text(CLAIMS)
    (tmp_path / "ci/release.yaml").write_text(FULL)
    tests = Expectation(nodeids=frozenset("abc"), skips={"a": "r"}, xfails=frozenset("b"))
    expectations = {"base-ollama-server-reference": tests, "claims": Expectation(nodeids=frozenset("a"))}
    asked = explain(policy.load(tmp_path), expectations, 2, date(2026, 12, 1))
    assert [(each.line, each.text) for each in asked] == [
        (3, ("Suite base with setup ollama has run against server:reference, in replay: 3 tests, 1 of them skipped, "
            "1 expected to fail.")),
        (4, ("Suite base with setup ollama has run against docker:reference, in replay: "
            "ci/expected/base-ollama-docker-reference.json is missing and does not say which tests; only where "
            "that can run, unless CI is set.")),
        (None, "All evidence is of one Git commit, without changes that are not committed."),
        (5, "Every cell ran in a network namespace of its own: the kernel let nothing out."),
        (6, "At most 1 provider call misses its recording."),
        (6, "At most 3 recordings of passing tests are unused."),
        (6, "No recording is damaged."),
        (6, "At most 2 provider calls come after their test has ended."),
        (6, "No recording is left behind by a test."),
        (6, "No recording would be written differently now."),
        (6, "No recording is older than 90 days."),
        (6, "No recording holds a secret."),
        (7, "mypy finds no error but the 2 that ci/expected/types.json accepts in a, b."),
        (7, "It has checked every Python file below them."),
        (7, "It has checked at least 2 files."),
        (9, ("The lower end of the 95 % interval of benchmark turns is at most 1.50 times its floor, over at least 30 "
            "pairs.")),
        (10, "1 of 3 claims of claims.yaml hold, by tests: 1 test, within 9 s."),
        (10, "Required are full."),
        (11, "At most 2 tests pass only when they run again in all other suites together."),
        (11, "In suite base: no test passes only when it runs again."),
        (13, "t::x may fail in any cell until 2026-12-31: known (team)."),
        (14, "t::y was borne in base-ollama-server-reference until 2026-01-01, which is over: late (team)."),
    ]  # fmt: skip


def test_a_default_is_said_to_be_one(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "explain"], environ={}, project=project.folder) == ExitCode.PASS
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("ci/release.yaml:3  Suite base with setup ollama has run against library:reference")
    assert "default            No test passes only when it runs again." in shown
    assert main(["policy", "explain", "--json"], environ={}, project=project.folder) == ExitCode.PASS
    told = json.loads(capsys.readouterr().out)
    assert (told["schema"], told["file"]) == (1, "ci/release.yaml")
    assert (
        told["asks"][0]["line"]
        == POLICY.splitlines().index('  - {suite: base, setup: ollama, stack: "library:reference"}') + 1
    )
    assert len(told["asks"]) == len(shown)
