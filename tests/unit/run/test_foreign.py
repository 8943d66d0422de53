"""A report of another runner becomes the log of tests, and recordings stay where their test passed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from stackproof.catalog.runners import RunnerSpec
from stackproof.errors import ExitCode
from stackproof.evidence import testlog
from stackproof.evidence.outcomes import Outcome
from stackproof.recorder.brain import Brain
from stackproof.recorder.identity import Identity
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope
from stackproof.recorder.settings import VARIABLE, Settings
from stackproof.run import foreign
from stackproof.run.suite import SuiteEnd

RUNNER = RunnerSpec(name="vitest", folder=Path("/nowhere"), shown="tests/integration/ts", command=("x", "{junit}"))
GOOD, BAD, SKIPPED = (f"tests/integration/ts/a.test.ts::{name}" for name in ("group > good", "bad", "skipped"))
CASES = {
    GOOD: '<testcase classname="a.test.ts" name="group &gt; good" time="0.5"/>',
    BAD: '<testcase classname="a.test.ts" name="bad"><failure message="no">at line 3</failure></testcase>',
    SKIPPED: '<testcase classname="a.test.ts" name="skipped"><skipped/></testcase>',
}


def report(cell: Path, *names: str, claims: str = "") -> None:
    body = "".join(CASES[name] for name in names)
    (cell / "junit.xml").write_text(f'<testsuites><testsuite name="a.test.ts"{claims}>{body}</testsuite></testsuites>')


def variables(cell: Path, mode: Mode = Mode.REPLAY, *, strict: bool = False, **more: Any) -> Mapping[str, str]:
    recordings = cell.parent / "recordings"
    settings = Settings(
        mode=mode, recordings=str(recordings), setup="ollama", run_dir=str(cell), run_id="abc", strict=strict, **more
    )
    return {VARIABLE: settings.to_json()}


def settle(cell: Path, code: int, mode: Mode = Mode.REPLAY, *, stopped: bool = False, **more: Any) -> foreign.Settled:
    given = variables(cell, mode, **more)
    return foreign.settle(RUNNER, SuiteEnd(code=code), variables=given, cell_dir=cell, stopped=stopped)


def recorded(cell: Path, nodeid: str, *, attempt: int = 1, mode: Mode = Mode.RECORD, kind: str = "recorded") -> None:
    """A call of a test as the stack's side leaves it."""
    brain = Brain(Settings.from_json(variables(cell, mode)[VARIABLE]), {})
    owner = Scope(name=nodeid, test_id=nodeid, attempt=attempt)
    name = Identity(scope=owner.digest, request="1a" * 32).file_name(1)
    content = {
        "format": 1,
        "test_id": nodeid,
        "scope": nodeid,
        "request": {"provider": "ollama", "method": "POST", "path": "/x", "url": "{OLLAMA_URL}/x", "body": None},
        "response": {
            "status": 200,
            "headers": {},
            "body": {"json": {"attempt": attempt}},
            "complete": True,
            "is_exception": False,
            "exception": None,
        },
    }
    brain.store.stage(owner, name, content)
    called(brain, owner, kind)
    brain.ledger.close()


def called(brain: Brain, owner: Scope, kind: str) -> None:
    entry = {"kind": kind, "scope": owner.name, "test_id": owner.test_id, "attempt": owner.attempt, "request": "1a"}
    brain.ledger.note("calls", entry)


def kept(cell: Path) -> list[Path]:
    return sorted((cell.parent / "recordings").rglob("*.json"))


@pytest.fixture(name="cell")
def _cell(tmp_path: Path) -> Path:
    cell = tmp_path / "cell"
    cell.mkdir()
    (cell / "tests.log").write_text("what it printed\n")
    return cell


def test_a_report_becomes_the_log(cell: Path) -> None:
    report(cell, GOOD, BAD, SKIPPED)
    assert settle(cell, 1) == foreign.Settled(code=1)
    log = testlog.read(cell / "tests.jsonl")
    assert log.collected == (GOOD, BAD, SKIPPED)
    assert {name: entry.outcome for name, entry in log.tests.items()} == {
        GOOD: Outcome.PASSED,
        BAD: Outcome.FAILED,
        SKIPPED: Outcome.SKIPPED,
    }
    assert log.tests[GOOD].report == ("a.test.ts", "group > good")
    assert log.tests[GOOD].seconds == 0.5
    assert "at line 3" in (log.tests[BAD].text or "")
    assert log.exitstatus == 1
    assert (log.calls or {})["sealed_by_hook"] is False


