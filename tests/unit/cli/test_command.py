"""What a person at a shell gets: one sentence and a hint for a mistake, exit codes, plain text, JSON."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from stackproof import console
from stackproof.cli import main as cli
from stackproof.errors import ExitCode, StackproofError, StackStartError
from stackproof.plan import Plan

Command = Callable[..., int]

SUITES = "suites: {base: {description: d, roots: [tests/integration/base], default_setup: gpt}}\n"
STACK = "description: a shop\nmodes: [server]\ncommand: [shop]\nenv: {SHOP_PORT: '{port}'}\n"


@pytest.fixture(name="project")
def _project(tmp_path: Path) -> Path:
    (tmp_path / "tests/integration/base").mkdir(parents=True)
    (tmp_path / "tests/suites.yaml").write_text(SUITES, encoding="utf-8")
    (tmp_path / "stacks/shop").mkdir(parents=True)
    (tmp_path / "stacks/shop/stack.yaml").write_text(STACK, encoding="utf-8")
    return tmp_path


@pytest.fixture(name="command")
def _command(project: Path) -> Command:
    def run(*argv: str, **environ: str) -> int:
        return cli.main(argv, environ=environ, project=project)

    return run


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["rnu"], "✗ unknown command 'rnu', did you mean 'run'?\n"),
        (["policy", "chekc"], "✗ unknown command 'chekc', did you mean 'check'?\n"),
        (["setups", "shwo"], "✗ unknown command 'shwo', did you mean 'show'?\n"),
        (["run", "--sutie", "x"], "✗ unknown option '--sutie' of stackproof run, did you mean '--suite'?\n"),
        (["run", "--no-strickt"], "✗ unknown option '--no-strickt' of stackproof run, did you mean '--no-strict'?\n"),
        (
            ["run", "--dry-run=1"],
            "✗ stackproof run: option '--dry-run' does not take a value\n  stackproof run --help tells",
        ),
        (
            ["run", "tests/x.py"],
            "✗ stackproof run: got unexpected extra argument (tests/x.py)\n  arguments for pytest go",
        ),
        (["run", "--suite"], "✗ stackproof run: option '--suite' requires an argument\n  stackproof run --help tells"),
        (["recordings", "list", "--setup"], "✗ stackproof recordings list: option '--setup' requires an argument\n"),
        (["completion"], "✗ stackproof completion: missing argument 'bash|zsh|fish'. Choose from: bash, zsh, fish\n"),
        (["plan", "--shards", "x"], "✗ stackproof plan: invalid value for '--shards': 'x' is not a whole number\n"),
        (["setups", "show", "gtp"], "✗ unknown setup 'gtp', did you mean 'gpt'?\n"),
        (
            ["run", "--inference-mode", "recrod"],
            "✗ --inference-mode: 'recrod' is not one of live, record, replay, record",
        ),
    ],
)
def test_mistake_is_one_sentence_and_exit_2(
    command: Command, capsys: pytest.CaptureFixture[str], argv: list[str], sentence: str
) -> None:
    assert command(*argv) == ExitCode.USAGE
    shown = capsys.readouterr()
    assert shown.err.startswith(sentence)
    assert shown.out == ""


def test_dry_run_prints_the_plan_and_starts_nothing(
    command: Command, capsys: pytest.CaptureFixture[str], project: Path
) -> None:
    before = sorted(project.rglob("*"))
    assert command("run", "--dry-run", "--stack-config", "server:shop") == 0
    out = capsys.readouterr().out
    assert "  setup  gpt" in out
    assert sorted(project.rglob("*")) == before


@pytest.mark.parametrize("arguments", [["--json"], ["--format", "json"], ["--format", "github-matrix"]])
def test_plan_for_machines_is_all_that_is_printed(
    command: Command, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert command("run", "--dry-run", "--stack-config", "server:shop", *arguments) == 0
    assert json.loads(capsys.readouterr().out)


def test_print_env_masks_secrets_and_starts_nothing(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    code = command(
        "run", "--print-env", "--stack-config", "server:shop", "--env", "A=b c", OPENAI_API_KEY="sk-very-secret-indeed"
    )
    assert code == 0
    out = capsys.readouterr().out
    assert "OPENAI_API_KEY=********" in out
    assert "A=b c" in out
    assert "sk-very" not in out
    assert command("run", "--print-env", "--stack-config", "server:shop", "--env", "A=b c", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == 1
    (cell,) = told["cells"].values()
    assert cell["tests"]["A"] == cell["stack"]["A"] == "b c"


def test_missing_secret_is_said_before_anything_starts(
    command: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "stackproof.run.orchestrate", ModuleType("stackproof.run_command"))
    assert command("run", "--stack-config", "server:shop", "--inference-mode", "live") == ExitCode.USAGE
    err = capsys.readouterr().err
    assert err.startswith("✗ setup 'gpt' needs OPENAI_API_KEY for live, which the environment lacks\n  export")


def test_run_carries_out_the_plan_and_returns_its_code(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Plan] = []
    fake = ModuleType("stackproof.run_command")

    def carry_out(plan: Plan, environ: object, *, text: bool) -> int:
        assert text
        plans.append(plan)
        return ExitCode.RECORDINGS

    vars(fake)["carry_out"] = carry_out
    monkeypatch.setitem(sys.modules, "stackproof.run_command", fake)
    assert command("run", "--stack-config", "server:shop", "-n", "2", "--", "-x", "--pdb", "--", "z") == 6
    (plan,) = plans
    assert plan.options.pytest_args == ("-x", "--pdb", "--", "z")
    assert plan.options.workers == "2"


def test_expected_error_keeps_its_exit_code(
    command: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = ModuleType("stackproof.run_command")

    def carry_out(*_: object, **__: object) -> None:
        raise StackStartError("shop exited with code 3 after 0.4 s", hint="last lines\nModuleNotFoundError")

    vars(fake)["carry_out"] = carry_out
    monkeypatch.setitem(sys.modules, "stackproof.run_command", fake)
    assert command("run", "--stack-config", "server:shop") == ExitCode.STACK_START
    assert capsys.readouterr().err == "✗ shop exited with code 3 after 0.4 s\n  last lines\n  ModuleNotFoundError\n"


@pytest.mark.parametrize("debug", [False, True])
def test_fault_of_our_own_is_one_line_and_a_file(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, debug: bool
) -> None:
    def broken(around: cli.Surroundings) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(cli.Surroundings, "catalog", broken)
    environ = {"STACKPROOF_DEBUG": "1"} if debug else {}
    assert cli.main(["setups"], environ=environ, project=project) == ExitCode.INTERNAL
    err = capsys.readouterr().err
    (kept,) = (project / ".stackproof").glob("internal-error-*.txt")
    lines = err.splitlines()[-3:]
    assert lines == [
        "✗ stackproof itself failed: RuntimeError: two lines",
        f"  traceback: {kept.relative_to(project)}",
        "  this is a defect of Stackproof: report it with the traceback and what `stackproof --version` prints",
    ]
    assert ("Traceback (most recent call last)" in err) is debug
    assert "RuntimeError: two" in kept.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "a file of this run cannot be written: No space left"),
        (OSError(errno.ENOTDIR, "Not a directory", "runs/1"), "runs/1 cannot be written: Not a directory"),
        (PermissionError(errno.EACCES, "Permission denied", "/p/.stackproof"), "/p/.stackproof may not be read or"),
    ],
    ids=["full disk", "a file in the place of a folder", "no permission"],
)
def test_a_disk_that_refuses_is_named_in_one_sentence(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: OSError, said: str
) -> None:
    def refused(around: cli.Surroundings) -> None:
        raise error

    monkeypatch.setattr(cli.Surroundings, "catalog", refused)
    assert cli.main(["setups"], environ={}, project=project) == ExitCode.DISK
    err = capsys.readouterr().err
    assert err.startswith(f"✗ {said}")
    assert "traceback" not in err


@pytest.mark.parametrize("name", ["setups", "stacks", "suites"])
def test_lists_are_text_and_json(command: Command, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert command(name) == 0
    assert "description" in capsys.readouterr().out
    assert command(name, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == 1
    assert all(spec["description"] for spec in told[name])


def test_setup_is_shown_without_values_of_secrets(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("setups", "show", "gpt", OPENAI_API_KEY="sk-very-secret-indeed") == 0
    assert command("setups", "show", "gpt", "--json", OPENAI_API_KEY="sk-very-secret-indeed") == 0
    out = capsys.readouterr().out
    assert "OPENAI_API_KEY   secret, set in your environment" in out
    assert "sk-very" not in out
    told = json.loads(out[out.index("{") :])
    assert (told["schema"], told["name"], told["present"]) == (1, "gpt", ["OPENAI_API_KEY"])


def test_commands_of_other_rooms_get_their_arguments(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    fake = ModuleType("stackproof.checks.typecheck")

    def run(project: Path, argv: list[str]) -> int:
        seen.append(argv)
        return 1

    vars(fake)["run"] = run
    monkeypatch.setitem(sys.modules, "stackproof.checks.typecheck", fake)
    assert command("typecheck", "-x", "a", "--help") == 1
    assert seen == [["-x", "a", "--help"]]


def test_exec_passes_the_command_on(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    fake = ModuleType("stackproof.recorder.serve.exec_")

    def main(argv: list[str]) -> int:
        seen.append(argv)
        return 127

    vars(fake)["main"] = main
    monkeypatch.setitem(sys.modules, "stackproof.recorder.serve.exec_", fake)
    assert command("exec", "--", "python", "-m", "shop", "--port", "1", "--", "x") == 127
    assert seen == [["python", "-m", "shop", "--port", "1", "--", "x"]]


@pytest.mark.parametrize(
    ("environ", "terminal", "plain"),
    [({}, True, False), ({}, False, True), ({"CI": "true"}, True, True), ({"NO_COLOR": "1"}, True, True)],
)
def test_colour_is_for_people_at_terminals(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], terminal: bool, plain: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")  # what kind it is rich asks by itself
    stream = io.StringIO()
    stream.isatty = lambda: terminal  # type: ignore[method-assign]
    assert console.is_plain(stream, environ) is plain
    made = console.make(stream, environ)
    made.print("[x] 127.0.0.1 " + "long " * 60, style="bold red")
    assert ("\x1b[" in stream.getvalue()) is not plain
    assert stream.getvalue().count("\n") == 1


def test_version_needs_no_heavy_module() -> None:
    script = (
        "import sys, stackproof.cli.main; "
        "print([name for name in ('rich', 'yaml', 'pytest', 'asyncio') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "[]\n"


def test_reader_that_leaves_early_gets_no_traceback(project: Path) -> None:
    script = "import sys; sys.argv = ['stackproof', 'setups', '--json']; from stackproof.cli.main import entry; entry()"
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()
        assert process.wait(timeout=300) == ExitCode.INTERNAL


def test_a_run_whose_reader_left_does_not_end_like_failed_tests() -> None:
    class Closed(io.StringIO):
        def write(self, text: str, /) -> int:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        console.make(Closed(), {}).print("PASS")


def test_a_process_without_standard_output_still_ends_with_its_own_code(project: Path) -> None:
    script = "import sys; sys.argv = ['stackproof', 'setups']; from stackproof.cli.main import entry; entry()"
    closed = f'exec {sys.executable} -c "{script}" >&-'
    done = subprocess.run(["sh", "-c", closed], cwd=project, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "topic",
    [
        ["--help"],
        ["run", "--help"],
        ["run", "-h"],
        ["setups", "--help"],
        ["verify-release", "--help"],
        ["benchmark", "-h"],
        ["typecheck", "--help"],
    ],
)
def test_help_is_no_error(command: Command, capsys: pytest.CaptureFixture[str], topic: list[str]) -> None:
    assert command(*topic) == 0
    assert "Usage: stackproof" in capsys.readouterr().out


@pytest.mark.parametrize("group", [[], ["claims"], ["policy"], ["recordings"], ["stack"], ["trace"]])
def test_a_list_of_commands_cuts_no_sentence_off(
    command: Command, capsys: pytest.CaptureFixture[str], group: list[str]
) -> None:
    assert command(*group, "--help", COLUMNS="80") == 0
    listed = capsys.readouterr().out.partition("Commands:" if group else "Begin here:")[2]
    assert listed
    assert "..." not in listed


def test_no_error_shows_a_secret_of_the_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StackproofError("it said made-up/by+a-test", hint="not sk-proj-0123456789abcdefghij, and this: short")

    monkeypatch.setattr("stackproof.options.resolve", refuse)
    environ = {"A_KEY": "made-up/by+a-test", "B_KEY": "short"}
    code = cli.main(["run"], environ=environ, project=tmp_path)
    assert code == ExitCode.INTERNAL
    told = capsys.readouterr().err
    assert "it said ***" in told
    assert "not ***, and this: short" in told


@pytest.mark.parametrize("group", [[], ["recordings"]])
def test_help_to_which_nobody_listens_is_no_traceback(group: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", "from stackproof.cli.main import entry; entry()", *group]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, timeout=300, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (ExitCode.USAGE, b"")
