"""What came of a model: never green without a call that was seen and a test that passed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stackproof import catalog, options, plan
from stackproof.errors import ExitCode
from stackproof.evidence.live import LiveOutcome
from stackproof.live import results
from stackproof.live.budgets import Spent
from stackproof.live.opt_in import LiveModel
from stackproof.live.order import Limits
from stackproof.run.cell_run import CellOutcome

TEST = "tests/live/test_chat.py::test_a"
OTHER = "tests/live/test_chat.py::test_b"
SPENT = Spent(limits=Limits())


def model(title: str = "openai/a", setup: str = "gpt") -> LiveModel:
    provider, _, name = title.partition("/")
    return LiveModel(provider=provider, model=name, setup=setup, url="", variables={})


@pytest.fixture(name="cell", scope="module")
def _cell(tmp_path_factory: pytest.TempPathFactory) -> plan.Cell:
    project = tmp_path_factory.mktemp("project")
    (project / "tests").mkdir()
    (project / "tests/suites.yaml").write_text(
        "suites: {live: {description: d, roots: [tests], default_setup: gpt}}\n", encoding="utf-8"
    )
    given = {"suite": "live", "setup": "gpt", "stack_config": "library:reference"}
    return plan.make(options.resolve(given, {}, project), catalog.load(project), project, "abcdef").cells[0]


def ran(
    cell: plan.Cell,
    folder: Path,
    *,
    tests: dict[str, str],
    calls: list[dict[str, Any]],
    code: ExitCode = ExitCode.PASS,
    summary: str = "",
) -> CellOutcome:
    rows: list[dict[str, Any]] = [{"event": "collected", "nodeids": list(tests)}]
    rows += [
        {
            "event": "test",
            "nodeid": name,
            "outcome": outcome,
            "duration": 0.1,
            "reason": None,
            "text": None,
            "attempt": 1,
        }
        for name, outcome in tests.items()
    ]
    (folder / "tests.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "calls.jsonl").write_text("".join(json.dumps(row) + "\n" for row in calls))
    return CellOutcome(
        cell=cell,
        cell_dir=folder,
        exit_code=code,
        summary=summary,
        hint=None,
        seconds=1.0,
        sealed="none",
        again="again",
    )


def call(test: str = TEST, **more: Any) -> dict[str, Any]:
    return {"kind": "observed", "test_id": test, "provider": "openai", "status": 200, **more}


def refused(folder: Path, status: int, kind: str, test: str = TEST) -> dict[str, Any]:
    file = folder / f"observed-{kind}-{len(test)}.json"
    body = {"json": {"error": {"message": "No.", "type": kind}}}
    file.write_text(json.dumps({"response": {"status": status, "body": body}}))
    return call(test, status=status, file=str(file))


def one(outcome: CellOutcome, spent: Spent = SPENT) -> results.ModelResult:
    (found,) = results.of_cell([model()], outcome, spent)
    return found


def test_a_call_that_was_seen_and_a_test_that_passed_are_green(cell: plan.Cell, tmp_path: Path) -> None:
    calls = [call(tokens={"input": 3, "output": 4}), call(retry=True, tokens={"input": 1, "output": 1})]
    found = one(ran(cell, tmp_path, tests={TEST: "passed", OTHER: "skipped"}, calls=calls))
    assert (found.outcome, found.reason) == (LiveOutcome.PASSED, None)
    assert (found.requests, found.retries, found.tokens) == (2, 1, (4, 5))


def test_calls_that_were_refused_are_counted_beside_those_that_were_answered(cell: plan.Cell, tmp_path: Path) -> None:
    statuses = [200, 404, 429, 500, 401, None]
    found = one(ran(cell, tmp_path, tests={TEST: "passed"}, calls=[call(status=status) for status in statuses]))
    assert (found.outcome, found.requests, found.refused) == (LiveOutcome.PASSED, 6, 4)


def test_tests_that_pass_without_a_call_are_not_green(cell: plan.Cell, tmp_path: Path) -> None:
    found = one(ran(cell, tmp_path, tests={TEST: "passed"}, calls=[{"kind": "replayed", "test_id": TEST}]))
    assert found.outcome is LiveOutcome.BLOCKED
    assert found.reason == "1 passed, and no call of them was observed"


def test_a_call_without_a_test_that_passed_is_not_green(cell: plan.Cell, tmp_path: Path) -> None:
    found = one(ran(cell, tmp_path, tests={TEST: "skipped"}, calls=[call()]))
    assert found.outcome is LiveOutcome.BLOCKED
    assert "no test passed: 1 skipped" in (found.reason or "")


def test_no_test_at_all_is_not_green(cell: plan.Cell, tmp_path: Path) -> None:
    assert one(ran(cell, tmp_path, tests={}, calls=[call()])).outcome is LiveOutcome.BLOCKED


def test_a_test_that_failed_by_itself_is_a_failure(cell: plan.Cell, tmp_path: Path) -> None:
    outcome = ran(cell, tmp_path, tests={TEST: "passed", OTHER: "failed"}, calls=[call()], code=ExitCode.TESTS)
    found = one(outcome)
    assert found.outcome is LiveOutcome.FAILED
    assert found.reason == f"1 passed, 1 failed: {OTHER}"
    assert results.exit_codes([found], [outcome], require=False) == [ExitCode.TESTS]


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (429, "insufficient_quota", "(no credit)"),
        (401, "invalid_request_error", "(rejected)"),
        (429, "requests", "(rate limited)"),
    ],
)
def test_tests_that_all_met_a_refusal_of_the_account_are_blocked(
    cell: plan.Cell, tmp_path: Path, status: int, kind: str, words: str
) -> None:
    calls = [refused(tmp_path, status, kind)]
    outcome = ran(cell, tmp_path, tests={TEST: "failed", OTHER: "passed"}, calls=calls, code=ExitCode.TESTS)
    found = one(outcome)
    assert found.outcome is LiveOutcome.BLOCKED
    assert words in (found.reason or "")
    assert results.exit_codes([found], [outcome], require=False) == [ExitCode.NOT_PROVEN, ExitCode.NOT_PROVEN]


def test_one_failure_beside_a_refusal_is_a_failure(cell: plan.Cell, tmp_path: Path) -> None:
    calls = [refused(tmp_path, 429, "insufficient_quota"), call(OTHER)]
    outcome = ran(cell, tmp_path, tests={TEST: "failed", OTHER: "failed"}, calls=calls, code=ExitCode.TESTS)
    assert one(outcome).outcome is LiveOutcome.FAILED


def test_a_server_error_is_no_refusal_of_the_account(cell: plan.Cell, tmp_path: Path) -> None:
    calls = [refused(tmp_path, 500, "server_error")]
    outcome = ran(cell, tmp_path, tests={TEST: "failed"}, calls=calls, code=ExitCode.TESTS)
    assert one(outcome).outcome is LiveOutcome.FAILED


def test_a_budget_that_ended_stops_it(cell: plan.Cell, tmp_path: Path) -> None:
    spent = SPENT.plus(requests=60, ended_by="requests")
    outcome = ran(cell, tmp_path, tests={TEST: "passed"}, calls=[call()], code=ExitCode.NOT_PROVEN)
    found = one(outcome, spent)
    assert found.outcome is LiveOutcome.STOPPED
    assert found.reason == "the budget of this run is used up: 60 of 60 requests"


def test_a_signal_stops_it(cell: plan.Cell, tmp_path: Path) -> None:
    outcome = ran(
        cell, tmp_path, tests={TEST: "passed"}, calls=[call()], code=ExitCode.SIGINT, summary="stopped by SIGINT"
    )
    assert (one(outcome).outcome, one(outcome).reason) == (LiveOutcome.STOPPED, "stopped by SIGINT")


def test_drift_that_counts_is_a_failure_with_the_code_of_recordings(cell: plan.Cell, tmp_path: Path) -> None:
    outcome = ran(
        cell, tmp_path, tests={TEST: "passed"}, calls=[call()], code=ExitCode.RECORDINGS, summary="2 answers drifted"
    )
    found = one(outcome)
    assert (found.outcome, found.reason) == (LiveOutcome.FAILED, "2 answers drifted")
    assert results.exit_codes([found], [outcome], require=False) == [ExitCode.RECORDINGS]


def test_a_cell_that_is_not_green_makes_nothing_green(cell: plan.Cell, tmp_path: Path) -> None:
    outcome = ran(
        cell, tmp_path, tests={TEST: "passed"}, calls=[call()], code=ExitCode.NOT_PROVEN, summary="a test has no result"
    )
    assert one(outcome).outcome is LiveOutcome.BLOCKED


def test_a_stack_that_did_not_start_keeps_its_code(cell: plan.Cell, tmp_path: Path) -> None:
    outcome = ran(cell, tmp_path, tests={}, calls=[], code=ExitCode.STACK_START, summary="it exited with code 3")
    found = one(outcome)
    assert (found.outcome, found.reason) == (LiveOutcome.BLOCKED, "it exited with code 3")
    assert ExitCode.STACK_START in results.exit_codes([found], [outcome], require=False)


def test_of_several_models_each_has_the_tests_that_name_it(cell: plan.Cell, tmp_path: Path) -> None:
    small, large = "openai/gpt-5", "openai/gpt-5-mini"
    tests = {f"{TEST}[{small}]": "passed", f"{TEST}[{large}]": "failed", f"{OTHER}[{large}]": "passed"}
    calls = [call(f"{TEST}[{small}]"), call(f"{TEST}[{large}]"), call(f"{OTHER}[{large}]")]
    outcome = ran(cell, tmp_path, tests=tests, calls=calls, code=ExitCode.TESTS)
    first, second = results.of_cell([model(small), model(large)], outcome, SPENT)
    assert (first.outcome, first.requests, first.tests.total) == (LiveOutcome.PASSED, 1, 1)
    assert (second.outcome, second.requests, second.tests.total) == (LiveOutcome.FAILED, 2, 2)


def test_a_test_of_several_models_without_a_result_is_not_green(cell: plan.Cell, tmp_path: Path) -> None:
    one_, other = "openai/a", "openai/b"
    tests = {f"{TEST}[{one_}]": "passed", f"{OTHER}[{one_}]": "lost", f"{TEST}[{other}]": "failed"}
    outcome = ran(
        cell, tmp_path, tests=tests, calls=[call(f"{TEST}[{one_}]")], code=ExitCode.TESTS, summary="timed out"
    )
    first, _ = results.of_cell([model(one_), model(other)], outcome, SPENT)
    assert (first.outcome, first.reason) == (LiveOutcome.FAILED, "timed out")


def test_what_was_skipped_spoils_only_where_it_is_required() -> None:
    some = [LiveOutcome.PASSED, LiveOutcome.SKIPPED]
    assert results.worst(some, require=False) is LiveOutcome.PASSED
    assert results.worst(some, require=True) is LiveOutcome.BLOCKED
    assert results.worst([LiveOutcome.SKIPPED], require=True) is LiveOutcome.SKIPPED
    assert results.worst([LiveOutcome.STOPPED, LiveOutcome.BLOCKED], require=False) is LiveOutcome.BLOCKED
    skipped = results.ModelResult(title="openai", setup="gpt", outcome=LiveOutcome.SKIPPED)
    assert results.exit_codes([skipped], [], require=False) == []
    assert results.exit_codes([skipped], [], require=True) == [ExitCode.NOT_PROVEN]


@pytest.mark.parametrize("answer", [{"status": 500}, {"status": 404}, {"status": None}])
def test_tests_that_pass_whatever_they_are_told_prove_nothing(
    cell: plan.Cell, tmp_path: Path, answer: dict[str, Any]
) -> None:
    one = ran(cell, tmp_path, tests={TEST: "passed"}, calls=[call(**answer), call(**answer)])
    (found,) = results.of_cell([model()], one, SPENT)
    assert (found.outcome, found.reason) == (
        LiveOutcome.BLOCKED,
        "1 passed, and no call of them was answered with success",
    )


def test_a_model_says_whom_its_calls_went_to(cell: plan.Cell, tmp_path: Path) -> None:
    there = LiveModel(
        provider="openai", model="a", setup="gpt", url="", variables={"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}
    )
    one = ran(cell, tmp_path, tests={TEST: "passed"}, calls=[call()])
    (found,) = results.of_cell([there], one, SPENT)
    assert (found.outcome, found.called, found.own_address) == (LiveOutcome.PASSED, ("127.0.0.1",), False)