def test_recordings_stay_where_their_test_passed(cell: Path) -> None:
    report(cell, GOOD, BAD, SKIPPED)
    for name in (GOOD, BAD, SKIPPED):
        recorded(cell, name)
    settle(cell, 1, Mode.RECORD)
    (file,) = kept(cell)
    assert file.parent == cell.parent / "recordings" / "ollama" / "ts"
    assert file.name.startswith(Scope(name=GOOD).digest[:12])
    calls = testlog.read(cell / "tests.jsonl").calls or {}
    assert (calls["written"], calls["not_promoted"]) == (1, 2)


def test_of_a_test_that_was_tried_again_the_last_attempt_stays(cell: Path) -> None:
    report(cell, GOOD)
    recorded(cell, GOOD)
    recorded(cell, GOOD, attempt=2)
    assert settle(cell, 0, Mode.RECORD).code == 0
    (file,) = kept(cell)
    assert '"attempt": 2' in file.read_text()
    assert testlog.read(cell / "tests.jsonl").tests[GOOD].outcome is Outcome.FLAKY


@pytest.mark.parametrize(
    ("written", "code", "exit_code", "said"),
    [
        (None, 0, ExitCode.NOT_PROVEN, "vitest exited with code 0, and junit.xml is missing"),
        (None, 3, ExitCode.TESTS, "vitest exited with code 3, and junit.xml is missing"),
        (None, -11, ExitCode.TESTS, "vitest was ended by SIGSEGV, and junit.xml is missing"),
        ("", 0, ExitCode.NOT_PROVEN, "junit.xml is empty"),
        ("<testsuites><testsuite>", 1, ExitCode.TESTS, "junit.xml ends or breaks in the middle"),
        (f'<testsuite tests="3">{CASES[GOOD]}</testsuite>', 0, ExitCode.NOT_PROVEN, "claims tests='3'"),
        (f"<testsuite>{CASES[GOOD]}</testsuite>", -9, ExitCode.TESTS, "vitest was ended by SIGKILL, although"),
    ],
)
def test_a_report_that_is_no_proof_is_an_error_and_keeps_nothing(
    cell: Path, written: str | None, code: int, exit_code: ExitCode, said: str
) -> None:
    if written is not None:
        (cell / "junit.xml").write_text(written)
    settled = settle(cell, code)
    assert settled.code is None
    assert settled.error is not None
    assert settled.error["exit_code"] == exit_code
    assert said in settled.error["message"]
    assert "what it printed" in settled.error["hint"]
    assert testlog.read(cell / "tests.jsonl").exitstatus is None


def test_recordings_are_not_kept_without_a_report(cell: Path) -> None:
    report(cell, GOOD, claims=' tests="7"')
    recorded(cell, GOOD)
    settle(cell, 0, Mode.RECORD)
    assert kept(cell) == []


def test_no_test_is_pytests_five(cell: Path) -> None:
    report(cell)
    assert settle(cell, 0) == foreign.Settled(code=5)


def test_an_id_that_no_test_has_is_an_error(cell: Path) -> None:
    report(cell, GOOD)
    recorded(cell, "tests/integration/ts/a.test.ts::other")
    settled = settle(cell, 0, Mode.RECORD)
    assert settled.error is not None
    assert "a.test.ts::other" in settled.error["message"]
    assert settled.error["exit_code"] == ExitCode.NOT_PROVEN
    assert kept(cell) == []


def test_calls_of_the_stack_itself_need_no_test(cell: Path) -> None:
    report(cell, GOOD)
    brain = Brain(Settings.from_json(variables(cell)[VARIABLE]), {})
    called(brain, Scope(name="stack"), "replayed")
    called(brain, Scope(name="fixture:tests::x", test_id=GOOD), "replayed")
    brain.ledger.close()
    assert settle(cell, 0) == foreign.Settled(code=0)


