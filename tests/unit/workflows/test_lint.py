"""`python -m ci.lint` fails for what is wrong with CI's files, and for a tool that is not there."""

from __future__ import annotations

import shutil
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from ci.lint import __main__ as lint

TOOLS = Path(sysconfig.get_path("scripts"))
HERE = (TOOLS / "zizmor").is_file() and (TOOLS / "actionlint").is_file()
needs_tools = pytest.mark.skipif(not HERE, reason="the tools of the dev extra are not installed in this environment")


@pytest.fixture
def copy(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """CI's files in a folder of their own, which is linted instead."""
    shutil.copytree(project / ".github", tmp_path / ".github")
    shutil.copytree(project / ".ci", tmp_path / ".ci")
    (tmp_path / "ci").mkdir()
    for path in (project / "ci").iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path / "ci")
    shutil.copy(project / ".gitlab-ci.yml", tmp_path)
    monkeypatch.setattr(lint, "PROJECT", tmp_path)
    return tmp_path


def changed(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def unpinned(root: Path) -> None:
    changed(root / ".github/workflows/replay.yml", "@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1", "@v7")


def unpinned_inside_an_action(root: Path) -> None:
    file = root / ".github/actions/setup/action.yml"
    changed(file, "@5fda3b95a4ea91299a34e894583c3862153e4b97 # v7.0.0", "@v7")


def a_title_in_a_script(root: Path) -> None:
    changed(
        root / ".github/workflows/replay.yml", "run: nox -s lint", "run: echo ${{ github.event.pull_request.title }}"
    )


def a_token_left_behind(root: Path) -> None:
    changed(root / ".github/workflows/replay.yml", "persist-credentials: false", "persist-credentials: true")


def too_many_rights(root: Path) -> None:
    changed(root / ".github/workflows/replay.yml", "permissions: {}", "permissions: write-all")


def no_end(root: Path) -> None:
    changed(root / ".github/workflows/release.yml", "    timeout-minutes: 60\n", "")


def an_output_that_is_not_there(root: Path) -> None:
    changed(root / ".github/workflows/replay.yml", "needs.plan.outputs.lanes", "needs.plan.outputs.lane")


def a_word_that_is_split(root: Path) -> None:
    changed(root / ".github/workflows/replay.yml", 'nox -s lane -- "$LANE"', "nox -s lane -- $LANE")


def a_misspelt_key_on_gitlab(root: Path) -> None:
    changed(root / ".gitlab-ci.yml", "  timeout: 10 minutes", "  time_out: 10 minutes")


def a_bug_in_a_script(root: Path) -> None:
    changed(root / "ci/machine", 'case "$need" in', 'cd $nowhere; case "$need" in')


@needs_tools
def test_what_is_there_is_in_order(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lint.main([]) == 0
    assert capsys.readouterr().out.count("in order") == len(lint.checks(TOOLS))


@needs_tools
@pytest.mark.parametrize(
    ("seed", "tool", "said"),
    [
        (unpinned, "zizmor", "unpinned-uses"),
        (unpinned_inside_an_action, "zizmor", "unpinned-uses"),
        (a_title_in_a_script, "zizmor", "template-injection"),
        (a_title_in_a_script, "actionlint", "potentially untrusted"),
        (a_token_left_behind, "zizmor", "artipacked"),
        (too_many_rights, "zizmor", "excessive-permissions"),
        (no_end, "check-jsonschema", "timeout"),
        (an_output_that_is_not_there, "actionlint", 'property "lane" is not defined'),
        (a_word_that_is_split, "actionlint", "SC2086"),
        (a_misspelt_key_on_gitlab, "check-jsonschema", "time_out"),
        (a_bug_in_a_script, "shellcheck", "SC2154"),
    ],
)
def test_a_mistake_is_found_and_named(
    copy: Path, capsys: pytest.CaptureFixture[str], seed: Callable[[Path], None], tool: str, said: str
) -> None:
    seed(copy)
    assert 1 in [lint.run(check, TOOLS) for check in lint.checks(TOOLS) if check.tool == tool]
    assert said in capsys.readouterr().err


@needs_tools
def test_all_of_it_fails_where_one_check_does(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unpinned(copy)
    assert lint.main([]) == 1
    assert capsys.readouterr().out.count("in order") == len(lint.checks(TOOLS)) - 1


def test_a_tool_that_is_missing_is_a_failure_and_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    assert lint.main([]) == 1
    told = capsys.readouterr().err
    assert told.startswith("actionlint, check-jsonschema, shellcheck, zizmor cannot be run: not in ")
    assert "pip install -e '.[dev]' -c constraints.txt" in told


@needs_tools
def test_files_that_are_gone_are_a_failure(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (copy / ".gitlab-ci.yml").unlink()
    (copy / "ci" / "gitlab-verdict.yml").unlink()
    assert lint.main([]) == 1
    assert "there is no .gitlab-ci.yml or ci/gitlab-*.yml" in capsys.readouterr().err


def test_one_of_two_patterns_that_finds_nothing_is_a_failure(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (copy / ".gitlab-ci.yml").unlink()
    (check,) = (check for check in lint.checks(TOOLS) if "vendor.gitlab-ci" in check.arguments)
    assert lint.run(check, TOOLS) == 1
    assert capsys.readouterr().err.endswith("there is no .gitlab-ci.yml\n")


def test_it_takes_no_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert lint.main(["--fix"]) == 2
    assert "takes no arguments" in capsys.readouterr().err
