"""What runs say of the use of recordings: asked for, not asked for, not observed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope
from stackproof.recorder.settings import Settings
from stackproof.recordings import observed
from stackproof.recordings.usage import File, Usage, Use

TEST = "tests/integration/base/test_it.py::test_one"
OTHER = "tests/integration/base/test_it.py::test_two"
FIXTURE = "fixture:tests/integration/base/test_it.py::greeting"
REQUEST = "0123456789abcdef0123"
NOW = time.time()
_SUITES = {"base": ("tests/integration/base",), "search": ("tests/integration/search",)}


def name_of(scope: str, *, setup: str = "ollama", number: int = 1) -> str:
    """The recording of a scope below the recording directory."""
    suffix = "" if number == 1 else f"-{number}"
    return f"{setup}/base/{Scope(name=scope).digest[:12]}-{REQUEST}{suffix}.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Runs:
    """Writes run folders as runs leave them, and reads them as the commands do."""

    root: Path

    def add(
        self,
        run: str,
        tests: Mapping[str, str],
        *,
        asked: tuple[str, ...] = (),
        recorded: tuple[str, ...] = (),
        fixtures: tuple[str, ...] = (),
        mode: Mode = Mode.REPLAY,
        stack: str = "library-reference",
        setup: str = "ollama",
        began: float = -100.0,
        finished: bool = True,
        options: Mapping[str, Any] | None = None,
        digest: str = "then",
        home: str = ".stackproof/runs",
    ) -> Path:
        """One cell; `began` in seconds from now."""
        cell = self.root / home / run / "cells" / f"base-{setup}-{stack}"
        cell.mkdir(parents=True)
        recordings = f"{self.root}/recordings"
        settings = Settings(
            mode=mode, recordings=recordings, setup=setup, run_dir=str(cell), run_id=run, project=str(self.root),
            suite="base",
        )  # fmt: skip
        (cell / "recorder.json").write_text(settings.to_json())
        (cell / "cell.json").write_text(json.dumps({"options": {"pattern": None, **(options or {})}}))
        times = {"started": _iso(NOW + began), "stopped": _iso(NOW + began + 10)}
        (cell / "result.json").write_text(json.dumps({**times, "digests": {"recordings": digest, "suite": "suite"}}))
        events: list[dict[str, Any]] = [{"event": "collected", "nodeids": list(tests)}]
        events += [{"event": "test", "nodeid": nodeid, "outcome": outcome} for nodeid, outcome in tests.items()]
        events += [{"event": "finished", "exitstatus": 0}] if finished else []
        calls = [{"kind": "replayed", "file": f"{recordings}/{name}"} for name in asked]
        calls += [{"kind": "recorded", "file": f"{cell}/staged/x/1/{Path(name).name}"} for name in recorded]
        for journal, lines in (("tests", events), ("calls", calls), ("shared", [{"scope": one} for one in fixtures])):
            (cell / f"{journal}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return cell

    def usage(
        self, *, given: tuple[Path, ...] = (), now: str = "now", tests: frozenset[str] = frozenset({TEST, OTHER})
    ) -> Usage:
        """All runs together; `now` is the digest of the recordings as they are."""
        made = Usage(
            project=self.root,
            suites=_SUITES,
            recordings_digest=lambda _: now,
            suite_digest=lambda _: "suite",
            recorded=lambda suite, _: suite == "base",
            tests=tests,
        )
        made.take_in(observed.read(self.root, self.root / "recordings", given))
        return made

    def use(self, scope: str = TEST, *, changed: float = -1000.0, number: int = 1, **more: Any) -> Use:
        """What is known of a recording that is `changed` seconds from now old."""
        file = File(name=name_of(scope, number=number), setup="ollama", scope=scope, changed=NOW + changed)
        return self.usage(**more).judge(file).use


def _iso(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(seconds))


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    """A project with one file of tests, older than every run."""
    path = tmp_path / "tests/integration/base/test_it.py"
    path.parent.mkdir(parents=True)
    path.write_text("def test_one(): pass\n")
    return Runs(root=tmp_path)


PASSED = {TEST: "passed", OTHER: "passed"}


def test_what_any_run_asked_for_is_used_whatever_its_stack_and_however_it_ended(runs: Runs) -> None:
    runs.add("aaaaaa", PASSED)
    runs.add("bbbbbb", {TEST: "failed"}, asked=(name_of(TEST),), stack="server-reference", finished=False, began=-50)
    assert runs.use() is Use.USED


def test_a_passing_test_that_did_not_ask_leaves_its_recording_unused(runs: Runs) -> None:
    runs.add("aaaaaa", PASSED, began=time.time() - NOW + 5)
    assert runs.use() is Use.UNUSED
    assert runs.use(number=2) is Use.UNUSED


@pytest.mark.parametrize("outcome", ["failed", "error", "xfailed"])
def test_a_test_that_did_not_pass_proves_nothing(runs: Runs, outcome: str) -> None:
    runs.add("aaaaaa", {TEST: outcome}, began=time.time() - NOW + 5)
    assert runs.use() is Use.UNOBSERVED


def test_a_test_that_was_not_run_is_not_observed(runs: Runs) -> None:
    runs.add("aaaaaa", {OTHER: "passed"}, began=time.time() - NOW + 5, options={"pattern": "two"})
    assert runs.use() is Use.UNOBSERVED
    assert runs.use(OTHER) is Use.UNUSED, "what a part of a suite ran, it observed"


def test_a_skip_on_one_stack_leaves_the_judgement_to_the_other(runs: Runs) -> None:
    later = time.time() - NOW + 5
    runs.add("aaaaaa", {TEST: "skipped"}, began=later)
    assert runs.use() is Use.UNOBSERVED
    runs.add("bbbbbb", {TEST: "passed"}, stack="server-reference", began=later)
    assert runs.use() is Use.UNUSED


def test_every_stack_that_the_policy_lists_must_have_been_seen(runs: Runs) -> None:
    runs.add("aaaaaa", PASSED, began=time.time() - NOW + 5)
    usage = runs.usage()
    usage.expected["base", "ollama"].add("server:reference")
    file = File(name=name_of(TEST), setup="ollama", scope=TEST, changed=NOW - 1000)
    assert usage.judge(file).use is Use.UNOBSERVED
    assert usage.lacking("base", "ollama", NOW - 1000) == ["server:reference"]


def test_a_recording_that_came_after_the_run_is_not_observed_unless_all_is_as_it_was(runs: Runs) -> None:
    later = time.time() - NOW + 5
    runs.add("aaaaaa", PASSED, began=later)
    assert runs.use(changed=later + 3) is Use.UNOBSERVED
    assert runs.use(changed=later + 3, now="then") is Use.UNOBSERVED, "written while the run went on"
    assert runs.use(changed=later + 60, now="then") is Use.UNUSED, "checked out anew, and the same"


def test_runs_of_another_machine_count_by_digest_only(runs: Runs) -> None:
    runs.add("aaaaaa", PASSED, began=time.time() - NOW + 5, home="artefacts")
    given = (runs.root / "artefacts",)
    assert runs.use() is Use.UNOBSERVED
    assert runs.use(given=given) is Use.UNOBSERVED
    assert runs.use(given=given, now="then") is Use.UNUSED


def test_a_test_that_changed_after_the_run_is_not_observed(runs: Runs) -> None:
    runs.add("aaaaaa", PASSED, began=-100, digest="then")
    path = runs.root / "tests/integration/base/test_it.py"
    os.utime(path)
    usage = runs.usage(now="then")
    usage.suite_digest = lambda _: "another"
    file = File(name=name_of(TEST), setup="ollama", scope=TEST, changed=NOW - 1000)
    assert usage.judge(file).why == "its test's file changed after run aaaaaa (library:reference)"


def test_a_test_that_changed_is_judged_by_runs_since_then_where_there_are_any(runs: Runs) -> None:
    runs.add("aaaaaa", PASSED, asked=(name_of(TEST),), began=-100, digest="then")
    usage = runs.usage()
    usage.suite_digest = lambda _: "another"
    file = File(name=name_of(TEST), setup="ollama", scope=TEST, changed=NOW - 1000)
    assert usage.judge(file).use is Use.USED, "what asked was another test, and no run says that this one does not"
    runs.add("bbbbbb", PASSED, began=time.time() - NOW + 5)
    assert runs.use() is Use.USED, "by its digest, the test is the same"
    usage = runs.usage()
    usage.suite_digest = lambda _: "another"
    assert usage.judge(file).use is Use.UNUSED


def test_what_was_just_recorded_is_used_though_its_number_was_closed_up(runs: Runs) -> None:
    runs.add("aaaaaa", PASSED, began=-90)
    runs.add("bbbbbb", PASSED, mode=Mode.RECORD, recorded=(name_of(TEST, number=2),), began=-50)
    assert runs.use(changed=-45) is Use.USED


def test_a_run_that_recorded_does_not_observe_what_is_not_asked_for(runs: Runs) -> None:
    runs.add("aaaaaa", PASSED, mode=Mode.RECORD, began=time.time() - NOW + 5)
    assert runs.use() is Use.UNOBSERVED
    assert runs.usage().lacking("base", "ollama", NOW - 1000) == ["?"]


def test_a_fixture_is_unused_when_a_whole_run_set_it_up_or_had_nothing_skipped(runs: Runs) -> None:
    later = time.time() - NOW + 5
    runs.add("aaaaaa", {TEST: "passed", OTHER: "skipped"}, fixtures=(FIXTURE,), began=later)
    assert runs.use(FIXTURE) is Use.UNUSED
    assert runs.use(FIXTURE.replace("greeting", "farewell")) is Use.UNOBSERVED, "the skipped test may need it"
    runs.add("bbbbbb", PASSED, began=later + 10)
    assert runs.use(FIXTURE.replace("greeting", "farewell")) is Use.UNUSED


def test_a_part_of_a_suite_says_nothing_of_fixtures(runs: Runs) -> None:
    later = time.time() - NOW + 5
    runs.add("aaaaaa", PASSED, began=later, options={"pattern": "one"})
    assert runs.use(FIXTURE) is Use.UNOBSERVED
    runs.add("bbbbbb", {OTHER: "passed"}, began=later + 5)
    assert runs.use(FIXTURE) is Use.UNOBSERVED, "a marker or PYTEST_ADDOPTS kept a test from it"


def test_a_fixture_of_a_session_waits_for_every_suite_that_has_recordings(runs: Runs) -> None:
    runs.add("aaaaaa", PASSED, began=time.time() - NOW + 5)
    assert runs.use("fixture:::greeting") is Use.UNUSED
    usage = runs.usage()
    usage.recorded = lambda *_: True
    file = File(name=name_of("fixture:::greeting"), setup="ollama", scope="fixture:::greeting", changed=NOW - 1000)
    assert usage.judge(file).use is Use.UNOBSERVED


def test_what_belongs_to_the_stack_is_never_called_unused(runs: Runs) -> None:
    runs.add("aaaaaa", PASSED, began=time.time() - NOW + 5)
    assert runs.use("stack") is Use.UNOBSERVED
    assert runs.use("a scope of another kind") is Use.UNOBSERVED
    models = File(name=f"ollama/common/models-{REQUEST}-aaaaaaaaaaaa.json", setup="ollama", scope=TEST, changed=NOW)
    assert runs.usage().judge(models).use is Use.UNOBSERVED


def test_a_run_with_other_recordings_and_a_damaged_folder_say_nothing(runs: Runs) -> None:
    cell = runs.add("aaaaaa", PASSED, began=time.time() - NOW + 5)
    (cell / "recorder.json").write_text((cell / "recorder.json").read_text().replace("/recordings", "/others"))
    cell = runs.add("bbbbbb", PASSED, began=time.time() - NOW + 5)
    (cell / "recorder.json").write_text("{")
    assert observed.read(runs.root, runs.root / "recordings") == ()
