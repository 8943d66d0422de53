"""The check that runs the tests of claims in a process of its own, and what it keeps when that process breaks."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.unit.claims.conftest import CLAIMS, TESTS, Small, alone

from stackproof.checks import claims as check
from stackproof.cli.main import main
from stackproof.errors import ExitCode, UsageError
from stackproof.evidence import claims as evidence
from stackproof.evidence.claims import ClaimFacts
from stackproof.run.interrupts import Interrupts
from stackproof.verdict import policy

POLICY = """\
version: 1
cells:
  - {suite: base, setup: ollama, stack: "library:reference"}
claims: {file: tests/claims.yaml, tests: [tests/test_claims.py], timeout: 600}
"""
SLOW = """
@pytest.mark.claim("full")
def test_slow(claim):
    claim.observed(events=(), residue={"lost": 0})
    %s

@pytest.mark.claim("cut")
def test_after(claim):
    observe(claim, "turn_failed")
"""


@pytest.fixture
def ready(small: Small) -> Small:
    small.write("ci/release.yaml", POLICY)
    return small


def checked(project: Small, *names: str, environ: Mapping[str, str] | None = None) -> ClaimFacts:
    wanted = policy.claims_of(project.folder)
    with Interrupts() as interrupts:
        return check.check(
            project.folder,
            wanted,
            project.folder / "run",
            environ=environ or alone(),
            interrupts=interrupts,
            only=names,
        )


def told(project: Small, facts: ClaimFacts) -> list[str]:
    return check.summary(policy.claims_of(project.folder), facts, {})


def test_claims_that_hold_are_counted_and_others_named(ready: Small) -> None:
    facts = checked(ready)
    assert told(ready, facts) == [
        "? claim elsewhere  not proven: it needs /no/such/path, which the machine of the run lacks",
        "    said, and not counted here",
        "– claims  2 of 3 hold",
    ]
    assert (facts.exit_code, facts.signal, facts.problem, facts.only) == (0, None, None, None)
    assert facts.lacks == {"/no/such/path"}
    assert facts.claims
    assert facts.tests
    assert (ready.folder / "run" / evidence.FOLDER / evidence.LOG).read_text()


@pytest.mark.parametrize(
    ("ending", "problem", "exit_code"),
    [
        ("os._exit(3)", None, 3),
        ("os.kill(os.getpid(), 9)", "pytest was ended by SIGKILL", None),
        ("time.sleep(600)", "the tests did not end within {} s", 2),
    ],
)
def test_what_was_observed_before_an_end_is_kept_and_the_rest_is_not_proven(
    ready: Small, ending: str, problem: str | None, exit_code: int | None
) -> None:
    # The claim of the test that never ends is served by another one as well, which has ended: that is not enough.
    ready.write("tests/test_claims.py", TESTS + SLOW % ending)
    facts, timeout = ClaimFacts(), 0
    for timeout in (8, 60, 300):
        ready.write("ci/release.yaml", POLICY.replace("timeout: 600", f"timeout: {timeout}"))
        facts = checked(ready)
        if len(facts.observed) == 6:  # or the machine needs longer for those that end
            break
    assert (facts.problem, facts.exit_code) == (problem and problem.format(timeout), exit_code)
    lines = told(ready, facts)
    assert "? claim full  not proven: tests/test_claims.py::test_slow has no outcome" in lines
    assert "? claim cut  not proven: tests/test_claims.py::test_after has no outcome" in lines
    assert len(facts.observed) == 6


def test_nothing_is_proven_when_pytest_breaks_before_its_first_test(ready: Small) -> None:
    ready.write("tests/test_claims.py", TESTS.replace("import pytest", "import pytest\nos._exit(0)"))
    assert "? claim cut  not proven: its tests did not run" in told(ready, checked(ready))


def test_a_claim_is_held_though_the_session_broke_after_its_last_test(ready: Small) -> None:
    ready.write("tests/test_claims.py", TESTS + SLOW.replace('"cut"', '"full"') % "os._exit(3)")
    lines = told(ready, checked(ready))
    assert not any(line.startswith("? claim cut") for line in lines)
    assert lines[-1] == "– claims  1 of 3 hold"


def test_a_signal_ends_the_tests_and_leaves_no_process(ready: Small, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    ready.write(
        "tests/test_claims.py", TESTS + SLOW % f"open({str(begun)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    )

    def interrupt() -> None:
        deadline = time.monotonic() + 120
        while not (begun.is_file() and begun.read_text()) and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=interrupt)
    thread.start()
    facts = checked(ready)
    thread.join()
    assert facts.signal == "SIGTERM"
    assert facts.observed
    assert not Path(f"/proc/{begun.read_text()}").exists()


def test_the_command_says_how_it_ended(ready: Small, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.run(ready.folder, ["cut", "full"], environ=alone()) == ExitCode.PASS
    assert capsys.readouterr().out.splitlines()[0] == "✓ claims  2 of 2 hold"
    assert check.run(ready.folder, ["elsewhere"], environ=alone()) == ExitCode.PASS
    assert "said, and not counted here" in capsys.readouterr().out
    assert check.run(ready.folder, [], environ={**alone(), "CI": "1"}) == ExitCode.NOT_PROVEN
    ready.write("tests/claims.yaml", CLAIMS.replace("lost: 0", "lost: 1"))
    assert check.run(ready.folder, ["full"], environ=alone()) == ExitCode.TESTS
    shown = capsys.readouterr().out
    assert (
        "✗ claim full  residue.lost: expected 1, observed 0 (tests/test_claims.py::test_full, seed 0)"
        in shown.splitlines()
    )
    ready.write("tests/test_claims.py", "import nothing_of_that_name\n")
    assert check.run(ready.folder, ["cut"], environ=alone()) == ExitCode.NOT_PROVEN
    shown = capsys.readouterr().out
    assert "? pytest ended with exit code 2" in shown
    assert "ERROR tests/test_claims.py" in shown


def test_what_became_of_claims_comes_as_json(ready: Small, capsys: pytest.CaptureFixture[str]) -> None:
    ready.write("tests/claims.yaml", CLAIMS.replace("lost: 0", "lost: 1"))
    code = main(["claims", "run", "full", "--json"], environ=alone(), project=ready.folder)
    told = json.loads(capsys.readouterr().out)
    assert code == told["exit_code"] == ExitCode.TESTS
    (run,) = (ready.folder / ".stackproof/runs").iterdir()
    assert (told["schema"], told["kind"], told["run"]) == (1, "claims-run", run.name)
    assert (ready.folder / told["evidence"]).is_dir()
    (full,) = told["claims"]
    assert (full["name"], full["state"], full["counts"]) == ("full", "FAIL", True)
    assert full["findings"][0]["text"].startswith("residue.lost: expected 1, observed 0")
    assert (told["held"], told["ended"]) == (0, [])


def test_a_name_that_is_no_claim_and_a_policy_without_claims_are_refused(ready: Small) -> None:
    with pytest.raises(UsageError, match="unknown claim 'cot'"):
        check.run(ready.folder, ["cot"], environ=alone())
    ready.write("ci/release.yaml", POLICY[: POLICY.index("claims:")])
    with pytest.raises(UsageError, match=r"ci/release.yaml names no claims"):
        check.run(ready.folder, [], environ=alone())
