"""Logs, node ids, digests, Git, manifest: what a run leaves, read without trust."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from stackproof.evidence import digests, git, jsonfile, junit, manifest, testlog
from stackproof.evidence.manifest import Damage, DamageKind
from stackproof.evidence.nodeids import junit_key
from stackproof.evidence.outcomes import Outcome


def log(tmp_path: Path, *lines: str) -> testlog.TestLog:
    path = tmp_path / "tests.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return testlog.read(path)


def test_a_log_folds_phases_and_knows_reruns(tmp_path: Path) -> None:
    found = log(
        tmp_path,
        '{"event":"collected","nodeids":["a","b","c","d"]}',
        '{"event":"test","nodeid":"a","outcome":"passed","duration":0.5,"reason":null,"text":null,"attempt":1}',
        '{"event":"test","nodeid":"a","outcome":"error","duration":0.1,"reason":null,"text":"teardown","attempt":1}',
        '{"event":"test","nodeid":"b","outcome":"rerun","duration":0.1,"attempt":1}',
        '{"event":"test","nodeid":"b","outcome":"passed","duration":0.1,"attempt":2}',
        '{"event":"test","nodeid":"c","outcome":"rerun","duration":0.1}',
        '{"event":"test","nodeid":"c","outcome":"failed","duration":0.1}',
        '{"event":"test","nodeid":"d","outcome":"rerun","duration":0.1}',
        '{"event":"calls","replayed":3,"missed":0}',
        '{"event":"finished","exitstatus":1}',
    )
    assert {name: entry.outcome for name, entry in found.tests.items()} == {
        "a": Outcome.ERROR,
        "b": Outcome.FLAKY,
        "c": Outcome.FAILED,
    }
    assert found.tests["a"].seconds == pytest.approx(0.6)
    assert found.calls is not None
    assert found.calls["replayed"] == 3
    assert (found.exitstatus, found.damaged, found.counts.collected) == (1, 0, 4)


def test_damaged_lines_are_counted_and_cost_nothing_else(tmp_path: Path) -> None:
    found = log(
        tmp_path, "[1]", "{", '{"event":"test","nodeid":"a","outcome":"odd"}', '{"event":"finished","exitstatus":0}'
    )
    assert found.damaged == 3
    assert found.exitstatus == 0


def test_an_absent_log_says_nothing(tmp_path: Path) -> None:
    found = testlog.read(tmp_path / "tests.jsonl")
    assert (found.present, found.collected, found.calls, found.exitstatus) == (False, None, None, None)


def test_node_ids_are_found_in_a_report_that_pytest_wrote(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(
        "import pytest\n"
        "class TestA:\n    @pytest.mark.parametrize('v', ['a/b.py::c', '🦊', 'x[y]', '\\x1b'])\n"
        "    def test_m(self, v): pass\n"
        "def test_f(): pass\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:stackproof", "-o", "addopts=",
         "--junitxml=junit.xml", "-rA", "test_x.py"],
        cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    nodeids = [line.removeprefix("PASSED ") for line in done.stdout.splitlines() if line.startswith("PASSED ")]
    assert len(nodeids) == 5
    keys = {case.key for case in junit.read(tmp_path / "junit.xml").cases}
    assert {junit_key(nodeid) for nodeid in nodeids} == keys


def test_a_digest_depends_on_names_and_contents_alone(tmp_path: Path) -> None:
    for root in ("one", "two"):
        folder = tmp_path / root / "recordings" / "s"
        folder.mkdir(parents=True)
        for name in ("b.json", "a.json") if root == "two" else ("a.json", "b.json"):
            (folder / name).write_text(name)
    first = digests.recordings(tmp_path / "one/recordings", "s")
    assert first == digests.recordings(tmp_path / "two/recordings", "s")
    (tmp_path / "two/recordings/s/__pycache__").mkdir()
    (tmp_path / "two/recordings/s/__pycache__/x.pyc").write_text("x")
    assert first == digests.recordings(tmp_path / "two/recordings", "s")
    (tmp_path / "two/recordings/s/a.json").rename(tmp_path / "two/recordings/s/c.json")
    assert first != digests.recordings(tmp_path / "two/recordings", "s")
    assert first != digests.recordings(tmp_path / "one/recordings", "other")


def test_the_digest_of_a_suite_covers_the_conftests_above_it(tmp_path: Path) -> None:
    suite = tmp_path / "tests/integration/base"
    suite.mkdir(parents=True)
    (suite / "test_a.py").write_text("")
    (tmp_path / "tests/unrelated.py").write_text("")
    before = digests.suite(tmp_path, ["tests/integration/base/test_a.py::test_x"])
    (tmp_path / "tests/unrelated.py").write_text("changed")
    assert digests.suite(tmp_path, ["tests/integration/base/test_a.py::test_x"]) == before
    (tmp_path / "tests/conftest.py").write_text("")
    assert digests.suite(tmp_path, ["tests/integration/base/test_a.py::test_x"]) != before


def test_without_git_there_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert git.state(tmp_path) == git.SourceState(commit=None, dirty=False)
    monkeypatch.setenv("PATH", "")
    assert git.state(tmp_path).commit is None


def test_a_change_and_a_new_file_both_make_a_tree_dirty(tmp_path: Path) -> None:
    def run(*arguments: str) -> None:
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True, timeout=120)

    run("init", "-q")
    (tmp_path / "a").write_text("1")
    assert git.state(tmp_path).commit is None
    run("add", "a")
    run("commit", "-q", "-m", "first")
    clean = git.state(tmp_path)
    assert clean.commit is not None
    assert not clean.dirty
    (tmp_path / "b").write_text("1")
    assert git.state(tmp_path).dirty
    assert git.state(tmp_path).changes == ("b",)
    (tmp_path / "b").unlink()
    (tmp_path / "a").write_text("2")
    assert git.state(tmp_path) == git.SourceState(commit=clean.commit, dirty=True)


def test_a_manifest_names_what_is_missing_changed_or_new(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    cell = run_dir / "cells/c"
    jsonfile.write(cell / "result.json", {"a": 1})
    jsonfile.write_text(cell / "tests.jsonl", '{"event":"collected","nodeids":["x"]}\n')
    jsonfile.write_text(cell / "junit.xml", '<testsuite><testcase name="t"/></testsuite>')
    manifest.write(run_dir, run_id="abc123", project=tmp_path)
    facts = manifest.verify(run_dir)
    assert not facts.damage
    content = jsonfile.read(run_dir / "manifest.json")
    assert content is not None
    assert content["nodeids"] == {"c": ["x"]}
    assert content["files"]["cells/c/junit.xml"]["count"] == 1
    (cell / "result.json").unlink()
    jsonfile.write_text(cell / "junit.xml", '<testsuite><testcase name="u"/></testsuite>')
    jsonfile.write(run_dir / "checks/benchmark.json", {})
    assert manifest.verify(run_dir).damage == (
        Damage(kind=DamageKind.CHANGED, path="cells/c/junit.xml"),
        Damage(kind=DamageKind.MISSING, path="cells/c/result.json"),
        Damage(kind=DamageKind.UNLISTED, path="checks/benchmark.json"),
    )


@pytest.mark.parametrize("text", [None, "", "{}", "[]", '{"schema": 1}', '{"schema": 2, "files": {}}'])
def test_a_run_without_a_manifest_says_so(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "manifest.json").write_text(text)
    assert [damage.kind for damage in manifest.verify(tmp_path).damage] == [DamageKind.NO_MANIFEST]


def test_a_manifest_that_points_outside_its_folder_is_not_believed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("x")
    run_dir = tmp_path / "run"
    content = {"schema": 1, "run_id": "r", "files": {"../outside": {"sha256": digests.file(outside)}}}
    jsonfile.write(run_dir / "manifest.json", content)
    assert [damage.kind for damage in manifest.verify(run_dir).damage] == [DamageKind.CHANGED]
