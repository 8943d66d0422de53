"""Start-up code of others: every sitecustomize and usercustomize that would run without the recorder runs with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stackproof.recorder.mode import Mode
from stackproof.recorder.settings import VARIABLE, Settings

_SHOW = "import sys; print(getattr(sys, 'RAN', ''), 'stackproof_recorder.brain' in sys.modules)"
_NOTE = "import sys\nsys.RAN = getattr(sys, 'RAN', '') + '{name};'\n"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty environment's interpreter."""
    folder = tmp_path_factory.mktemp("venv") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=300)
    return folder / "bin/python"


def _run(folder: Path, python: Path, *options: str, code: str = _SHOW, **variables: str) -> tuple[str, str]:
    """What `code` prints under exec, and the errors."""
    settings = Settings(
        mode=Mode.REPLAY, recordings=str(folder / "r"), setup="s", run_dir=str(folder / "run"), run_id="abcdef"
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "STACKPROOF_"))}
    ended = subprocess.run(
        [sys.executable, "-I", "-m", "stackproof", "exec", "--", str(python), *options, "-c", code],
        env={**kept, VARIABLE: settings.to_json(), **variables},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    return ended.stdout.strip(), ended.stderr


def _write(folder: Path, name: str, module: str = "sitecustomize", more: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{module}.py").write_text(_NOTE.format(name=name) + more)
    return folder


def test_one_on_the_stacks_own_path_runs_and_the_one_that_it_shadows_does_not(tmp_path: Path, python: Path) -> None:
    first, second = _write(tmp_path / "first", "first"), _write(tmp_path / "second", "second")
    path = os.pathsep.join(map(str, (first, second)))
    assert _run(tmp_path, python, PYTHONPATH=path) == ("first; True", "")


def test_one_in_the_site_packages_of_an_environment_runs(tmp_path: Path, python: Path) -> None:
    (packages,) = (python.parent.parent / "lib").glob("python*/site-packages")
    _write(packages, "site-packages")
    try:
        assert _run(tmp_path, python) == ("site-packages; True", "")
        path = str(_write(tmp_path / "first", "first"))
        assert _run(tmp_path, python, PYTHONPATH=path) == ("first; True", ""), "as without us: the path comes before"
    finally:
        (packages / "sitecustomize.py").unlink()


def test_one_that_is_a_package_runs(tmp_path: Path, python: Path) -> None:
    folder = _write(tmp_path / "first/sitecustomize", "package", "__init__", "from . import other\n")
    _write(folder, "other", "other")
    assert _run(tmp_path, python, PYTHONPATH=str(folder.parent)) == ("package;other; True", "")


def test_a_usercustomize_runs_after_it(tmp_path: Path) -> None:
    # An environment has no folder of the user's: the interpreter that it was made of has.
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    if not base.exists():
        pytest.skip("no interpreter with a folder of the user's")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    _write(tmp_path / f"home/lib/{version}/site-packages", "user", "usercustomize")
    path = str(_write(tmp_path / "first", "first"))
    found = _run(tmp_path, base, PYTHONPATH=path, PYTHONUSERBASE=str(tmp_path / "home"))
    assert found == ("first;user; True", "")
    assert _run(tmp_path, base, "-s", PYTHONPATH=path, PYTHONUSERBASE=str(tmp_path / "home"))[0] == "first; True"


def test_one_that_fails_fails_as_it_would_by_itself(tmp_path: Path, python: Path) -> None:
    path = str(_write(tmp_path / "first", "first", more="raise RuntimeError('theirs')\n"))
    out, errors = _run(tmp_path, python, PYTHONPATH=path)
    assert out == "first; True"
    assert "RuntimeError: theirs" in errors
    alone = subprocess.run([python, "-c", _SHOW], env={"PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert (alone.stdout.strip(), errors) == ("first; False", alone.stderr)


def test_one_that_hands_on_does_not_come_back_to_itself(tmp_path: Path, python: Path) -> None:
    """Tools that shadow others' look for the next one themselves, as ours does; it was found already."""
    hand_on = (
        "import importlib.machinery, importlib.util, os, sys\n"
        "here = os.path.dirname(__file__)\n"
        "rest = [entry for entry in sys.path if os.path.abspath(entry) != here and 'guest' not in entry]\n"
        "spec = importlib.machinery.PathFinder.find_spec('sitecustomize', rest)\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
    )
    tool, theirs = _write(tmp_path / "tool", "tool", more=hand_on), _write(tmp_path / "theirs", "theirs")
    path = os.pathsep.join(map(str, (tool, theirs)))
    assert _run(tmp_path, python, PYTHONPATH=path) == ("tool;theirs; True", "")


def test_workers_that_a_server_spawns_have_both(tmp_path: Path, python: Path) -> None:
    path = str(_write(tmp_path / "first", "first"))
    spawn = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {_SHOW!r}], check=True)"
    assert _run(tmp_path, python, code=spawn, PYTHONPATH=path) == ("first; True", "")
