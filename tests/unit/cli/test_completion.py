"""What a shell is offered for a word that is being typed, as its script asks for it."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from stackproof.cli import main as cli
from stackproof.cli.shells import SHELLS
from stackproof.errors import ExitCode

SUITES = """
suites:
  base: {description: what every stack must do, roots: [tests/integration/base], default_setup: gpt}
  files: {description: files, roots: [tests/integration/files], default_setup: gpt}
"""
STACK = "description: a shop\nmodes: [library, server]\napp: shop:app\ncommand: [shop]\nenv: {SHOP_PORT: '{port}'}\n"
BREAKS = " \t\n\"'><=;|&(:"
TESTS = (
    "tests/integration/base/test_chat.py::test_hello",
    "tests/integration/base/test_chat.py::test_each[a b]",
    "tests/integration/base/test_tools.py::test_call",
)


@pytest.fixture(name="project", scope="module")
def _project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    for name, text in (("tests/suites.yaml", SUITES), ("stacks/shop/stack.yaml", STACK)):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text, encoding="utf-8")
    for number, test in enumerate(TESTS):
        path = folder / f"recordings/gpt/base/{number:012x}-{'0' * 20}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"format": 1, "test_id": test, "scope": test, "request": {}}, indent=2))
    for age, run in enumerate(("7f3c2a", "a01b22")):
        (folder / f".stackproof/runs/{run}").mkdir(parents=True)
        os.utime(folder / f".stackproof/runs/{run}", (1e9 - age, 1e9 - age))
    return folder


Ask = Callable[..., list[str]]


@pytest.fixture(name="offered")
def _offered(project: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    def ask(line: str, shell: str = "bash", *, at: Path = project) -> list[str]:
        environ = {"COMP_LINE": line, "_STACKPROOF_COMPLETE": f"{shell}_complete", "COMP_WORDBREAKS": BREAKS}
        assert cli.main([], environ=environ, project=at) == 0
        shown = capsys.readouterr()
        assert shown.err == ""
        return shown.out.splitlines()

    return ask


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("stackproof rec", ["recordings"]),
        ("stackproof recordings ex", ["explain"]),
        ("stackproof run --suite ", ["base", "files"]),
        ("stackproof run --suite=f", ["files"]),
        ("stackproof run --suite base,", ["base,files"]),
        ("stackproof run --setup gpt", ["gpt", "gpt-reasoning"]),
        ("stackproof run --stack-config library:sh", ["shop"]),
        ("stackproof run --stack-config server:reference,library:s", ["shop"]),
        ("stackproof stack up server:sh", ["shop"]),
        ("stackproof run --provider-service ec", ["echo"]),
        ("stackproof run --inference-mode rep", ["replay"]),
        ("stackproof run --suit", ["--suite", "--suite-timeout"]),
        ("stackproof run --no-st", ["--no-strict"]),
        ("LC_ALL=C stackproof recordings list --sort a", ["age"]),
        ("stackproof drift ", ["7f3c2a", "a01b22"]),
        ("stackproof recordings rekey --run l", ["last"]),
        ("stackproof recordings list --test tests/", sorted({test.partition("::")[0] for test in TESTS})),
        ("stackproof recordings list --test tests/integration/base/test_t", [TESTS[2]]),
        ("stackproof recordings explain tests/integration/base/test_chat.py::test_e", ["test_each\\[a\\ b\\]"]),
        ("stackproof recordings explain 'tests/integration/base/test_chat.py::test_e", [TESTS[1]]),
        ("stackproof run -- --su", []),
        ("stackproof run --setup nobody", []),
        ("stackproof completion ", ["bash", "zsh", "fish"]),
    ],
)
def test_names_of_commands_options_and_of_the_project_are_offered(offered: Ask, line: str, offers: list[str]) -> None:
    assert [each.removeprefix("plain,") for each in offered(line)] == offers


def test_options_are_offered_where_nothing_else_can_stand(offered: Ask) -> None:
    assert "plain,--suite" in offered("stackproof run ")
    assert offered("stackproof edge --port ") == []


def test_paths_are_left_to_the_shell(offered: Ask) -> None:
    assert offered("stackproof trace show tra") == ["file,tra"]
    assert offered("stackproof run --recording-dir re") == ["dir,re"]


def test_zsh_and_fish_are_told_what_each_offer_is(offered: Ask) -> None:
    said = "what every stack must do"
    assert offered("stackproof run --suite b", "zsh") == ["plain", "base", said]
    assert offered("stackproof run --suite=b", "zsh") == ["plain", "--suite=base", said]
    assert offered("stackproof run --stack-config library:sh", "zsh") == ["plain", "library\\:shop", "a shop"]
    assert offered("stackproof run --suite base,f", "fish") == ["plain,base,files\tfiles"]


@pytest.mark.parametrize(
    "line", ["run --suite ", "lane run ", "drift ", "claims show ", "recordings show --recording-dir x "]
)
@pytest.mark.parametrize("what", ["empty", "damaged", "absent"])
def test_whatever_is_wrong_with_a_project_nothing_is_said(offered: Ask, tmp_path: Path, line: str, what: str) -> None:
    if what == "damaged":
        (tmp_path / "tests").mkdir()
        (tmp_path / "tests/suites.yaml").write_text("suites: [", encoding="utf-8")
        (tmp_path / "pyproject.toml").write_text("[tool.stackproof", encoding="utf-8")
    at = tmp_path / "nowhere" if what == "absent" else tmp_path
    found = offered(f"stackproof {line}", at=at)
    assert all(each.startswith(("plain,", "file,")) for each in found)


def test_a_shell_that_is_not_known_gets_exit_2(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([], environ={"_STACKPROOF_COMPLETE": "tcsh_complete"}, project=project) == ExitCode.USAGE
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("shell", SHELLS)
def test_script_is_printed_and_the_one_that_click_names(
    project: Path, capsys: pytest.CaptureFixture[str], shell: str
) -> None:
    assert cli.main(["completion", shell], environ={}, project=project) == 0
    script = capsys.readouterr().out
    assert "_STACKPROOF_COMPLETE" in script
    assert cli.main([], environ={"_STACKPROOF_COMPLETE": f"{shell}_source"}, project=project) == 0
    assert capsys.readouterr().out == script


def test_help_and_completion_of_names_import_no_command_and_nothing_slow(tmp_path: Path) -> None:
    heavy = ("docker", "pytest", "jinja2", "yaml", "stackproof.parts", "stackproof.cli.policy_cli")
    code = f"""
