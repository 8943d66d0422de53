"""`stackproof verdict --output`: the verdict over the folders of several jobs, in a folder of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.unit.verdict.conftest import Project, Run, node

from stackproof.cli.main import main
from stackproof.errors import ExitCode
from stackproof.evidence.outcomes import Outcome

ONE, TWO, VISION = node("test_one"), node("test_two[x]"), node("test_vision")
GITHUB = {"GITHUB_ACTIONS": "true"}


@pytest.fixture
def jobs(project: Project) -> tuple[Run, Run]:
    """What two jobs left, as it was downloaded; a test of the second one failed."""
    first, second = project.run(), project.run()
    first.cell("library:reference")
    first.checks()
    second.cell("server:reference", {ONE: Outcome.FAILED, TWO: Outcome.PASSED, VISION: Outcome.SKIPPED})
    for run in (first, second):
        run.finish()
    return first, second


def weigh(project: Project, jobs: tuple[Run, Run], *more: str, environ: Mapping[str, str] | None = None) -> int:
    runs = [str(run.folder.relative_to(project.folder)) for run in jobs]
    return main(
        ["verdict", "--output", ".stackproof/verdict", *more, *runs], environ=environ or {}, project=project.folder
    )


def test_every_form_is_about_all_of_them(
    project: Project, jobs: tuple[Run, Run], capsys: pytest.CaptureFixture[str]
) -> None:
    assert weigh(project, jobs) == ExitCode.TESTS
    output = project.folder / ".stackproof" / "verdict"
    assert json.loads((output / "verdict.json").read_text(encoding="utf-8"))["verdict"] == "FAIL"
    report = (output / "junit.xml").read_text(encoding="utf-8")
    assert all(f'name="base-ollama-{stack}-reference"' in report for stack in ("library", "server"))
    page = (output / "verdict.html").read_text(encoding="utf-8")
    assert "base-ollama-library-reference" in page
    assert (output / "verdict.md").is_file()
    assert (output / "ctrf" / "report.json").is_file()
    assert "Evidence .stackproof/verdict\npage:  .stackproof/verdict/verdict.html\n" in capsys.readouterr().out


def test_the_folders_stay_as_they_are_and_no_evidence_is_copied(project: Project, jobs: tuple[Run, Run]) -> None:
    def content() -> dict[Path, bytes]:
        return {path: path.read_bytes() for run in jobs for path in run.folder.rglob("*") if path.is_file()}

    before = content()
    weigh(project, jobs)
    assert content() == before
    assert not (project.folder / ".stackproof" / "verdict" / "cells").exists()


def test_a_log_of_a_failed_cell_is_on_the_page(project: Project, jobs: tuple[Run, Run]) -> None:
    (jobs[1].folder / "cells" / "base-ollama-server-reference" / "stack.log").write_text("what the server said\n")
    jobs[1].finish()
    weigh(project, jobs)
    page = (project.folder / ".stackproof" / "verdict" / "verdict.html").read_text(encoding="utf-8")
    assert "what the server said" in page


def test_github_gets_a_summary_and_annotations_and_obeys_nothing_else(
    project: Project, jobs: tuple[Run, Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = tmp_path / "summary.md"
    assert weigh(project, jobs, environ={**GITHUB, "GITHUB_STEP_SUMMARY": str(summary)}) == ExitCode.TESTS
    assert "FAIL" in summary.read_text(encoding="utf-8").splitlines()[0]
    lines = capsys.readouterr().out.splitlines()
    word = lines[0].removeprefix("::stop-commands::")
    assert lines[0] != word
    end = lines.index(f"::{word}::")
    assert all(line.startswith(("::error ", "::warning ")) for line in lines[end + 1 :])
    assert any(ONE.partition("::")[0] in line for line in lines[end + 1 :])


def test_a_run_folder_is_not_written_over(
    project: Project, jobs: tuple[Run, Run], capsys: pytest.CaptureFixture[str]
) -> None:
    inside = str(jobs[0].folder.relative_to(project.folder))
    assert main(["verdict", "--output", inside, inside], environ={}, project=project.folder) == ExitCode.USAGE
    assert "is a run folder" in capsys.readouterr().err


def test_without_evidence_there_is_no_verdict(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    # What a shell leaves of a pattern that matches nothing.
    arguments = ["verdict", "--output", ".stackproof/verdict", ".stackproof/evidence/*/*/"]
    assert main(arguments, environ={}, project=project.folder) == ExitCode.USAGE
    assert "there is no run .stackproof/evidence/*/*/" in capsys.readouterr().err
    assert not (project.folder / ".stackproof" / "verdict").exists()


def test_it_can_be_written_again_over_what_it_wrote(project: Project, jobs: tuple[Run, Run]) -> None:
    output = project.folder / ".stackproof" / "verdict"
    weigh(project, jobs)
    first = (output / "verdict.json").read_bytes()
    weigh(project, jobs)
    assert (output / "verdict.json").read_bytes() == first
