"""What a CI system makes of the output of a run: it obeys our own marks, and nothing that a test has in its hands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.run.conftest import Finished, Project
from tests.unit.ci.kept import assert_can_be_kept
from tests.unit.ci.runner import folded_by_gitlab, obeyed_by_github, rendered_by_github

pytestmark = pytest.mark.xdist_group("runs")

HOSTILE = r"""
import os, subprocess, sys
import pytest

MARKS = [
    "::set-output name=a::b",
    "\r::add-mask::x\r",
    "x\n  ::error file=a.py::b",
    "##[set-env name=PATH]y",
    "##[endgroup]",
    "\x1b[0Ksection_end:1:mine\r\x1b[0K",
    "\x1b[0Ksection_start:1:mine[collapsed=true]\r\x1b[0Ktitle",
    "::stop-commands::word",
]

@pytest.mark.parametrize("mark", MARKS, ids=MARKS)
def test_fails(mark):
    print(mark)
    print(mark, file=sys.stderr)
    subprocess.run([sys.executable, "-c", "import sys; print(sys.argv[1]); print(sys.argv[1], file=sys.stderr)", mark])
    os.write(1, mark.encode() + b"\n")
    raise AssertionError(mark)

@pytest.mark.parametrize("mark", MARKS)
def test_is_skipped(mark):
    pytest.skip(mark)
"""

NAMES = r"""
import pytest

NAMES = [
    "llama-cpp/smollm2:135m",
    'a"b', "a*b?", "<c>|d", "a\nb\r", "e.", "f ", "é" * 200, "x" * 300, "con", "../../up", "a\\b",
]

@pytest.mark.parametrize("name", NAMES, ids=NAMES)
def test_odd(name, tmp_path, request):
    assert name in NAMES

@pytest.mark.parametrize("name", NAMES)
def test_fails(name):
    raise AssertionError(name)
"""


def environ(project: Project, **more: str) -> None:
    for name in [name for name in project.environ if name.startswith(("GITHUB_", "GITLAB_"))]:
        del project.environ[name]
    project.environ.update({"CI": "true", **more})


def carried_out(project: Project, *arguments: str) -> Finished:
    """As `project.run`, with every carriage return where it was."""
    command = [sys.executable, "-m", "stackproof", "run", *arguments]
    done = subprocess.run(
        command, cwd=project.root, env=project.environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
        check=False,
    )  # fmt: skip
    return Finished(code=done.returncode, output=done.stdout.decode(), seconds=0.0)


@pytest.mark.parametrize("arguments", [(), ("--verbose", "--", "-s"), ("-n", "2")], ids=["quiet", "verbose", "workers"])
def test_github_obeys_what_is_ours_alone(project: Project, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    page = tmp_path / "summary.md"
    environ(project, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(page), FORCE_COLOR="1")
    stack = project.stack("toy", before="print('::add-mask::x', '##[error]y', flush=True)")
    project.tests(HOSTILE)
    done = carried_out(project, "--stack-config", stack, *arguments)
    assert done.code == 1, done.output
    obeyed = obeyed_by_github(done.output)
    ours = {"stop-commands", "resumed", "::group::base × local × server:toy", "::endgroup::"}
    notes = [found for found in obeyed if found not in ours]
    assert notes
    assert all(note.startswith("::error file=tests/integration/base/test_it.py,line=") for note in notes)
    assert len(notes) == 8
    assert obeyed[-len(notes) :] == notes
    assert rendered_by_github("\n".join(line for line in done.output.split("\n") if "::error" not in line)) == []
    assert "\x1b" not in done.output
    shown = page.read_text(encoding="utf-8")
    assert shown.startswith("# Run: FAIL\n")
    assert "    stackproof run" in shown
    # The conclusion, and how to have it again, are not folded.
    after = done.output.partition("::endgroup::")[2]
    assert "FAIL  base × local × server:toy" in after
    assert "again: stackproof run" in after


@pytest.mark.parametrize("arguments", [(), ("--verbose", "--", "-s", "--color=yes")], ids=["quiet", "verbose"])
def test_gitlab_folds_what_is_ours_alone(project: Project, arguments: tuple[str, ...]) -> None:
    environ(project, GITLAB_CI="true", FORCE_COLOR="1", TTY_COMPATIBLE="1")
    project.tests(HOSTILE)
    done = carried_out(project, "--stack-config", project.stack("toy"), *arguments)
    assert done.code == 1, done.output
    folds = folded_by_gitlab(done.output)
    assert [what for what, _ in folds] == ["start", "end"]
    assert all(name.startswith("stackproof_") for _, name in folds)
    # Escapes are those of the two marks.
    assert done.output.count("\x1b") == 4
    if arguments:
        assert "test_it.py::test_fails" in done.output


def test_an_error_on_standard_error_is_text(project: Project) -> None:
    environ(project, GITHUB_ACTIONS="true")
    done = carried_out(project, "--suite", "\r::set-output name=a::b\n::add-mask::x ##[error]y")
    assert done.code == 2
    assert "add-mask" in done.output
    assert obeyed_by_github(done.output) == []


def test_a_stack_that_does_not_start_is_a_note(project: Project) -> None:
    environ(project, GITHUB_ACTIONS="true")
    before = "print('::add-mask::x', flush=True); sys.exit('::set-output name=a::b')"
    done = carried_out(project, "--stack-config", project.stack("toy", before=before))
    assert done.code == 5, done.output
    (note,) = [found for found in obeyed_by_github(done.output) if found.startswith(("::error", "::add", "::set"))]
    assert note.startswith("::error title=base × local × server%3Atoy%3A FAIL::")


def test_every_file_of_a_run_can_be_kept_as_an_artifact(project: Project) -> None:
    environ(project)
    project.tests(NAMES)
    done = carried_out(project, "--stack-config", f"{project.stack('toy')}")
    assert done.code == 1, done.output
    assert_can_be_kept(project.run_dir())
