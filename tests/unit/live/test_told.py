"""What a person is shown of a smoke, and what the page of a CI run shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stackproof.evidence.live import DriftCounts, LiveOutcome
from stackproof.evidence.outcomes import Counts
from stackproof.live import planning, summary, told
from stackproof.live.budgets import Spent
from stackproof.live.meaning import Standing
from stackproof.live.opt_in import NotWanted
from stackproof.live.order import Limits, SmokeOrder
from stackproof.live.preflight import Asked
from stackproof.live.results import ModelResult
from stackproof.live.sentences import Finding
from stackproof.live.written import Smoke

REASON = "a real call needs OPENAI_API_KEY and STACKPROOF_LIVE_MODEL; missing: STACKPROOF_LIVE_MODEL"
GOOD = ModelResult(
    title="openai/a",
    setup="gpt",
    outcome=LiveOutcome.PASSED,
    tests=Counts(passed=8, skipped=1),
    requests=12,
    retries=1,
    tokens=(1000, 204),
    drift=DriftCounts(breaking=2, unrecorded=1),
)
SKIPPED = ModelResult(title="openai", setup="gpt", outcome=LiveOutcome.SKIPPED, reason=REASON)


def smoke(*results: ModelResult, outcome: LiveOutcome) -> Smoke:
    return Smoke(
        run_id="7f3c2a",
        run_dir=Path(),
        project=Path(),
        started="2026-11-30T05:17:00+00:00",
        stopped="2026-11-30T05:17:20+00:00",
        outcome=outcome,
        results=results,
        spent=Spent(limits=Limits(), requests=14, tokens=1210, seconds=13.6),
        asked=2,
    )


def test_a_test_without_a_call_says_exactly_what_is_missing() -> None:
    missing = NotWanted(reason=REASON, setup="gpt", provider="openai")
    assert list(told.skipped([missing], ["tests/live/test_responses.py::test_completes"], "live")) == [
        (
            "– tests/live/test_responses.py::test_completes   skipped: a real call needs OPENAI_API_KEY and "
            "STACKPROOF_LIVE_MODEL; missing: STACKPROOF_LIVE_MODEL"
        )
    ]


def test_many_tests_of_many_models_are_one_line_for_each_model() -> None:
    missing = [NotWanted(reason=REASON, setup="gpt", provider="openai", title=f"openai/{n}") for n in range(5)]
    lines = list(told.skipped(missing, [f"t::{n}" for n in range(15)], "live"))
    assert lines[0] == f"– live with openai/0 (15 tests)   skipped: {REASON}"
    assert len(lines) == 5


def test_all_skipped_is_one_loud_line() -> None:
    nothing = smoke(SKIPPED, outcome=LiveOutcome.SKIPPED)
    assert told.last(nothing, SmokeOrder()) == f"NOTHING WAS CALLED: {REASON}"
    assert told.last(nothing, SmokeOrder(require=True)) == f"NOTHING WAS CALLED: {REASON} (--require)"
    interrupted = smoke(outcome=LiveOutcome.SKIPPED)
    assert told.last(interrupted, SmokeOrder()) == "NOTHING WAS CALLED: it was stopped before that"


def test_the_last_line_names_what_was_used_and_what_was_not_called() -> None:
    some = smoke(GOOD, SKIPPED, outcome=LiveOutcome.PASSED)
    assert told.last(some, SmokeOrder()) == (
        "LIVE SMOKE PASSED: 1 of 2 models passed; 14 of 60 requests (2 of them before the tests), "
        f"1,210 of 60,000 tokens, 13.6 of 900 s; 1 model not called: {REASON}"
    )


def test_the_table_has_a_row_for_each_model() -> None:
    bad = ModelResult(
        title="anthropic/b", setup="anthropic", outcome=LiveOutcome.FAILED, reason="t::x", tests=Counts(failed=1)
    )
    blocked = ModelResult(title="gemini/c", setup="gemini", outcome=LiveOutcome.BLOCKED, reason="said before")
    assert list(told.table([GOOD, bad, blocked])) == [
        "model        outcome  tests                requests  retries  tokens  drift",
        "openai/a     passed   8 passed, 1 skipped  12        1        1,204   2 breaking, 1 unrecorded",
        "anthropic/b  failed   1 failed             0         0        0       –",
        "gemini/c     blocked  –                    –         –        –       –",
        "✗ anthropic/b failed: t::x",
    ]


def test_the_table_says_how_many_requests_were_refused() -> None:
    heads, row = told.table([replace(GOOD, refused=3)])
    assert heads.split()[3] == "requests"
    assert row == "openai/a  passed   8 passed, 1 skipped  12 (3 refused)  1        1,204   2 breaking, 1 unrecorded"
    assert "| 12 (3 refused) |" in "".join(summary.markdown(smoke(replace(GOOD, refused=3), outcome=GOOD.outcome), ""))


def test_a_stand_in_is_named_below_the_table_once() -> None:
    there = replace(GOOD, drift=None, called=("127.0.0.1",))
    *_, row, said = told.table([replace(there, title="openai/b"), there])
    assert row.startswith("openai/a  passed")
    assert said == "– 127.0.0.1 was called, which setup gpt does not name: this is no evidence of its providers"
    assert "was called" not in "".join(told.table([replace(there, called=("api.openai.com",), own_address=True)]))


def test_what_was_asked_beforehand_says_how_often_and_what_to_do() -> None:
    fine = Finding(standing=Standing.OK, sentence="openai key accepted, model a is there")
    bad = Finding(standing=Standing.UNKNOWN_MODEL, sentence="openai has no model 'b'", hint="it has a")
    asked = Asked(
        provider="openai",
        setup="gpt",
        findings={"openai/a": fine, "openai/b": bad},
        requests=3,
        retries=1,
        seconds=0.42,
    )
    assert list(told.preflight(asked)) == [
        "● openai key accepted, model a is there   420 ms, 3 requests",
        "✗ openai has no model 'b'   420 ms, 3 requests",
        "  it has a",
    ]


def test_nothing_that_others_wrote_acts_in_the_summary() -> None:
    evil = "a | b `` <script> \n::error::x [l](https://x) \x1b[31m"
    bad = ModelResult(title="openai/`x|y", setup="gpt", outcome=LiveOutcome.FAILED, reason=evil)
    lines = list(summary.markdown(smoke(GOOD, bad, outcome=LiveOutcome.FAILED), "STACKPROOF_LIVE_MODEL=a nox"))
    (row,) = [line for line in lines if "script" in line]
    assert row.endswith("| ```a \\| b `` <script> \\n::error::x [l](https://x) \\x1b[31m``` |")
    assert "``openai/`x\\|y``" in row
    assert "\x1b" not in "".join(lines)
    assert all("\n" not in line for line in lines)
    assert "Again: `STACKPROOF_LIVE_MODEL=a nox`" in lines


def test_the_summary_is_written_only_where_it_is_asked_for(tmp_path: Path) -> None:
    good = smoke(GOOD, outcome=LiveOutcome.PASSED)
    assert not summary.append(good, "again", {})
    assert not summary.append(good, "again", {"GITHUB_STEP_SUMMARY": str(tmp_path / "no" / "file")})
    path = tmp_path / "summary.md"
    path.write_text("before\n")
    assert summary.append(good, "again", {"GITHUB_STEP_SUMMARY": str(path)})
    assert path.read_text().startswith("before\n# Live smoke: passed\n")


def test_annotations_are_for_models_that_did_not_pass() -> None:
    bad = ModelResult(title="openai/b", setup="gpt", outcome=LiveOutcome.BLOCKED, reason="no credit\n::set-env::x")
    (note,) = summary.notes(smoke(GOOD, SKIPPED, bad, outcome=LiveOutcome.BLOCKED))
    assert note.command() == "::error title=live smoke%3A openai/b::no credit%0A::set-env::x"


@pytest.mark.parametrize(
    ("order", "command"),
    [
        (SmokeOrder(), "STACKPROOF_LIVE_MODEL=openai/a stackproof smoke --setup gpt"),
        (
            SmokeOrder(require=True, strict=True, budget=Limits(max_requests=5), pytest_args=("-k", "a or b")),
            (
                "STACKPROOF_LIVE_MODEL=openai/a stackproof smoke --setup gpt --max-requests 5 --require --strict "
                "-- -k 'a or b'"
            ),
        ),
        (
            SmokeOrder(budget=Limits(max_tokens=1_234_567, max_seconds=3600.25)),
            "STACKPROOF_LIVE_MODEL=openai/a stackproof smoke --setup gpt --max-tokens 1234567 --max-seconds 3600.25",
        ),
        (
            SmokeOrder(suite="base", stack_config="server:reference", provider_service="llama-cpp", timeout=9.5),
            (
                "STACKPROOF_LIVE_MODEL=openai/a stackproof smoke --setup gpt --suite base "
                "--stack-config server:reference --provider-service llama-cpp --timeout 9.5"
            ),
        ),
    ],
)
def test_the_command_to_run_it_again_has_what_was_given(order: SmokeOrder, command: str, tmp_path: Path) -> None:
    assert planning.again(order, ["gpt"], "openai/a", tmp_path) == command


def test_a_project_with_the_session_is_told_to_use_it(tmp_path: Path) -> None:
    (tmp_path / "noxfile.py").write_text("def live_smoke(session): ...  # stackproof\n")
    assert "nox -s live_smoke -- --setup gpt" in planning.again(SmokeOrder(), ["gpt"], "openai/a", tmp_path)
