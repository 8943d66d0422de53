"""What is folded in the log of a job, and that it obeys nothing but that."""

from __future__ import annotations

import pytest
from tests.unit.ci.runner import folded_by_gitlab, obeyed_by_github

from stackproof.ci import log
from stackproof.ci.kind import Kind
from stackproof.ci.log import Log

GITHUB, GITLAB = {"GITHUB_ACTIONS": "true"}, {"GITLAB_CI": "true"}


def test_a_runner_obeys_folds_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    with log.fenced(GITHUB) as folds:
        print("::add-mask::x")
        folds.fold("[ 1/37] base × ollama 100%")
        print("  ::set-output name=a::b")
        folds.unfold()
        print("::error::x")
    assert obeyed_by_github(capsys.readouterr().out) == [
        *("stop-commands", "resumed", "::group::[ 1/37] base × ollama 100%25"),
        *("stop-commands", "resumed", "::endgroup::"),
        *("stop-commands", "resumed"),
    ]


def test_the_word_that_ends_a_fence_is_new_each_time_and_comes_after_an_error_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run() -> None:
        with log.fenced(GITHUB) as folds:
            folds.fold("a")
            raise ValueError("broken")

    for _ in range(2):
        with pytest.raises(ValueError, match="broken"):
            run()
    out = capsys.readouterr().out
    words = [line.removeprefix("::stop-commands::") for line in out.splitlines() if line.startswith("::stop-commands")]
    assert len(set(words)) == len(words) == 6
    assert all(len(word) == 32 for word in words)
    assert obeyed_by_github(out)[-1] == "resumed"


HOSTILE = "a\r\n::set-output name=x::y\x1b[0Ksection_end:1:z\r\x1b[0K##[endgroup]%0A::add-mask::x" + "y" * 500


def test_a_title_is_one_line_without_marks(capsys: pytest.CaptureFixture[str]) -> None:
    with log.fenced(GITHUB) as folds:
        folds.fold(HOSTILE)
    commands = [found for found in obeyed_by_github(capsys.readouterr().out) if found.startswith(("::", "##"))]
    assert [found.split("::")[1] for found in commands] == ["group", "endgroup"]
    assert "##[" not in commands[0]
    assert "%0A" not in commands[0]
    with log.fenced(GITLAB) as folds:
        folds.fold(HOSTILE)
    out = capsys.readouterr().out
    assert [what for what, _ in folded_by_gitlab(out)] == ["start", "end"]
    assert out.split("\n")[0].endswith("…")


def test_gitlab_folds_under_names_that_come_once(capsys: pytest.CaptureFixture[str]) -> None:
    said: list[str] = []
    folds = Log(Kind.GITLAB, said.append, clock=lambda: 1560896352.7)
    assert folds.fold("one")
    assert folds.fold("two")
    folds.unfold()
    folds.unfold()
    name = said[0].partition(":1560896352:")[2].partition("[")[0]
    assert said[0] == f"\x1b[0Ksection_start:1560896352:{name}[collapsed=true]\r\x1b[0Kone"
    assert said[1] == f"\x1b[0Ksection_end:1560896352:{name}\r\x1b[0K"
    found = folded_by_gitlab("\n".join(said))
    assert [what for what, _ in found] == ["start", "end", "start", "end"]
    assert found[0][1] == found[1][1] != found[2][1]
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("environ", "quiet"), [({}, False), ({"CI": "true"}, False), (GITHUB, True), (GITLAB, True)])
def test_elsewhere_and_around_data_nothing_is_said(
    capsys: pytest.CaptureFixture[str], environ: dict[str, str], quiet: bool
) -> None:
    with log.fenced(environ, quiet=quiet) as folds:
        assert not folds.fold("one")
        folds.unfold()
    assert capsys.readouterr().out == ""
