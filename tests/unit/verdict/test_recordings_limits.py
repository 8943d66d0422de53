"""What a policy asks of the recordings themselves: written as they would be now, and not too old."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.verdict.conftest import POLICY, RECORDING, Project, Run, asked_for, name_of, rule

from stackproof.checks import recordings as check
from stackproof.errors import ExitCode
from stackproof.evidence import jsonfile, recordings
from stackproof.evidence.recordings import DayFacts, RecordingFacts
from stackproof.recorder.recording import dumps
from stackproof.verdict import recordings_limits
from stackproof.verdict.policy import RecordingsPolicy
from stackproof.verdict.records import State
from stackproof.verdict.records import worst as worst_of

NOW = datetime(2026, 12, 1, 10, tzinfo=UTC)
ASKED = RecordingsPolicy(unnormalised=0, max_age_days=90)
LIMITS = "recordings: {unnormalised: 0, max_age_days: 90}\n"


@pytest.fixture
def limited(project: Project) -> Project:
    project.write("ci/release.yaml", POLICY + LIMITS)
    project.commit()
    return project


def record(project: Project, path: str, *, made: str | None, tidy: bool = True, **provenance: Any) -> None:
    when = {} if made is None else {"recorded_at": made}
    content = {**RECORDING, "request": asked_for(path), "provenance": {**when, **provenance}}
    text = dumps(content) if tidy else json.dumps(content)
    project.write(f"recordings/{name_of(path)}", text)


def looked(project: Project, asked: RecordingsPolicy = ASKED) -> RecordingFacts:
    root = project.folder / "recordings"
    return check.check(root, ["ollama"], integration_root="tests/integration", asked=asked, values={}, now=NOW)


def weighed(project: Project, facts: RecordingFacts) -> Any:
    run: Run = project.good_run()
    jsonfile.write(run.folder / "checks/recordings.json", recordings.to_json(facts))
    run.finish()
    return run.verdict()


def test_recordings_are_counted_by_day_and_those_that_would_change_are_named_with_the_rules(limited: Project) -> None:
    record(limited, "/b", made="2026-10-01T23:30:00-03:00")
    record(limited, "/a", made="2026-10-02T10:00:00+00:00")
    record(limited, "/c", made="2026-11-02T10:00:00+00:00", tidy=False)
    record(limited, "/d", made=None)
    record(limited, "/e", made=None, synthetic=True)
    facts = looked(limited)
    assert facts.days == (
        DayFacts(day="2026-10-02", files=2, first=min(name_of("/a"), name_of("/b"))),
        DayFacts(day="2026-11-02", files=1, first=name_of("/c")),
    )
    assert facts.undated == 1
    assert facts.unnormalised == (f"{name_of('/c')}: layout",)
    jsonfile.write(limited.folder / "facts.json", recordings.to_json(facts))
    assert recordings.read(limited.folder / "facts.json") == facts


def test_an_old_and_an_unnormalised_recording_fail_as_faults_of_recordings(limited: Project) -> None:
    record(limited, "/a", made="2026-06-01T00:00:00+00:00", tidy=False)
    limited.commit()
    verdict = weighed(limited, looked(limited))
    assert verdict.exit_code == ExitCode.RECORDINGS
    assert [finding.text for finding in rule(verdict, "recordings").findings] == [
        f"unnormalised, by stackproof recordings normalize: {name_of('/a')}: layout",
        f"1 is older than 90 days, made before 2026-09-02; the oldest is of 2026-06-01: {name_of('/a')}",
    ]


def test_what_has_no_age_is_said_and_counts_for_nothing(limited: Project) -> None:
    record(limited, "/a", made=None)
    limited.commit()
    verdict = weighed(limited, looked(limited))
    assert verdict.state is State.PASS
    assert [finding.text for finding in rule(verdict, "recordings").findings] == [
        "1 do not say when they were made, and have no age"
    ]


def test_a_recording_that_was_edited_answers_nobody_and_is_damaged(limited: Project) -> None:
    record(limited, "/a", made="2026-11-02T10:00:00+00:00")
    assert looked(limited, RecordingsPolicy()).damaged == ()
    path = limited.folder / "recordings" / name_of("/a")
    path.write_text(path.read_text().replace('"path": "/a"', '"path": "/b"'))
    limited.commit()
    facts = looked(limited, RecordingsPolicy())
    assert facts.damaged == (f"{name_of('/a')}: its name is not that of its request",)
    assert weighed(limited, facts).exit_code == ExitCode.RECORDINGS


def test_nobody_looks_closer_than_the_policy_asks(project: Project) -> None:
    found = looked(project, RecordingsPolicy())
    assert (found.files, found.unnormalised, found.days, found.undated) == (1, None, None, None)


def test_what_was_not_looked_at_is_not_proven_where_the_policy_asks(limited: Project) -> None:
    facts = RecordingFacts(files=1)
    assert weighed(limited, facts).state is State.NOT_PROVEN
    limited.write("ci/release.yaml", POLICY)
    limited.commit()
    assert weighed(limited, facts).state is State.PASS


@pytest.mark.parametrize(("day", "fails"), [("2026-09-02", False), ("2026-09-01", True)])
def test_the_last_day_of_the_limit_is_not_too_old(day: str, fails: bool) -> None:
    facts = RecordingFacts(days=(DayFacts(day=day, files=1, first="f"),), undated=0)
    assert bool(list(recordings_limits.stale(90, facts, date(2026, 12, 1)))) == fails


DAYS = st.lists(st.dates(date(2026, 1, 1), date(2026, 12, 1)), unique=True, max_size=4)


@given(DAYS, st.integers(0, 400), st.integers(0, 400), st.dates(date(2026, 12, 1), date(2027, 6, 1)))
def test_neither_a_lower_limit_nor_a_later_day_ever_helps(days: list[date], limit: int, more: int, today: date) -> None:
    facts = RecordingFacts(
        days=tuple(DayFacts(day=day.isoformat(), files=1, first="f") for day in sorted(days)), undated=0
    )

    def state(limit: int, today: date) -> State:
        return worst_of(finding.state for finding in recordings_limits.stale(limit, facts, today))

    assert state(limit, today).severity >= state(limit + more, today).severity
    assert state(limit, today).severity >= state(limit, date(2026, 12, 1)).severity
    assert (state(limit, today) is State.FAIL) == any((today - day).days > limit for day in days)
