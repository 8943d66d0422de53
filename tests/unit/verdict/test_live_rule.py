"""What the policy makes of live smokes: how old, how they ended, and how their answers drift."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped, unused-ignore]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.verdict.conftest import POLICY, TODAY, Project, Run, rule
from tests.unit.verdict_outputs.test_schema import STRICT

from stackproof import catalog
from stackproof.cli.main import main
from stackproof.errors import ExitCode, NotProvenError, UsageError
from stackproof.evidence import jsonfile
from stackproof.evidence.live import DriftCounts, LiveFacts, LiveModelFacts, LiveOutcome
from stackproof.verdict import compared, policy, publish, render, terminal, update
from stackproof.verdict.check import check
from stackproof.verdict.policy import DriftRule, LivePolicy, Required
from stackproof.verdict.records import State, Verdict
from stackproof.verdict.standing import LiveState, outcome_of, standing

LIVE = "live: {setups: [gpt], max_age_days: 8}\n"
COMMIT = "a" * 40


def smoke(outcome: str = "passed", *, days: int = 2, setup: str = "gpt", **more: Any) -> dict[str, Any]:
    """What a smoke leaves that ended so many days before the day of the verdict."""
    stopped = datetime(TODAY.year, TODAY.month, TODAY.day, 9, tzinfo=UTC) - timedelta(days=days)
    drift = {"breaking": 0, "additive": 0, "note": 0, "unrecorded": 0}
    model = {
        "model": "openai/gpt-5-mini", "setup": setup, "outcome": outcome, "reason": None, "tests": {"passed": 5},
        "requests": 12, "retries": 0, "tokens": {"input": 1, "output": 2}, "drift": drift,
        "called": ["api.openai.com"], "own_address": True,
    }  # fmt: skip
    return {
        "schema": 1, "kind": "live", "run_id": f"r{days}", "commit": COMMIT, "dirty": False,
        "started": stopped.isoformat(), "stopped": stopped.isoformat(), "outcome": outcome,
        "models": [{**model, **more}], "budget": {"ended_by": None},
    }  # fmt: skip


@pytest.fixture
def asked(project: Project) -> Project:
    project.write("ci/release.yaml", POLICY + LIVE)
    project.commit()
    return project


def leave(project: Project, data: Any, name: str = "gpt.json") -> None:
    jsonfile.write(project.folder / ".stackproof/live" / name, data)


def weighed(project: Project, **environ: str) -> Verdict:
    return project.good_run().verdict(environ=environ)


@pytest.mark.parametrize(
    ("left", "state", "said"),
    [
        (smoke(), State.PASS, "(2026-11-29, at commit aaaaaaa): openai/gpt-5-mini at api.openai.com; drift: 0"),
        (smoke(days=8), State.PASS, "passed 8 days ago"),
        (smoke(days=9), State.NOT_PROVEN, "it did not run for 9 days (limit 8): the last one passed on 2026-11-22"),
        (smoke("failed", reason="500"), State.FAIL, "it failed 2 days ago (2026-11-29, at commit aaaaaaa): 500"),
        (smoke("failed", days=30), State.FAIL, "it failed 30 days ago"),
        (smoke("blocked", reason="no credit"), State.NOT_PROVEN, "it was blocked 2 days ago"),
        (smoke("blocked", days=9), State.NOT_PROVEN, "the last one was blocked on 2026-11-22"),
        (smoke("stopped"), State.NOT_PROVEN, "it was stopped by its budget"),
        (smoke("skipped"), State.NOT_PROVEN, "it was skipped"),
        (smoke(tests={}), State.NOT_PROVEN, "it says that it passed 2 days ago"),
        (smoke(requests=0), State.NOT_PROVEN, "and no test of it did"),
        (smoke(requests=-5), State.NOT_PROVEN, "and no test of it did"),
        (smoke(requests=None), State.NOT_PROVEN, "and no test of it did"),
        (smoke(refused=12), State.NOT_PROVEN, "and no test of it did"),
        (smoke(refused=13), State.NOT_PROVEN, "and no test of it did"),
        (smoke(refused=11), State.PASS, "12 requests, 11 of them refused or without an answer"),
        (smoke(called=["127.0.0.1"], own_address=False), State.NOT_PROVEN, "called 127.0.0.1, which its setup"),
        (smoke(called=["gateway.example"], own_address="yes"), State.NOT_PROVEN, "but called gateway.example, which"),
        (smoke(called=None), State.NOT_PROVEN, "at commit aaaaaaa), but does not say where"),
        (smoke(outcome="excellent"), State.NOT_PROVEN, "does not say how the smoke ended"),
        (smoke(days=-1), State.NOT_PROVEN, "it says that it passed on 2026-12-02, which is to come: a clock is wrong"),
        (smoke(setup="anthropic"), State.NOT_PROVEN, "it has not run, as far as there is evidence"),
        (None, State.NOT_PROVEN, "it has not run, as far as there is evidence"),
    ],
)  # fmt: skip
def test_a_smoke_counts_by_its_outcome_and_its_age(asked: Project, left: Any, state: State, said: str) -> None:
    if left is not None:
        leave(asked, left)
    verdict = weighed(asked)
    found = rule(verdict, "live:gpt")
    assert found.state is state
    assert said in " ".join([found.summary, *(finding.text for finding in found.findings)])
    assert verdict.state is state
    assert (found.again in verdict.again) is (state is not State.PASS)
    assert found.again == "nox -s live_smoke -- --setup gpt"


def test_a_model_whose_outcome_cannot_be_read_has_failed(asked: Project) -> None:
    leave(asked, {**smoke(), "models": [{**smoke()["models"][0], "outcome": None}]})
    assert rule(weighed(asked), "live:gpt").state is State.FAIL


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("live: {setups: [gpt], required: where-available}\n", False),
        ("live: {setups: [gpt], required: always}\n", True),
        ("live: {setups: [gpt]}\n", True),
    ],
)
def test_where_available_does_not_count_that_there_is_none_even_in_ci(
    project: Project, text: str, counts: bool
) -> None:
    project.write("ci/release.yaml", POLICY + text)
    project.commit()
    verdict = weighed(project, CI="true")
    assert rule(verdict, "live:gpt").state is State.NOT_PROVEN
    assert verdict.state is (State.NOT_PROVEN if counts else State.PASS)
    leave(project, smoke("skipped"))
    assert weighed(project).state is (State.NOT_PROVEN if counts else State.PASS)
    leave(project, smoke(days=20))
    assert weighed(project).state is State.NOT_PROVEN


def test_that_evidence_is_named_makes_its_absence_count(project: Project, tmp_path: Path) -> None:
    project.write("ci/release.yaml", POLICY + "live: {setups: [gpt], required: where-available}\n")
    project.commit()
    missing = weighed(project, STACKPROOF_LIVE_EVIDENCE=str(tmp_path / "gone"))
    texts = [finding.text for finding in rule(missing, "live:gpt").findings]
    assert missing.state is State.NOT_PROVEN
    assert any(text.startswith("STACKPROOF_LIVE_EVIDENCE names") and "is not there" in text for text in texts)
    (tmp_path / "live.json").write_text(json.dumps(smoke()))
    assert weighed(project, STACKPROOF_LIVE_EVIDENCE=str(tmp_path / "live.json")).state is State.PASS


def test_the_smoke_of_a_run_that_is_weighed_counts_and_must_be_as_the_manifest_lists_it(asked: Project) -> None:
    run = asked.run()
    run.cell("library:reference")
    run.cell("server:reference")
    run.checks()
    jsonfile.write(run.folder / "checks/live.json", smoke())
    run.finish()
    found = rule(run.verdict(), "live:gpt")
    assert (found.state, found.evidence) == (State.PASS, ("checks/live.json",))
    jsonfile.write(run.folder / "checks/live.json", smoke(days=1))
    spoiled = rule(run.verdict(), "live:gpt")
    assert spoiled.state is State.NOT_PROVEN
    assert spoiled.summary == "not proven: checks/live.json was changed after the run"


@pytest.mark.parametrize(
    ("drift", "rule_", "state", "code"),
    [
        ({"breaking": 2, "additive": 0}, "warn", State.PASS, ExitCode.PASS),
        ({"breaking": 2, "additive": 0}, "fail", State.FAIL, ExitCode.RECORDINGS),
        ({"breaking": 0, "additive": 3}, "fail", State.PASS, ExitCode.PASS),
        ({"breaking": 0, "additive": 0}, "fail", State.PASS, ExitCode.PASS),
        ({"additive": 0}, "fail", State.NOT_PROVEN, ExitCode.NOT_PROVEN),
        (None, "fail", State.NOT_PROVEN, ExitCode.NOT_PROVEN),
        (None, "warn", State.PASS, ExitCode.PASS),
        ({"breaking": 0, "additive": 0, "unrecorded": 11}, "fail", State.PASS, ExitCode.PASS),
        ({"breaking": 0, "additive": 0, "unrecorded": 12}, "fail", State.NOT_PROVEN, ExitCode.NOT_PROVEN),
        ({"breaking": 0, "additive": 0, "unrecorded": 12}, "warn", State.PASS, ExitCode.PASS),
        ({"breaking": -1, "additive": "many"}, "fail", State.NOT_PROVEN, ExitCode.NOT_PROVEN),
    ],
)
def test_drift_that_breaks_is_said_or_fails_and_what_is_new_is_only_said(
    project: Project, drift: Any, rule_: str, state: State, code: ExitCode
) -> None:
    project.write("ci/release.yaml", POLICY + f"live: {{setups: [gpt], drift: {rule_}}}\n")
    project.commit()
    leave(project, smoke(drift=drift))
    verdict = weighed(project)
    assert (verdict.state, verdict.exit_code) == (state, code)
    number = sum(value for value in (drift or {}).values() if isinstance(value, int) and value > 0)
    assert (terminal.mark(rule(verdict, "live:gpt")) == "~") is (state is State.PASS and number > 0)


def test_calls_that_were_refused_were_compared_with_nothing(project: Project) -> None:
    project.write("ci/release.yaml", POLICY + "live: {setups: [gpt], drift: fail}\n")
    project.commit()
    drift = {"breaking": 0, "additive": 0, "unrecorded": 8}
    leave(project, smoke(drift=drift, refused=4))
    found = rule(weighed(project), "live:gpt")
    assert found.summary == "not proven: its answers were not compared with the recordings"
    leave(project, smoke(drift=drift, refused=3))
    assert rule(weighed(project), "live:gpt").state is State.PASS


def test_the_newest_counts_and_a_skip_takes_nothing_away(asked: Project) -> None:
    leave(asked, smoke("failed", days=5), "old.json")
    leave(asked, smoke(days=4), "newer.json")
    leave(asked, smoke("skipped", days=1), "newest.json")
    found = rule(weighed(asked), "live:gpt")
    assert found.state is State.PASS
    assert [finding.text for finding in found.findings] == ["a newer one, of 2026-11-30, was skipped"]
    leave(asked, smoke("blocked", days=0), "today.json")
    assert rule(weighed(asked), "live:gpt").state is State.NOT_PROVEN


def test_a_clock_that_is_ahead_makes_nothing_green_and_hides_no_failure(asked: Project) -> None:
    leave(asked, smoke(), "good.json")
    leave(asked, smoke(days=-5), "ahead.json")
    found = rule(weighed(asked), "live:gpt")
    assert found.state is State.PASS
    assert [finding.text for finding in found.findings] == [
        "one that says that it ended on 2026-12-06, which is to come, was not trusted"
    ]
    leave(asked, smoke("failed", days=-5), "ahead.json")
    assert rule(weighed(asked), "live:gpt").state is State.NOT_PROVEN


MODELS = st.builds(
    LiveModelFacts,
    model=st.just("m"),
    setup=st.sampled_from(["gpt", "other"]),
    outcome=st.sampled_from(LiveOutcome),
    tests=st.sampled_from([{}, {"passed": 1}]),
    requests=st.sampled_from([None, 0, 3]),
    drift=st.sampled_from([None, DriftCounts()]),
    called=st.sampled_from([("api.openai.com",), ("127.0.0.1",), ()]),
    own_address=st.sampled_from([True, True, False]),
)
SMOKES = st.builds(
    LiveFacts,
    origin=st.just("x"),
    outcome=st.sampled_from(LiveOutcome),
    stopped=st.datetimes(datetime(2026, 11, 15), datetime(2026, 12, 10), timezones=st.just(UTC)),  # noqa: DTZ001
    models=st.lists(MODELS, max_size=3).map(tuple),
)


@settings(deadline=None)
@given(smokes=st.lists(SMOKES, max_size=5), bad=SMOKES)
def test_a_smoke_that_is_bad_or_old_or_to_come_never_makes_a_setup_pass(
    smokes: list[LiveFacts], bad: LiveFacts
) -> None:
    def state(found: list[LiveFacts]) -> LiveState:
        return standing("gpt", found, today=TODAY, limit=8).state

    day = bad.stopped.date()
    good = bool(bad.of("gpt")) and outcome_of(bad, "gpt") is LiveOutcome.PASSED and 0 <= (TODAY - day).days <= 8
    if state(smokes) is not LiveState.PASSED and not good:
        assert state([*smokes, bad]) is not LiveState.PASSED
    assert state([*smokes, *smokes]) is state(smokes)


@settings(deadline=None)
@given(smokes=st.lists(SMOKES, max_size=4), days=st.integers(0, 20))
def test_waiting_never_makes_a_setup_pass_that_ended_before_today(smokes: list[LiveFacts], days: int) -> None:
    past = [each for each in smokes if each.stopped.date() <= TODAY]
    before = standing("gpt", past, today=TODAY, limit=8).state
    after = standing("gpt", past, today=TODAY + timedelta(days=days), limit=8)
    assert after.sentence.startswith("live smoke of gpt ")
    if before is not LiveState.PASSED:
        assert after.state is not LiveState.PASSED


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("live: {}\n", "ci/release.yaml:8: 'live' lacks 'setups'"),
        ("live: {setups: []}\n", "ci/release.yaml:8: 'live' lacks 'setups'"),
        ("live: {setups: [gpt, gpt]}\n", "ci/release.yaml:8: setup 'gpt' is listed twice in 'live'"),
        ("live: {setups: [gpt], max_age_days: 0}\n", "a whole number of at least 1"),
        ("live: {setups: [gpt], drift: maybe}\n", "must be one of: warn, fail; not 'maybe'"),
        ("live: {setups: [gpt], required: sometimes}\n", "must be one of: always, where-available"),
        ("live: {setup: [gpt]}\n", "unknown key 'setup' in 'live'"),
    ],
)
def test_what_is_wrong_in_the_section_is_named_with_its_line(project: Project, text: str, said: str) -> None:
    project.write("ci/release.yaml", POLICY + text)
    with pytest.raises(UsageError) as caught:
        policy.load(project.folder)
    assert said in str(caught.value)


def test_the_section_is_read_with_its_defaults_and_a_setup_that_is_not_there_is_named(project: Project) -> None:
    project.write("ci/release.yaml", POLICY + "live: {setups: [gtp]}\n")
    assert policy.load(project.folder).live == LivePolicy(
        setups=("gtp",), max_age_days=8, drift=DriftRule.WARN, required=Required.ALWAYS
    )
    with pytest.raises(UsageError, match="gpt"):
        check(project.folder, catalog.load(project.folder), TODAY)


def test_explain_says_what_is_asked_of_live_smokes(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    text = "live: {setups: [gpt, gemini], max_age_days: 3, drift: fail, required: where-available}\n"
    project.write("ci/release.yaml", POLICY + text)
    assert main(["policy", "explain"], environ={}, project=project.folder) == ExitCode.PASS
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("ci/release.yaml:8")]
    assert told == [
        (
            "ci/release.yaml:8  A live smoke of each of gpt, gemini has passed within 3 days; where there is no "
            "evidence of one, that is said, and counts only where STACKPROOF_LIVE_EVIDENCE is set."
        ),
        (
            "ci/release.yaml:8  Its answers do not break with the recordings; what is new in them is said, and does "
            "not count."
        ),
    ]


def test_drift_is_compared_with_the_verdict_before(asked: Project) -> None:
    def published(drift: dict[str, int], day: int) -> Run:
        leave(asked, smoke(drift=drift, days=day))
        run = asked.good_run()
        publish.write(run.folder, run.verdict(), project=asked.folder)
        return run

    first = published({"breaking": 0, "additive": 1}, 2)
    again = published({"breaking": 2, "additive": 1}, 1)
    then, now = (compared.read(run.folder) for run in (first, again))
    found = compared.compare(now, then)
    assert found.drift == ("live gpt: 2 breaking and 1 additive differences now, 0 and 1 before",)
    assert "  live gpt: 2 breaking and 1 additive differences now, 0 and 1 before" in compared.lines(found)
    assert compared.compare(now, now).drift == ()
    data = json.loads((again.folder / "verdict.json").read_text())
    jsonschema.validate(data, STRICT)
    assert data["live"][0]["drift"] == {"breaking": 2, "additive": 1, "note": 0, "unrecorded": 0}
    page = (again.folder / "verdict.html").read_text()
    assert "live gpt" in page
    assert "2 breaking differences from the recordings" in page
    assert "live gpt" in (again.folder / "verdict.md").read_text()
    assert '"live gpt"' in (again.folder / "ctrf/report.json").read_text()


def test_a_key_in_a_reason_is_in_no_output(asked: Project) -> None:
    secret = "sk-proj-0123456789abcdefghijABCDEFGHIJ"
    leave(asked, smoke("failed", reason=f"401 for {secret}", model=f"openai/{secret}"))
    run = asked.good_run()
    made = publish.write(run.folder, run.verdict(), project=asked.folder)
    assert secret not in json.dumps(render.to_json(made.verdict))
    for name in ("verdict.json", "verdict.md", "verdict.html", "junit.xml", "ctrf/report.json"):
        assert secret not in (run.folder / name).read_text()


def test_the_day_is_that_of_the_verdict_and_no_clock(asked: Project) -> None:
    leave(asked, smoke())
    run = asked.good_run()
    assert rule(run.verdict(today=date(2026, 12, 7)), "live:gpt").state is State.PASS
    assert rule(run.verdict(today=date(2026, 12, 8)), "live:gpt").state is State.NOT_PROVEN


@pytest.mark.parametrize(
    "left", [None, smoke("failed"), smoke(days=-1), smoke(days=9), smoke(drift=None), smoke(called=[])]
)
def test_however_a_setup_stands_the_verdict_fits_its_schema(asked: Project, left: Any) -> None:
    if left is not None:
        leave(asked, left)
    jsonschema.validate(render.to_json(weighed(asked)), STRICT)


def test_no_list_of_tests_is_made_of_a_live_smoke(asked: Project) -> None:
    run = asked.run()
    jsonfile.write(run.folder / "checks/live.json", smoke())
    run.finish()
    with pytest.raises(NotProvenError) as caught:
        update.planned(asked.folder, [run.folder])
    assert "no list of tests is kept of a live smoke" in (caught.value.hint or "")


def test_a_smoke_of_some_of_the_tests_says_so(asked: Project) -> None:
    leave(asked, {**smoke(), "suite": "live", "arguments": ["-k", "test_a"]})
    found = rule(weighed(asked), "live:gpt")
    assert found.state is State.PASS
    said = "it ran suite live with -k test_a, so perhaps not every test of live"
    assert said in [each.text for each in found.findings]
    leave(asked, {**smoke(), "suite": "plain", "arguments": []})
    assert "it ran suite plain, so" in rule(weighed(asked), "live:gpt").findings[0].text
    leave(asked, {**smoke(), "suite": "live", "arguments": []})
    assert rule(weighed(asked), "live:gpt").findings == ()


def test_a_host_that_the_policy_names_stands_for_the_provider(project: Project) -> None:
    project.write("ci/release.yaml", POLICY + "live: {setups: [gpt], hosts: [gateway.example]}\n")
    project.commit()
    leave(project, smoke(called=["gateway.example"], own_address=False))
    found = rule(weighed(project), "live:gpt")
    assert found.state is State.PASS
    assert "openai/gpt-5-mini at gateway.example" in found.summary
    leave(project, smoke(called=["gateway.example", "127.0.0.1"], own_address=False))
    assert rule(weighed(project), "live:gpt").state is State.NOT_PROVEN
