"""What starts coverage in a process: only where it is asked for, and at no cost elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stackproof.measure import begin
from stackproof.recorder.serve import exec_, measure
from stackproof.run import namespace

BACK = """
import signal
own = lambda *_: None
assert signal.signal(signal.SIGTERM, own) is signal.SIG_DFL
assert signal.signal(signal.SIGTERM, signal.SIG_DFL) is own
os.kill(os.getpid(), 15)
"""
LOADED = "import sys; print('coverage' in sys.modules, 'stackproof_measure' in sys.modules)"


@pytest.fixture
def hook(tmp_path: Path) -> Path:
    """The folder that is on a process's path, as a cell has it, and a file `asked.json` for it."""
    folder = tmp_path / "hook"
    folder.mkdir()
    shutil.copyfile(measure.__file__, folder / "stackproof_measure.py")
    (folder / "sitecustomize.py").write_text(begin.SITECUSTOMIZE)
    asked = {
        "who": "stack",
        "marks": str(tmp_path / "marks"),
        "data_file": str(tmp_path / "data"),
        "options": {"run:branch": True, "run:source": [str(tmp_path)], "run:patch": ["_exit"]},
        "required": False,
    }
    (folder / "asked.json").write_text(json.dumps(asked))
    return folder


def variables(hook: Path, *, asked: bool = True) -> dict[str, str]:
    """Of a process with the hook on its path."""
    given = {name: value for name, value in os.environ.items() if not name.startswith(("COVERAGE_", "STACKPROOF_"))}
    return {**given, "PYTHONPATH": str(hook), **({measure.VARIABLE: str(hook / "asked.json")} if asked else {})}


