"""What a recording session leaves behind: the answers of what passed, and never less than there was before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.recorder.conftest import Probe, Project


def test_a_failing_tests_answers_are_not_kept_and_that_is_said(project: Project) -> None:
    project.test("""
def test_good(ask):
    ask("good")

def test_bad(ask):
    ask("bad")
    assert 0

@pytest.fixture
def broken(ask):
    yield
    ask("teardown")
    raise RuntimeError

def test_bad_teardown(ask, broken):
    ask("before the teardown")

def test_skipped(ask):
    ask("skipped")
    pytest.skip("after all")
""")
    ended = project.pytest("record")
    assert ended.code == 1
    assert ended.has("not kept: 4 recordings of tests that failed")
    assert project.recordings() == {"test_it.py::test_good good": "answer 1 to good"}


def test_what_is_recorded_anew_replaces_its_tests_set_and_no_others(project: Project) -> None:
    project.test('def test_a(ask):\n    ask("old")\n    ask("same")\n\ndef test_b(ask):\n    ask("b")\n')
    assert project.pytest("record").code == 0
    kept = project.contents()
    project.test('def test_a(ask):\n    ask("new")\n    ask("same")\n\ndef test_b(ask):\n    ask("b")\n')
    ended = project.pytest("record", "tests/integration/test_it.py::test_a")
    assert ended.has("2 files written, 1 removed")
    assert sorted(project.recordings()) == ["test_it.py::test_a new", "test_it.py::test_a same", "test_it.py::test_b b"]
    (b,) = [path for path in kept if b"::test_b" in kept[path][0]]
    assert project.contents()[b] == kept[b]


def test_record_if_missing_only_adds(project: Project, probe: Probe) -> None:
    project.test('def test_a(ask):\n    ask("one")\n')
    assert project.pytest("record").code == 0
    kept = project.contents()
    project.test(
        'def test_a(ask):\n    assert ask("one").json()["text"] == "answer 1 to one"\n    ask("one")\n    ask("two")\n'
    )
    ended = project.pytest("record-if-missing")
    assert ended.code == 0, ended.out
    assert ended.has("1 replayed, 2 recorded")
    assert project.recordings() == {
        "test_it.py::test_a one": "answer 1 to one",
        "test_it.py::test_a one 2": "answer 2 to one",
        "test_it.py::test_a two": "answer 3 to two",
    }
    assert {path: content for path, content in project.contents().items() if path in kept} == kept
    assert len(probe.asked) == 3


def test_recording_an_equal_answer_touches_nothing(project: Project, probe: Probe) -> None:
    project.test('def test_a(ask):\n    ask("one", to="stream")\n')
    assert project.pytest("record").code == 0
    kept = project.contents()
    probe.asked.clear()
    ended = project.pytest("record")
    assert ended.has("1 recorded", "0 files written, 0 removed")
    assert project.contents() == kept


@pytest.mark.parametrize("test_passes", [True, False])
def test_an_expired_key_leaves_good_files_untouched(project: Project, probe: Probe, test_passes: bool) -> None:
    project.test(f"""
@pytest.fixture(scope="module")
def prepared(ask):
    return ask("prepare")

def test_a(ask, prepared):
    answers = [ask("one").status_code, ask("two").status_code]
    assert answers == [200, 200] or {test_passes}
""")
    assert project.pytest("record").code == 0
    kept = project.contents()
    assert len(kept) == 3
    probe.status = 401
    ended = project.pytest("record")
    assert ended.code == (0 if test_passes else 1)
    assert ended.has("not kept: 3 answers (status 401", "0 files written, 0 removed")
    assert project.contents() == kept


@pytest.mark.parametrize("stack", ["library", "server"])
def test_ctrl_c_in_the_middle_keeps_earlier_tests_and_no_half_file(project: Project, stack: str) -> None:
    project.test("""
@pytest.fixture(scope="session")
def wide(ask):
    return ask("wide")

def test_a(ask, wide):
    ask("one")

def test_b(ask):
    ask("started")
    ask("hold")
""")
    ended = project.interrupted("record", stack=stack)
    assert ended.code == 2, ended.out
    assert "KeyboardInterrupt" in ended.out
    assert sorted(project.recordings()) == ["fixture:tests/integration/test_it.py::wide wide", "test_it.py::test_a one"]
    assert all(path.suffix == ".json" for path in project.files())


def test_an_interrupted_session_removes_nothing_of_wider_scopes(project: Project) -> None:
    source = """
@pytest.fixture(scope="session")
def wide(ask):
    ask("wide")
    return ask

def test_a(wide):
    pass

def test_b(wide, request):
    STOP
"""
    tail = source.replace("    STOP", '    request.getfixturevalue("more")')
    more = '\n@pytest.fixture(scope="session")\ndef more(ask):\n    ask("more")\n'
    project.test(tail + more)
    assert project.pytest("record", TINY_CALLS_AT_START="1").code == 0
    before = project.recordings()
    assert len(before) == 3
    project.test(source.replace("    STOP", "    raise KeyboardInterrupt") + more)
    assert project.pytest("record").code == 2
    assert project.recordings().keys() == before.keys()


_UNWRITABLE = "/proc/stackproof-recordings"


@pytest.mark.parametrize("stack", ["library", "server"])
def test_a_recordings_folder_that_cannot_be_written_is_said_before_a_test_runs(
    project: Project, probe: Probe, stack: str
) -> None:
    project.test('def test_a(ask):\n    print("RAN")\n    ask("one")\n')
    ended = project.pytest("record", stack=stack, STACKPROOF_RECORDING_DIR=_UNWRITABLE)
    assert ended.code == 74
    assert ended.has("recordings cannot be written to /proc/stackproof-recordings/probe", "--recording-dir")
    assert "RAN" not in ended.out
    assert "Traceback" not in ended.out
    assert probe.asked == []


def test_a_file_in_place_of_the_recordings_folder_is_said_and_left(project: Project) -> None:
    project.test('def test_a(ask):\n    ask("one")\n')
    (project.root / "recordings").write_text("mine")
    ended = project.pytest("record")
    assert ended.code == 6
    assert ended.has("recordings cannot be written to")
    assert (project.root / "recordings").read_text() == "mine"


def test_asking_whether_recordings_can_be_written_leaves_nothing(project: Project) -> None:
    project.test("def test_a(ask):\n    pass\n")
    assert project.pytest("record").code == 0
    assert not (project.root / "recordings").exists()


def test_recording_is_refused_in_ci(project: Project, probe: Probe) -> None:
    project.test('def test_a(ask):\n    ask("one")\n')
    ended = project.pytest("record", CI="true")
    assert ended.code == 2
    assert ended.has("--allow-record-in-ci")
    assert probe.asked == []


def test_a_mode_that_does_not_exist_lists_those_that_do(project: Project) -> None:
    project.test('def test_a(ask):\n    ask("one")\n')
    ended = project.pytest("recrod")
    assert ended.code == 2
    assert ended.has("recrod", "record-if-missing")
    assert "Traceback" not in ended.out


def test_a_secret_in_an_answer_is_not_written_and_fails_the_test(project: Project) -> None:
    project.test('def test_a(ask):\n    ask("the key is a-key-of-the-probe")\n')
    ended = project.pytest("record")
    assert ended.code == 1
    assert ended.has("the value of PROBE_API_KEY is in", "was not written")
    assert project.files() == []
    for path in (project.root / ".stackproof").rglob("*"):
        assert not path.is_file() or b"a-key-of-the-probe" not in path.read_bytes(), path
