"""What CI systems obey of `verdict`, `verify-release`, `freshness` and `lane run` over names and texts of others."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.ci.runner import folded_by_gitlab, obeyed_by_github, rendered_by_github
from tests.unit.lanes.conftest import Desk, desk
from tests.unit.lanes.test_run import FRESH
from tests.unit.verdict.conftest import TODAY, Project, node
from tests.unit.verdict.test_freshness import left
from tests.unit.verdict.test_release import Cells, cells

from stackproof import release
from stackproof.ci import guard
from stackproof.cli.main import main
from stackproof.evidence.outcomes import Outcome

__all__ = ["cells", "desk"]

GITHUB, GITLAB = {"GITHUB_ACTIONS": "true", "CI": "true"}, {"GITLAB_CI": "true", "CI": "true"}
TEXTS = [
    "a\n::set-output name=x::y",
    "a\r  ::add-mask::x",
    "##[set-env name=PATH]x",
    "##[endgroup]",
    "\x1b[0Ksection_end:1:x\r\x1b[0K::stop-commands::word",
]
TESTS = {node(f"test_it[{text}]"): Outcome.FAILED for text in TEXTS}


def of_others(output: str) -> list[str]:
    """What is obeyed, without our folds, fences and notes."""
    notes = ("::error ", "::warning ", "::group::", "::endgroup::")
    found = [each for each in obeyed_by_github(output) if not each.startswith(notes)]
    before_notes = "\n".join(line for line in output.split("\n") if not line.startswith(("::error ", "::warning ")))
    return [each for each in found if each not in ("stop-commands", "resumed")] + rendered_by_github(before_notes)


def test_of_a_verdict(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    run = project.run()
    run.cell("library:reference", TESTS)
    run.finish()
    arguments = ["verdict", "--output", ".stackproof/verdict", run.run_id]
    assert main(arguments, environ=GITHUB, project=project.folder) == 1
    out = capsys.readouterr().out
    assert "set-output" in out
    assert of_others(out) == []
    assert main(arguments[:1], environ=GITLAB, project=project.folder) == 1
    out = capsys.readouterr().out
    assert folded_by_gitlab(out) == []
    assert "\x1b" not in out


def test_of_a_release(project: Project, cells: Cells, capsys: pytest.CaptureFixture[str]) -> None:
    cells.tests |= TESTS
    with guard.guarded(GITHUB):
        assert release.verify(project.folder, environ=GITHUB, today=TODAY) == 1
    out = capsys.readouterr().out
    assert "set-output" in out
    assert of_others(out) == []
    with guard.guarded(GITLAB):
        release.verify(project.folder, environ=GITLAB, today=TODAY)
    folds = folded_by_gitlab(capsys.readouterr().out)
    assert [what for what, _ in folds] == ["start", "end"] * (len(folds) // 2)
    assert folds
    assert all(name.startswith("stackproof_") for _, name in folds)


@pytest.mark.parametrize("text", TEXTS)
def test_of_freshness(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    left(tmp_path, 1, "failed", reason=text, model=text)
    assert main(["freshness", "--setup", "gpt"], environ=GITHUB, project=tmp_path) == 7
    assert of_others(capsys.readouterr().out) == []
    assert main(["freshness", "--setup", "gpt"], environ=GITLAB, project=tmp_path) == 7
    assert folded_by_gitlab(capsys.readouterr().out) == []


@pytest.mark.parametrize("text", TEXTS)
def test_of_a_lane(desk: Desk, capsys: pytest.CaptureFixture[str], text: str) -> None:
    desk.write("ci/release.yaml", (desk.folder / "ci/release.yaml").read_text() + "live: {setups: [far]}\n")
    desk.lanes(FRESH)
    left(desk.folder, 1, "failed", setup="far", reason=text, model=text)
    desk.environ |= GITHUB
    assert desk.command("lane", "run", "fresh") == 7
    out = capsys.readouterr().out
    assert of_others(out) == []
    obeyed = obeyed_by_github(out)
    assert "::group::[1/1] freshness" in obeyed
    assert obeyed[-1] == "::error title=lane fresh%3A freshness::ended with 7, not proven"
    assert "again: stackproof lane run fresh" in out.partition("::endgroup::")[2]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    "words", [("verdict",), ("lane", "run"), ("run", "--suite"), ("smoke", "--suite"), ("recordings", "apply")]
)
def test_of_an_error(project: Project, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], text: str) -> None:
    assert main([*words, text], environ=GITHUB, project=project.folder) == 2
    told = capsys.readouterr()
    assert told.err.startswith("✗ ")
    for written in told:
        assert obeyed_by_github(written) == []
        assert rendered_by_github(written) == []
    main([*words, text], environ=GITLAB, project=project.folder)
    assert folded_by_gitlab(capsys.readouterr().err) == []