def run(hook: Path, program: str, *, asked: bool = True, **more: str) -> subprocess.CompletedProcess[str]:
    """A Python process with the hook on its path, to its end."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**variables(hook, asked=asked), **more},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def marks(hook: Path) -> list[dict[str, Any]]:
    """What processes said of themselves."""
    return [json.loads(path.read_text()) for path in sorted((hook.parent / "marks").glob("*.json"))]


def states(hook: Path) -> list[str]:
    """Of every process, in no order."""
    return sorted(mark["state"] for mark in marks(hook))


def test_it_does_nothing_where_nobody_asks(hook: Path) -> None:
    assert run(hook, LOADED, asked=False).stdout == "False True\n"
    assert marks(hook) == []


def test_what_leads_to_the_tests_is_not_measured(hook: Path) -> None:
    command = [sys.executable, "-c", LOADED, namespace.__name__]
    said = subprocess.run(command, env=variables(hook), capture_output=True, text=True, timeout=300, check=True)

    assert said.stdout == "False True\n"


def test_loading_it_is_quick_beside_loading_coverage() -> None:
    folder = Path(measure.__file__).parent

    def milliseconds(what: str) -> float:
        """Of the processor: whatever else the machine does takes none of them, and one moment in five is a good one."""
        program = f"began = time.process_time(); {what}; print((time.process_time() - began) * 1000)"
        text = f"import sys, time; sys.path.insert(0, {str(folder)!r}); {program}"
        command = [sys.executable, "-c", text]
        return min(
            float(subprocess.run(command, capture_output=True, check=True, timeout=300).stdout) for _ in range(5)
        )

    assert milliseconds("import measure as hook; hook.start()") < milliseconds("import coverage") / 2


def test_a_process_that_ends_has_written_what_it_measured(hook: Path) -> None:
    (hook.parent / "some.py").write_text("x = 1\n")

    ended = run(hook, f"import sys; sys.path.append({str(hook.parent)!r}); import some")

    assert (ended.returncode, ended.stderr) == (0, "")
    assert states(hook) == ["saved"]
    assert len(list(hook.parent.glob("data.*"))) == 1


@pytest.mark.parametrize("end", ["os._exit(3)", "os.kill(os.getpid(), 15)", BACK])
def test_so_has_one_that_ends_otherwise(hook: Path, end: str) -> None:
    ended = run(hook, f"import os\n{end}")

    assert ended.returncode in (3, -signal.SIGTERM)
    assert states(hook) == ["saved"]


def test_a_child_by_fork_has_data_of_its_own(hook: Path) -> None:
    ended = run(hook, "import os\nif os.fork() == 0: os._exit(0)\nos.wait()")

    assert ended.returncode == 0
    assert states(hook) == ["saved", "saved"]


def test_a_child_by_fork_that_is_killed_is_not_taken_for_its_parent(hook: Path) -> None:
    assert run(hook, "import os\nif os.fork() == 0: os.kill(os.getpid(), 9)\nos.wait()").returncode == 0
    assert states(hook) == ["saved", "started"]


def test_one_that_is_killed_leaves_that_it_was_begun(hook: Path) -> None:
    assert run(hook, "import os; os.kill(os.getpid(), 9)").returncode == -signal.SIGKILL
    assert states(hook) == ["started"]


def test_it_is_told_to_end_twice_and_writes_once(hook: Path) -> None:
    (hook.parent / "some.py").write_text("import time\nprint('there', flush=True)\ntime.sleep(600)\n")
    program = f"import sys; sys.path.append({str(hook.parent)!r}); import some"
    with subprocess.Popen(
        [sys.executable, "-c", program], env=variables(hook), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        for _ in range(20):
            os.kill(process.pid, signal.SIGTERM)
        assert process.wait(timeout=120) == -signal.SIGTERM
    assert states(hook) == ["saved"]


def test_a_python_without_the_package_runs_unmeasured_and_says_so(hook: Path) -> None:
    (hook / "coverage.py").write_text("raise ImportError('none here')\n")

    assert run(hook, "print('goes on')").stdout == "goes on\n"
    assert states(hook) == ["missing"]
    assert marks(hook)[0]["python"] == sys.executable


def test_tests_in_a_container_do_not_begin_without_it(hook: Path) -> None:
    (hook / "coverage.py").write_text("raise ImportError('none here')\n")
    asked = json.loads((hook / "asked.json").read_text())
    (hook / "asked.json").write_text(json.dumps({**asked, "required": True}))

    ended = run(hook, "print('goes on')")

    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr == f"stackproof: --coverage needs the package coverage in {sys.executable}\n"


def test_what_coverage_refuses_is_said_and_the_process_runs(hook: Path) -> None:
    asked = json.loads((hook / "asked.json").read_text())
    (hook / "asked.json").write_text(json.dumps({**asked, "options": {"run:plugins": ["no_such_plugin"]}}))

    assert run(hook, "print('goes on')").stdout == "goes on\n"
    assert states(hook) == ["refused"]
    assert "no_such_plugin" in marks(hook)[0]["why"]


def test_in_a_run_within_a_run_a_process_is_measured_once(hook: Path, tmp_path: Path) -> None:
    shutil.copytree(hook, tmp_path / "outer")

    ended = run(
        hook, "import coverage; print(len(coverage.Coverage._instances))", PYTHONPATH=f"{hook}:{tmp_path}/outer"
    )

    assert (ended.stdout, ended.stderr) == ("1\n", "")


def test_two_of_ours_and_a_third_on_the_path_run_once_each(hook: Path, tmp_path: Path) -> None:
    guest = Path(exec_.guest_folder(str(tmp_path / "guest")))
    third = tmp_path / "third"
    third.mkdir()
    (third / "sitecustomize.py").write_text("print('third')\n")
    # In both orders, and twice, as a run within a run has them.
    for folders in ([guest, hook, third], [hook, guest, third], [hook, guest, hook, guest, third]):
        ended = run(hook, LOADED, asked=False, PYTHONPATH=":".join(map(str, folders)))
        assert (ended.stdout, ended.stderr) == ("third\nFalse True\n", "")
