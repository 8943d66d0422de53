"""The fixture in a pytest of its own: what a person sees, and what is written down for the verdict."""

from __future__ import annotations

import pytest
from tests.unit.claims.conftest import CLAIMS, TESTS, Small

from stackproof.evidence.outcomes import Outcome

BROKEN = """
@pytest.mark.claim("cut")
def test_broken(claim):
    try:
        claim.observed(events=["turn_started", "turn_completed"], residue={"pending": ["a"], "terminal": "failed"})
    except Exception:
        pass  # a test that catches what it should not

@pytest.mark.claim("cot")
def test_typo(claim): pass

def test_no_claim(claim): pass

@pytest.mark.claim("cut", "full")
def test_two_names(claim): pass

@pytest.mark.claim("cut")
@pytest.mark.claim("full")
def test_two_claims(claim): pass

@pytest.mark.claim("cut")
def test_no_json(claim):
    claim.observed(events=["turn_started", 3], residue={})
"""


def test_claims_that_hold_pass_and_one_that_needs_another_machine_is_skipped(small: Small) -> None:
    done = small.pytest("-rs")
    assert "3 passed, 1 skipped" in done.stdout
    assert "claim elsewhere needs /no/such/path, which this machine lacks" in done.stdout
    assert done.stderr == ""


def test_a_claim_that_does_not_hold_says_where_it_differs(small: Small) -> None:
    small.write("tests/test_claims.py", TESTS + BROKEN)
    shown = small.pytest().stdout
    assert "2 failed, 3 passed, 1 skipped, 4 errors" in shown
    for line in (
        "claim cut does not hold: A stream that is cut off never completes a turn",
        "  fault    the connection is lost after the third event",
        "  differs  events: event 2 is turn_completed; expected there: text_delta or turn_failed",
        '  differs  residue.pending: expected [], observed ["a"]',
        "  expected turn_started text_delta* turn_failed",
        "  observed turn_started turn_completed",
        "unknown claim 'cot' (test_typo), did you mean 'cut'?",
        'test_no_claim asks for `claim` and names none: @pytest.mark.claim("name")',
        'test_two_names must name its claim: @pytest.mark.claim("name")',
        "claim cut was given what it cannot compare: event 2 has no 'type' that is a text: 3",
    ):
        assert line in shown.splitlines()
    assert "test_two_claims serves 2 claims, full and cut" in shown
    assert "During handling" not in shown


@pytest.mark.parametrize("arguments", [(), ("-p", "xdist.plugin", "-n", "2")])
def test_each_observation_is_written_down_by_whatever_process_made_it(small: Small, arguments: tuple[str, ...]) -> None:
    small.write("tests/test_claims.py", TESTS + BROKEN)
    facts = small.logged(*arguments)
    test = "tests/test_claims.py::test_{}".format
    assert facts.serves == {
        test("cut[0]"): "cut", test("cut[2]"): "cut", test("full"): "full", test("elsewhere"): "elsewhere",
        test("broken"): "cut", test("typo"): "cot", test("no_json"): "cut",
    }  # fmt: skip
    assert facts.damaged == 0
    assert sorted((one.test, one.observation.seed, one.held) for one in facts.observed if one.claim == "full") == [
        (test("full"), seed, True) for seed in range(3)
    ]
    (broken,) = (one for one in facts.observed if one.test == test("broken"))
    assert not broken.held
    assert broken.observation.residue == {"pending": ["a"], "terminal": "failed"}
    assert facts.log.exitstatus == 1
    assert set(facts.log.collected or ()) == {*facts.serves, *map(test, ("no_claim", "two_names", "two_claims"))}
    assert facts.log.tests[test("elsewhere")].outcome is Outcome.SKIPPED
    assert facts.report.counts.total == 10
    told = next(line for line in small.lines() if line.get("test") == test("cut[2]"))
    assert told["expected"] == {
        "events": ["turn_started", "text_delta*", "turn_failed"],
        "residue": {"pending": [], "terminal": "failed"},
    }
    assert told["observed"]["events"] == ["turn_started", "text_delta", "text_delta", "turn_failed"]
    assert set(told["environment"]) == {"processor", "cpus", "system", "python"}


def test_every_attempt_of_a_test_that_runs_again_is_kept(small: Small) -> None:
    small.write(
        "tests/test_claims.py",
        "import pytest\ntries = []\n"
        '@pytest.mark.claim("full")\ndef test_wavers(claim):\n'
        '    tries.append(1)\n    claim.observed(events=[], residue={"lost": 2 - len(tries)})\n',
    )
    facts = small.logged("-p", "pytest_rerunfailures", "--reruns", "2")
    assert [(one.attempt, one.held) for one in facts.observed] == [(1, False), (2, True)]
    assert facts.log.tests["tests/test_claims.py::test_wavers"].outcome is Outcome.FLAKY


def test_only_the_tests_of_the_claims_that_were_asked_for_run(small: Small) -> None:
    facts = small.logged("--stackproof-claim", "full", "--stackproof-claim", "elsewhere")
    assert facts.log.collected == ("tests/test_claims.py::test_full", "tests/test_claims.py::test_elsewhere")


def test_a_pytest_that_a_test_starts_writes_nothing_to_the_log(small: Small) -> None:
    small.write(
        "tests/test_claims.py",
        "import subprocess, sys, pytest\n"
        '@pytest.mark.claim("full")\ndef test_outer(claim):\n'
        '    command = [sys.executable, "-m", "pytest", "-p", "stackproof", "inner.py"]\n'
        "    subprocess.run(command, check=True, timeout=300)\n"
        '    claim.observed(events=[], residue={"lost": 0})\n',
    )
    small.write(
        "inner.py",
        "import pytest\n@pytest.mark.claim('full')\ndef test_in(claim):\n"
        "    claim.observed(events=[], residue={'lost': 0})\n",
    )
    small.write("claims.yaml", CLAIMS)
    facts = small.logged("tests")
    assert [one.test for one in facts.observed] == ["tests/test_claims.py::test_outer"]


def test_a_project_s_own_fixture_of_that_name_wins(small: Small) -> None:
    small.write("conftest.py", "import pytest\n@pytest.fixture\ndef claim(): return 3\n")
    small.write("tests/test_claims.py", "def test_theirs(claim): assert claim == 3\n")
    assert "1 passed" in small.pytest().stdout