def test_a_missed_call_is_the_recordings_fault(cell: Path) -> None:
    report(cell, GOOD)
    brain = Brain(Settings.from_json(variables(cell)[VARIABLE]), {})
    called(brain, Scope(name=GOOD, test_id=GOOD), "missed")
    brain.ledger.close()
    assert settle(cell, 0).code == ExitCode.RECORDINGS


def test_a_run_that_was_stopped_has_no_end(cell: Path) -> None:
    settled = settle(cell, 130, stopped=True)
    assert settled.code is None
    assert testlog.read(cell / "tests.jsonl").exitstatus is None


@pytest.mark.parametrize("first", ["", '<failure message="no"/>'])
def test_two_tests_of_one_name_passed_only_where_both_did(cell: Path, first: str) -> None:
    second = '<failure message="no"/>' if not first else ""
    suites = "".join(
        f'<testsuite name="{name}"><testcase classname="a.test.ts" name="bad">{mark}</testcase></testsuite>'
        for name, mark in (("one", first), ("two", second))
    )
    (cell / "junit.xml").write_text(f"<testsuites>{suites}</testsuites>")
    recorded(cell, BAD)
    settle(cell, 1, Mode.RECORD)
    assert not list((cell.parent / "recordings").rglob("*.json"))
    assert testlog.read(cell / "tests.jsonl").tests[BAD].outcome is Outcome.FAILED


def test_what_was_observed_stays_in_the_run_whatever_its_test_did(cell: Path) -> None:
    report(cell, GOOD, BAD)
    for name in (GOOD, BAD):
        recorded(cell, name, mode=Mode.VERIFY, kind="observed")
    settle(cell, 1, Mode.VERIFY)
    assert kept(cell) == []
    assert len(list((cell / "observed").rglob("*.json"))) == 2
    assert (testlog.read(cell / "tests.jsonl").calls or {})["observed"] == 2


@pytest.mark.parametrize("also_fails", [False, True])
def test_a_test_that_the_budget_stopped_has_not_failed(cell: Path, also_fails: bool) -> None:
    report(cell, *([GOOD, BAD] if also_fails else [GOOD]))
    brain = Brain(Settings.from_json(variables(cell, Mode.VERIFY, max_requests=1)[VARIABLE]), {})
    assert brain.budget.spend() is None
    why = brain.budget.spend()
    assert why is not None
    brain.ledger.note("calls", {"kind": "budget", "scope": GOOD, "test_id": GOOD, "attempt": 1, "reason": why})
    brain.ledger.close()
    settled = settle(cell, 1, Mode.VERIFY, max_requests=1)
    entry = testlog.read(cell / "tests.jsonl").tests[GOOD]
    assert (entry.outcome, entry.reason) == (Outcome.SKIPPED, "the budget of this run is used up: 1 of 1 requests")
    assert settled.code == (1 if also_fails else 0)
    facts = json.loads((cell / "budget.json").read_text())
    assert (facts["requests"], facts["refused"], facts["ended_by"]) == ([1, 1], 1, "requests")


def test_a_key_that_a_report_repeats_gets_into_no_log(tmp_path: Path) -> None:
    key = "made-up/by+a-test"
    text = f"Incorrect API key provided: {key}"
    (tmp_path / "junit.xml").write_text(
        f'<testsuite name="a"><testcase classname="a" name="one"><skipped message="{text}"/></testcase>'
        f'<testcase classname="a" name="two"><failure message="{text}">{text}</failure></testcase></testsuite>'
    )
    (tmp_path / "tests.log").write_text(text)
    for mode in (Mode.REPLAY, Mode.VERIFY):
        (tmp_path / "tests.jsonl").unlink(missing_ok=True)
        given = {**variables(tmp_path, mode, secrets=("A_KEY",)), "A_KEY": key}
        foreign.settle(RUNNER, SuiteEnd(code=1), variables=given, cell_dir=tmp_path, stopped=False)
        shows = mode is Mode.REPLAY  # where nothing is sent, nothing is repeated, and nothing is looked for
        for name in ("junit.xml", "tests.log", "tests.jsonl"):
            assert (key in (tmp_path / name).read_text()) is shows, name
