"""What another name makes of scopes, ids, requests and files, and what stays."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stackproof.cli import main as cli
from stackproof.errors import ExitCode, UsageError
from stackproof.recorder import recording
from stackproof.recordings import carrying
from stackproof.recordings.relocating import Move, identity_of, place, settle
from stackproof.recordings.renaming import Kind, Renaming, of_names, renamed

Command = Callable[..., int]
TEST = "tests/integration/base/test_a.py::test_one"
FIXTURE = "fixture:tests/integration/base/test_a.py::client[ollama/m:1]"


def content(scope: str = TEST, say: str = "hello", *, text: str = "hi", **request: Any) -> dict[str, Any]:
    """A whole recording."""
    return {
        "format": 1, "test_id": scope if scope.startswith("tests/") else TEST, "scope": scope,
        "request": {
            "provider": "p", "method": "POST", "url": "{P_URL}/chat/completions", "path": "/chat/completions",
            "query": [], "endpoint": "/chat/completions", "model": "m:1", "headers": {},
            "body": {"json": {"model": "m:1", "say": say}}, **request,
        },
        "response": {
            "status": 200, "headers": {}, "is_streaming": False, "body": {"json": {"model": "m:1", "text": text}},
            "complete": True, "is_exception": False, "exception": None,
        },
        "rules": [], "provenance": {"recorded_at": "2026-01-01T00:00:00+00:00"}, "id_normalization_mapping": {},
    }  # fmt: skip


def keep(project: Path, made: dict[str, Any], ordinal: int = 1, setup: str = "s") -> str:
    """Write a recording where it belongs; its name below the recording directory."""
    name = place(setup, made, ordinal, "tests/integration")
    recording.write(str(project / "recordings" / name), made)
    return name


def tree(project: Path) -> dict[str, Any]:
    """Name → scope and answer, of every file."""
    root = project / "recordings"
    found = {}
    for path in root.rglob("*.json"):
        read = recording.read(str(path))
        assert read is not None
        found[path.relative_to(root).as_posix()] = (read["scope"], read["response"]["body"]["json"]["text"])
    return found


@pytest.fixture(name="command")
def _command(tmp_path: Path) -> Command:
    """`recordings rename` in a project with a test file."""
    path = tmp_path / "tests/integration/base/test_a.py"
    path.parent.mkdir(parents=True)
    path.write_text("def test_one(): ...\ndef test_two(): ...\nclass TestIt:\n    def test_three(self): ...\n")
    return lambda *argv: cli.main(["recordings", "rename", *argv], environ={}, project=tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "name", "becomes"),
    [
        (TEST, "tests/b.py::test_x", TEST, "tests/b.py::test_x"),
        (TEST, "tests/b.py::test_x", f"{TEST}[a::b]", "tests/b.py::test_x[a::b]"),
        (TEST, "tests/b.py::test_x", f"{TEST}_more", f"{TEST}_more"),
        (f"{TEST}[old]", f"{TEST}[new]", f"{TEST}[old]", f"{TEST}[new]"),
        (f"{TEST}[old]", f"{TEST}[new]", f"{TEST}[older]", f"{TEST}[older]"),
        (f"{TEST}[old]", "[new]", f"{TEST}[old]", f"{TEST}[new]"),
        (TEST, f"{TEST}[x]", TEST, f"{TEST}[x]"),
        (TEST, f"{TEST}[x]", f"{TEST}[y]", f"{TEST}[y]"),
        ("t/a.py::TestA", "t/a.py::TestB", "t/a.py::TestA::test[1]", "t/a.py::TestB::test[1]"),
        ("t/a.py::TestA", "t/a.py::TestB", "fixture:t/a.py::TestA::c[x]", "fixture:t/a.py::TestB::c[x]"),
        ("./t/a.py", "t/b.py", "t/a.py::test", "t/b.py::test"),
        ("t/a.py", "t/b.py", "fixture:t/a.py::client[a::b]", "fixture:t/b.py::client[a::b]"),
        ("t/a.py", "t/b.py", "fixture:t::client", "fixture:t::client"),
        ("t/", "u/v", "t/a.py::test", "u/v/a.py::test"),
        ("t", "u/v", "fixture:t::client", "fixture:u/v::client"),
        ("t", "u", "tt/a.py::test", "tt/a.py::test"),
        ("t", "u", "stack", "stack"),
        ("t", "u", "fixture:::client", "fixture:::client"),
        ("fixture:t::client", "fixture:t::caller", "fixture:t::client[x]", "fixture:t::caller[x]"),
        ("fixture:t::client", "fixture:t::caller", "fixture:t::client_two", "fixture:t::client_two"),
    ],
)
def test_a_name_carries_what_is_below_it(old: str, new: str, name: str, becomes: str) -> None:
    assert of_names(old, new).of(name) == becomes


@pytest.mark.parametrize(
    ("kind", "parameter", "becomes"),
    [
        (Kind.PARAMETER, "old", "new"),
        (Kind.PARAMETER, "a-old-b", "a-new-b"),
        (Kind.PARAMETER, "older", "older"),
        (Kind.PARAMETER, "p/old", "p/old"),
        (Kind.MODEL, "p/old", "p/new"),
        (Kind.MODEL, "x-p/old-y", "x-p/new-y"),
        (Kind.MODEL, "p/old-mini", "p/old-mini"),
        (Kind.MODEL, "p/old-mini-p/old", "p/old-mini-p/new"),
        (Kind.MODEL, "p/older", "p/older"),
    ],
)
def test_parameters_are_replaced_as_whole_parts_of_an_id(kind: Kind, parameter: str, becomes: str) -> None:
    renaming = Renaming(kind=kind, old="old", new="new")
    if kind is Kind.MODEL:
        renaming = renaming.beside(frozenset({"old-mini", "old", "other"}))
    assert renaming.of(f"{TEST}[{parameter}]") == f"{TEST}[{becomes}]"
    assert renaming.of("old") == "old"


@pytest.mark.parametrize(
    "names",
    [("t/a.py", "t/b"), ("t/a.py::x", "t/a.py"), ("/t/a.py", "/t/b.py"), ("", "x"), ("t", "t/"), ("../t", "u")],
)
def test_names_of_different_things_are_refused(names: tuple[str, str]) -> None:
    with pytest.raises(UsageError):
        of_names(*names)


def test_a_recording_that_is_not_concerned_is_the_same_object() -> None:
    made = content()
    assert renamed(made, of_names("t/a.py", "t/b.py")) is made
    assert renamed(made, Renaming(kind=Kind.MODEL, old="m", new="n")) is made
    for query in (None, [["z", "1"], ["a", "m"]]):
        by_hand = content(query=query, body=None)
        assert renamed(by_hand, Renaming(kind=Kind.MODEL, old="m", new="n")) is by_hand


@pytest.mark.parametrize(
    ("request_", "path", "model", "url"),
    [
        ({"body": {"json": {"model": "m:1", "n": 1}}}, "/chat/completions", "n/2", "{P_URL}/chat/completions"),
        (
            {"path": "/models/m%3A1:generateContent", "url": "{P_URL}/models/m%3A1:generateContent", "body": None},
            "/models/n%2F2:generateContent", "n%2F2", "{P_URL}/models/n%2F2:generateContent",
        ),
        (
            {"query": [["a", "1"], ["model", "m:1"]], "url": "{P_URL}/chat/completions?a=1&model=m:1", "body": None},
            "/chat/completions", None, "{P_URL}/chat/completions?a=1&model=n/2",
        ),
        ({"body": {"form": [["model", "m:1"]]}}, "/chat/completions", None, "{P_URL}/chat/completions"),
        (
            {"body": {"multipart": [{"name": "model", "filename": None, "content_type": None, "text": "m:1"}]}},
            "/chat/completions", None, "{P_URL}/chat/completions",
        ),
    ],
)  # fmt: skip
def test_a_model_is_renamed_wherever_a_request_names_it(
    request_: dict[str, Any], path: str, model: str | None, url: str
) -> None:
    before = content(**request_)
    after = renamed(before, Renaming(kind=Kind.MODEL, old="m:1", new="n/2"))
    assert (after["request"]["path"], after["request"]["model"], after["request"]["url"]) == (path, model, url)
    assert "m:1" not in json.dumps(after["request"])
    assert after["response"] is before["response"], "the model that answered is a fact"
    assert list(after["request"]) == list(before["request"])
    assert identity_of(after) != identity_of(before)


def test_a_test_takes_its_files_side_files_and_numbers_with_it(command: Command, tmp_path: Path) -> None:
    large = content(say="large")
    large["response"] |= {"body": {"bytes": b"\xff\x00" * 40_000}}
    keep(tmp_path, large)
    keep(tmp_path, content(text="first"))
    keep(tmp_path, content(text="second"), 2)
    untouched = keep(tmp_path, content("tests/integration/base/test_a.py::test_two"))
    assert command(TEST, "tests/integration/deep/test_b.py::test_two") == ExitCode.PASS
    files = sorted(path for path in (tmp_path / "recordings/s/deep").iterdir())
    assert [path.suffix for path in files].count(".bin") == 1
    for path in files:
        read = recording.read(str(path)) if path.suffix == ".json" else None
        assert read is None or read["scope"] == read["test_id"] == "tests/integration/deep/test_b.py::test_two"
        assert read is None or identity_of(read).file_name()[:33] == path.name[:33]
    (second,) = (path for path in files if path.suffix == ".json" and '"second"' in path.read_text())
    assert second.name.endswith("-2.json")
    assert [path.name for path in (tmp_path / "recordings/s/base").iterdir()] == [untouched.rpartition("/")[2]]
    assert not (tmp_path / "recordings" / carrying.FOLDER).exists()


def test_what_a_fixture_recorded_for_the_test_names_it_anew_in_place(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = keep(tmp_path, content(FIXTURE))
    assert command(TEST, "tests/integration/base/test_a.py::test_two") == ExitCode.PASS
    assert "1 file of a wider scope recorded during such a test" in capsys.readouterr().out
    read = recording.read(str(tmp_path / "recordings" / name))
    assert read is not None
    assert (read["scope"], read["test_id"]) == (FIXTURE, "tests/integration/base/test_a.py::test_two")


def test_a_model_moves_requests_and_parameters_and_leaves_model_lists(command: Command, tmp_path: Path) -> None:
    keep(tmp_path, content(f"{TEST}[p/m:1]", unfolded="0" * 64))
    keep(tmp_path, content(FIXTURE))
    listed = tmp_path / "recordings/s/common/models-0-0.json"
    recording.write(str(listed), content("stack"))
    before = listed.read_bytes()
    assert command("--model", "m:1", "m:2") == ExitCode.PASS
    assert sorted(scope for scope, _ in tree(tmp_path).values()) == [
        FIXTURE.replace("m:1", "m:2"), "stack", f"{TEST}[p/m:2]",
    ]  # fmt: skip
    assert listed.read_bytes() == before


def test_another_answer_at_the_target_refuses_everything(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two = TEST.replace("test_one", "test_two")
    keep(tmp_path, content(say="moves well"))
    ours = keep(tmp_path, content(text="ours"))
    theirs = keep(tmp_path, content(two, text="theirs"))
    before = tree(tmp_path)
    assert command(TEST, two) == ExitCode.RECORDINGS
    err = capsys.readouterr().err
    assert "nothing was moved" in err
    assert f"recordings/{ours} would become recordings/{theirs}" in err
    assert tree(tmp_path) == before


def test_an_equal_answer_at_the_target_is_one_file_from_then_on(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two = TEST.replace("test_one", "test_two")
    keep(tmp_path, content())
    target = keep(tmp_path, content(two))
    assert command(TEST, two) == ExitCode.PASS
    assert list(tree(tmp_path)) == [target]
    assert capsys.readouterr().out.endswith("Summary: 0 files moved, 1 folded into an equal one in 1 setup\n")


def test_a_folder_may_move_into_itself(command: Command, tmp_path: Path) -> None:
    keep(tmp_path, content("tests/integration/base/test_a.py::t", text="outer"))
    keep(tmp_path, content("tests/integration/base/base/test_a.py::t", text="inner"))
    assert command("tests/integration/base", "tests/integration/base/base") == ExitCode.PASS
    assert sorted(tree(tmp_path).values()) == [
        ("tests/integration/base/base/base/test_a.py::t", "inner"),
        ("tests/integration/base/base/test_a.py::t", "outer"),
    ]
    assert list((tmp_path / "recordings/s/base").glob("*.json")) == []


def test_nothing_found_names_the_nearest_and_ends_with_usage(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(tmp_path, content())
    for argv, nearest in (
        ((TEST.replace("one", "on"), "tests/x.py::test_y"), TEST),
        (("tests/integration/base/test_aa.py", "tests/x.py"), "tests/integration/base/test_a.py"),
        (("tests/integration/bas", "tests/x"), "tests/integration/base"),
        (("--model", "m:11", "m:2"), "m:1"),
    ):
        assert command(*argv) == ExitCode.USAGE
        assert f"did you mean {nearest!r}?" in capsys.readouterr().err


def test_a_new_name_that_is_not_in_the_project_is_a_warning(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci/release.yaml").write_text("")
    keep(tmp_path, content())
    assert command(TEST, "tests/integration/nowhere.py::test_x", "--dry-run") == ExitCode.PASS
    assert command(TEST, "tests/integration/base/test_a.py::test_four", "--dry-run") == ExitCode.PASS
    out = capsys.readouterr().out
    assert "warning: there is no tests/integration/nowhere.py in this project yet\n" in out
    assert "warning: tests/integration/base/test_a.py defines no test_four\n" in out
    assert "stackproof policy update" in out
    assert out.endswith("Summary: 1 file would be moved in 1 setup\n")
    assert list(tree(tmp_path).values()) == [(TEST, "hi")]


def test_a_damaged_file_of_a_scope_that_moves_is_named(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(tmp_path, content())
    broken = keep(tmp_path, content(say="broken"))
    (tmp_path / "recordings" / broken).write_text("{")
    assert command(TEST, "tests/integration/base/test_a.py::test_two") == ExitCode.RECORDINGS
    assert f"✗ recordings/{broken} cannot be read" in capsys.readouterr().out
    assert (tmp_path / "recordings" / broken).read_text() == "{"


def test_only_the_setup_that_was_asked_for_moves(command: Command, tmp_path: Path) -> None:
    keep(tmp_path, content(), setup="s")
    keep(tmp_path, content(), setup="t")
    assert command(TEST, "tests/b.py::test_x", "--setup", "t") == ExitCode.PASS
    assert sorted(name.partition("/")[0] + scope for name, (scope, _) in tree(tmp_path).items()) == [
        f"s{TEST}", "ttests/b.py::test_x",
    ]  # fmt: skip


def test_json_tells_every_file(command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = keep(tmp_path, content())
    assert command(TEST, "tests/integration/base/test_a.py::test_two", "--json", "--dry-run") == ExitCode.PASS
    told = json.loads(capsys.readouterr().out)
    assert (told["schema"], told["kind"], told["dry_run"], told["warnings"]) == (1, "test", True, [])
    assert [move["from"] for move in told["moved"]] == [source]


def test_two_commands_do_not_move_files_at_once(command: Command, tmp_path: Path) -> None:
    keep(tmp_path, content())
    with carrying.alone(tmp_path / "recordings"):
        assert command(TEST, "tests/b.py::test_x") == ExitCode.USAGE
    assert command(TEST, "tests/b.py::test_x") == ExitCode.PASS


def test_what_another_command_left_unfinished_is_ended_first(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(tmp_path, content())
    root = tmp_path / "recordings"
    renaming = of_names(TEST, "tests/integration/base/test_a.py::test_two")
    move = Move(
        source=keep(tmp_path, content()), target=place("s", renamed(content(), renaming), 1, "tests/integration")
    )
    carrying.begin(
        root,
        settle(root, "rename A B", [move], lambda _, made: renamed(made, renaming)),
        lambda _, made: renamed(made, renaming),
    )
    again = ("tests/integration/base/test_a.py::test_two", "tests/integration/base/test_a.py::test_one")
    assert command(*again, "--dry-run") == ExitCode.RECORDINGS
    assert "stackproof recordings rename A B was killed before its end" in capsys.readouterr().err
    assert command(*again) == ExitCode.PASS
    assert "finished what was begun and killed: rename A B, 1 file\n" in capsys.readouterr().out
    assert list(tree(tmp_path).values()) == [(TEST, "hi")]
    assert not (root / carrying.FOLDER).exists()