import sys
from pathlib import Path
from stackproof.cli.main import main
main(["--help"], environ={{}}, project=Path())
main([], environ={{"COMP_LINE": "stackproof r", "_STACKPROOF_COMPLETE": "bash_complete"}}, project=Path())
sys.exit(" ".join(name for name in {heavy!r} if name in sys.modules) or None)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert done.stdout.endswith("plain,recordings\nplain,run\n")


# -- in real shells

ARRIVED = "ARRIVED "
DEADLINE = 90.0


@pytest.fixture(name="path", scope="module")
def _path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a `stackproof` that completes as ours does, and shows the words that it is started with."""
    folder = tmp_path_factory.mktemp("bin")
    program = folder / "stackproof"
    program.write_text(
        f"""#!{sys.executable}
import json, os, sys
if "_STACKPROOF_COMPLETE" in os.environ or sys.argv[1:2] == ["completion"]:
    from stackproof.cli.main import entry
    entry()
print({ARRIVED!r} + json.dumps(sys.argv[1:]), flush=True)
""",
        encoding="utf-8",
    )
    program.chmod(0o755)
    return folder


STARTS = {
    "bash": ["bash", "--noprofile", "--norc", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "--interactive"],
}
LOADS = {
    "bash": 'eval "$(stackproof completion bash)"',
    "zsh": 'autoload -U compinit && compinit -u -D && eval "$(stackproof completion zsh)"',
    "fish": "stackproof completion fish | source",
}


TYPED = {
    "run --stack-config library:sh": ["run", "--stack-config", "library:shop"],
    "run --suite=fi": ["run", "--suite=files"],
    "run --suite base,fi": ["run", "--suite", "base,files"],
    "recordings explain tests/integration/base/test_chat.py::test_e": ["recordings", "explain", TESTS[1]],
    "recordings no": ["recordings", "normalize"],
}


@pytest.mark.parametrize("shell", STARTS)
def test_tab_completes_words_in_a_real_shell(project: Path, path: Path, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"the shell {shell} is not installed")
    lines = [LOADS[shell], *(f"stackproof {typed}\t" for typed in TYPED)]
    assert arrived(STARTS[shell], lines, len(TYPED), cwd=project, path=path) == list(TYPED.values())


def arrived(start: list[str], lines: list[str], count: int, *, cwd: Path, path: Path) -> list[list[str]]:
    """Type lines into a shell on a terminal; what the program was started with, each of so many times."""
    environ = {
        "PATH": f"{path}:{os.environ['PATH']}", "HOME": str(path), "TERM": "dumb", "PS1": "$ ", "LC_ALL": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execvpe(start[0], start, environ)  # noqa: S606
    shown, end = "", time.monotonic() + DEADLINE
    found: list[list[str]] = []
    try:
        for number, line in enumerate(lines):
            os.write(terminal, f"{line}\r".encode())
            # One line after the other: what is typed ahead is not every shell's to keep.
            while len(found) < number:
                assert time.monotonic() < end, shown
                if select.select([terminal], [], [], 1.0)[0]:
                    shown += os.read(terminal, 65536).decode(errors="replace")
                    found = [json.loads(words) for words in re.findall(rf"^{ARRIVED}(.*\])\r?$", shown, re.MULTILINE)]
        assert len(found) == count
        return found
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
