"""mypy's words and exit codes, as facts; and mypy itself, once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.ci.runner import obeyed_by_github, rendered_by_github

from stackproof.checks import typecheck
from stackproof.ci import guard
from stackproof.errors import ExitCode
from stackproof.evidence import typecheck as facts_of
from stackproof.evidence.typecheck import TypecheckFacts, TypecheckState


def message(severity: str = "error") -> str:
    return json.dumps(
        {"file": "a.py", "line": 8, "column": 1, "message": "wrong", "hint": None, "code": "misc", "severity": severity}
    )


SOURCES = "\n".join(
    f"LOG:  Found source:           BuildSource(path={path}, module='m', has_text=False, base_dir='/p', followed=False)"
    for path in ("'a.py'", '"b/it\'s.py"')
)


def interpret(
    exit_code: int, stdout: str, stderr: str = SOURCES, project: Path = Path(), roots: tuple[str, ...] = ()
) -> TypecheckFacts:
    return facts_of.interpret(exit_code=exit_code, stdout=stdout, stderr=stderr, project=project, roots=roots)


def test_every_source_is_named() -> None:
    assert interpret(0, "").files == ("a.py", "b/it's.py")


def test_mypy_that_is_not_there_is_named_so() -> None:
    found = interpret(1, "", stderr="/venv/bin/python: No module named mypy\n")
    assert found.reason == "mypy is not installed beside Stackproof"


@pytest.mark.parametrize(
    ("exit_code", "stdout", "state"),
    [
        (0, "", TypecheckState.SUCCESS),
        (0, message("note"), TypecheckState.SUCCESS),
        (1, message("note"), TypecheckState.SUCCESS),
        (1, message(), TypecheckState.ERRORS),
        (1, message("note") + "\n" + message(), TypecheckState.ERRORS),
        (1, "", TypecheckState.TOOL_FAILURE),
        (1, "Found 2 errors in 1 file", TypecheckState.TOOL_FAILURE),
        (1, message() + "\nINTERNAL ERROR", TypecheckState.TOOL_FAILURE),
        (0, message(), TypecheckState.TOOL_FAILURE),
        (2, "Found 1 error in 1 file (errors prevented further checking)", TypecheckState.TOOL_FAILURE),
        (2, message(), TypecheckState.TOOL_FAILURE),
        (-9, "", TypecheckState.TOOL_FAILURE),
    ],
)
def test_exit_code_and_output_are_weighed_together(exit_code: int, stdout: str, state: TypecheckState) -> None:
    found = interpret(exit_code, stdout)
    assert found.state is state
    assert (found.reason is None) == (state is not TypecheckState.TOOL_FAILURE)


def test_no_checked_file_is_not_green() -> None:
    found = interpret(0, "", stderr="")
    assert found.state is TypecheckState.TOOL_FAILURE
    assert typecheck.line(found, found.errors) == "? types  not proven: mypy checked no file"


def test_files_below_the_roots_that_were_not_checked_are_named(tmp_path: Path) -> None:
    for name in ("a.py", "pkg/b.py", "pkg/__pycache__/c.py", "pkg/.hidden/d.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert interpret(0, "", project=tmp_path, roots=("a.py", "pkg")).unchecked == ("pkg/b.py",)


def test_facts_survive_their_file(tmp_path: Path) -> None:
    found = interpret(1, message() + "\n" + message("note"))
    path = tmp_path / "typecheck.json"
    path.write_text(json.dumps(facts_of.to_json(found)))
    assert facts_of.read(path) == found


def test_mypy_runs_with_the_projects_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.mypy]\nfiles = ["pkg"]\n')
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/__init__.py").write_text("")
    (tmp_path / "pkg/good.py").write_text("x: int = 1\nreveal_type(x)\n")
    assert typecheck.run(tmp_path, []) == ExitCode.PASS
    assert capsys.readouterr().out.splitlines() == ["✓ types  no error in 2 files"]
    (tmp_path / "pkg/bad.py").write_text("\nx: int = 'a'\n")
    run_dir = tmp_path / "run"
    assert typecheck.run(tmp_path, ["pkg"], run_dir=run_dir) == ExitCode.TESTS
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "✗ types  1 error in 3 files; first pkg/bad.py:2",
        "again: stackproof typecheck pkg",
    ]
    found = facts_of.read(run_dir / "checks/typecheck.json")
    assert found is not None
    assert found.files == ("pkg/__init__.py", "pkg/bad.py", "pkg/good.py")
    assert found.roots == ("pkg",)
    (tmp_path / "pkg/bad.py").write_text("def (\n")
    assert typecheck.run(tmp_path, ["pkg"]) == ExitCode.NOT_PROVEN
    assert "exit code 2" in capsys.readouterr().out


def test_a_runner_of_github_gets_notes_and_obeys_no_text_of_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = "".join(f"x{number}: int = '##[error]{number}'\n" for number in range(12))
    (tmp_path / "a.py").write_text(f"from typing import Literal\ny: Literal['::add-mask::x'] = '##[z]'\n{hostile}")
    with guard.guarded({"GITHUB_ACTIONS": "true"}):
        assert typecheck.run(tmp_path, ["a.py"], environ={"GITHUB_ACTIONS": "true"}) == ExitCode.TESTS
    out = capsys.readouterr().out
    first, last, *notes = obeyed_by_github(out)
    assert (first, last) == ("stop-commands", "resumed")
    assert [note.partition(",title=")[0] for note in notes[:9]] == [f"::error file=a.py,line={n}" for n in range(2, 11)]
    assert notes[9:] == ["::warning title=types::and 4 more: the log has them all"]
    # What is inside of the fence is not even shown as more than text.
    assert rendered_by_github(out.partition("::error ")[0]) == []


def test_notes_say_that_nothing_was_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = typecheck.run(tmp_path, ["gone.py"], environ={"GITHUB_ACTIONS": "true"})
    assert code == ExitCode.NOT_PROVEN
    (note,) = obeyed_by_github(capsys.readouterr().out)[2:]
    assert note.startswith("::error title=types%3A NOT PROVEN::not proven: ")
