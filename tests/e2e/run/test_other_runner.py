"""A suite that a shell script runs: prepared in the cache, judged by its report, never green without one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol

import pytest


class Project(Protocol):
    """What the fixture of that name offers here."""

    root: Path
    environ: dict[str, str]

    def run(self, *arguments: str) -> Any:
        """Run the command to its end."""

    def cell_dir(self) -> Path:
        """The only cell of the newest run."""

    def outcome(self) -> dict[str, Any]:
        """`outcome.json` of it."""


SUITES = """
suites:
  shell:
    description: tests of another runner
    roots: [tests/integration/shell]
    default_setup: local
    runner:
      name: sheller
      folder: tests/integration/shell
      command: [sh, run.sh, "{junit}", "{prepared}/made"]
      options: {pattern: ["-t={value}"]}
      prepare: {command: [sh, -c, "cat words > made"], files: [words]}
"""
GREEN = '<testsuite name="a"><testcase classname="a" name="one"/><testcase classname="a" name="two"/></testsuite>'
RED = '<testsuite name="a"><testcase classname="a" name="one"><failure message="no"/></testcase></testsuite>'


@pytest.fixture(name="shell")
def _shell(project: Project) -> Project:
    folder = project.root / "tests" / "integration" / "shell"
    folder.mkdir()
    (folder / "words").write_text("good words\n")
    (project.root / "tests" / "suites.yaml").write_text(SUITES)
    project.environ["XDG_CACHE_HOME"] = str(project.root / "cache")
    return project


def script(project: Project, text: str) -> None:
    (project.root / "tests" / "integration" / "shell" / "run.sh").write_text(text)


def test_its_tests_are_those_of_the_report(shell: Project) -> None:
    script(shell, f"test \"$(cat $2)\" = 'good words' || exit 9\npwd\necho '{GREEN}' > \"$1\"\n")
    ended = shell.run("--suite", "shell")
    assert ended.code == 0, ended.output
    assert "2 passed" in ended.output
    assert "preparing shell-tests" in ended.output
    result = json.loads((shell.cell_dir() / "result.json").read_text())
    assert (result["exit_code"], result["counts"]["passed"]) == (0, 2)
    # It ran in a copy: nothing was written into the project.
    where = Path((shell.cell_dir() / "tests.log").read_text().strip())
    assert where.is_relative_to(shell.root / "cache")
    assert sorted(path.name for path in (shell.root / "tests/integration/shell").iterdir()) == ["run.sh", "words"]
    again = shell.run("--suite", "shell")
    assert again.code == 0, again.output
    assert "preparing" not in again.output


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (f"echo '{RED}' > $1; exit 1", 1, "1 failed"),
        (f"echo '{RED}' > $1", 7, "sheller exited with 0, yet its log has 1 failed"),
        (f"echo '{GREEN}' > $1; exit 4", 1, "sheller failed although no test did"),
        ("exit 0", 7, "sheller exited with code 0, and junit.xml is missing"),
        ("echo oh no; exit 2", 1, "oh no"),
        ("kill -SEGV $$", 1, "sheller was ended by SIGSEGV, and junit.xml is missing"),
        ("echo '<testsuites/>' > $1", 3, "the report of sheller has no test"),
        (f"echo '{GREEN}' | head -c 60 > $1", 7, "junit.xml ends or breaks in the middle"),
        ("echo '<testsuite><testcase name=\"x\"><skipped/></testcase></testsuite>' > $1", 3, "nothing ran: 1 skipped"),
    ],
)
def test_nothing_is_green_without_a_report_that_says_so(shell: Project, text: str, code: int, said: str) -> None:
    script(shell, text)
    ended = shell.run("--suite", "shell")
    assert ended.code == code, ended.output
    assert said in ended.output
    assert "PASS" not in ended.output


def test_one_that_hangs_is_stopped(shell: Project) -> None:
    script(shell, "trap 'exit 130' INT; sleep 900 & wait")
    ended = shell.run("--suite", "shell", "--suite-timeout", "2")
    assert ended.code == 1, ended.output
    assert "the suite took more than 2 s" in ended.output


def test_options_reach_it_as_the_suite_says(shell: Project) -> None:
    script(shell, f'echo "$3 $4"\necho \'{GREEN}\' > "$1"\n')
    assert shell.run("--suite", "shell", "--pattern", "x y", "--", "-v").code == 0
    assert (shell.cell_dir() / "tests.log").read_text() == "-t=x y -v\n"


def test_it_is_told_whose_header_and_folder_ids_have(shell: Project) -> None:
    script(shell, f"echo $STACKPROOF_ID_HEADER $STACKPROOF_TEST_FOLDER $STACKPROOF_API_BASE_URL\necho '{GREEN}' > $1\n")
    assert shell.run("--suite", "shell").code == 0
    header, folder, url = (shell.cell_dir() / "tests.log").read_text().split()
    assert (header, folder) == ("X-Provider-Data", "tests/integration/shell")
    assert url.startswith("http://127.0.0.1:")


def test_what_cannot_be_prepared_ends_the_run_with_its_words(shell: Project) -> None:
    (shell.root / "tests/suites.yaml").write_text(
        SUITES.replace("cat words > made", "echo no such package >&2; exit 3")
    )
    script(shell, "exit 0")
    ended = shell.run("--suite", "shell")
    assert ended.code == 5, ended.output
    assert "`sh -c` for shell-tests exited with code 3" in ended.output
    assert "no such package" in ended.output
