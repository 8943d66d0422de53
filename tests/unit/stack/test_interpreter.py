"""Which Python a stack runs with: named, found, or an environment made for it."""

from __future__ import annotations

import os
import sys
import venv as venv_module
from pathlib import Path

import pytest

from stackproof.catalog.records import PythonSpec, StackMode, StackSpec
from stackproof.errors import MissingProgramError, StackStartError, UsageError
from stackproof.stack import interpreter, ourselves, venv

THIS = sys.version_info[:2]
NEWER = PythonSpec(at_least=(3, 99))
NAME = "STACKPROOF_PYTHON_MY_DESK"


def stack(python: PythonSpec | None) -> StackSpec:
    return StackSpec(
        name="my-desk", description="d", folder=Path(), modes=(StackMode.SERVER,), python=python, source=Path()
    )


def choose(
    python: PythonSpec | None, *, mode: StackMode = StackMode.SERVER, named: str = "", **environment: str
) -> Path:
    given = {**environment, NAME: named}
    return interpreter.choose(stack(python), mode, environment=given, say=print, check=lambda: None)


def shim(folder: Path, name: str, program: str) -> Path:
    """A program that answers as a Python would that is asked for its version."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{program}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def shims(tmp_path: Path) -> Path:
    """One on PATH that fits, one that is too old, one that is none."""
    (tmp_path / "bin").mkdir()
    shim(tmp_path / "bin", "python3.19", "exit 127")
    shim(tmp_path / "bin", "python3.12", "echo 3.100.2")
    shim(tmp_path / "bin", "python3.11", "echo 3.11.0")
    return tmp_path


@pytest.mark.parametrize(
    ("spec", "version", "fits"),
    [
        (PythonSpec(), (3, 11), True),
        (PythonSpec(at_least=(3, 12)), (3, 11), False),
        (PythonSpec(at_least=(3, 12)), (3, 12), True),
        (PythonSpec(at_least=(3, 12), below=(3, 14)), (3, 14), False),
        (PythonSpec(below=(3, 14)), (3, 13), True),
    ],
)
def test_a_version_fits_between_its_bounds(spec: PythonSpec, version: tuple[int, int], fits: bool) -> None:
    assert spec.fits(version) is fits


def test_what_is_needed_is_said_in_words() -> None:
    assert PythonSpec(at_least=(3, 12)).words == "Python 3.12 or newer"
    assert PythonSpec(at_least=(3, 12), below=(3, 14)).words == "Python 3.12 or newer, below 3.14"


@pytest.mark.parametrize(("stack_name", "expected"), [("ogx", "X_OGX"), ("my-desk", "X_MY_DESK"), ("a.b 2", "X_A_B_2")])
def test_a_variable_is_about_one_stack(stack_name: str, expected: str) -> None:
    assert interpreter.variable("X", stack_name) == expected


def test_a_stack_that_says_nothing_runs_with_the_python_of_the_run() -> None:
    assert choose(None) == Path(sys.executable)


def test_a_container_has_a_python_of_its_own() -> None:
    assert choose(NEWER, mode=StackMode.DOCKER) == Path(sys.executable)


def test_the_python_of_the_run_comes_first_where_it_fits() -> None:
    assert choose(PythonSpec(at_least=THIS), PATH="/nowhere") == Path(sys.executable)


def test_one_that_fits_is_found_behind_ones_that_do_not(shims: Path) -> None:
    assert choose(NEWER, PATH=str(shims / "bin"), HOME=str(shims)) == shims / "bin" / "python3.12"


def test_pyenvs_versions_are_looked_at_too(shims: Path) -> None:
    there = shims / "pyenv" / "versions" / "3.100.7" / "bin"
    there.mkdir(parents=True)
    shim(there, "python3", "echo 3.100.7")
    found = choose(NEWER, PATH="/nowhere", HOME=str(shims), PYENV_ROOT=str(shims / "pyenv"))
    assert found == there / "python3"


def test_where_there_is_none_the_versions_that_were_found_are_told(shims: Path) -> None:
    (shims / "bin" / "python3.12").unlink()
    with pytest.raises(MissingProgramError) as caught:
        choose(NEWER, PATH=str(shims / "bin"), HOME=str(shims))
    own = ".".join(map(str, sys.version_info[:3]))
    assert caught.value.message == (
        f"stack 'my-desk' needs Python 3.99 or newer, and there is none: found {own}, 3.11.0"
    )
    assert f"{NAME}=/path/to/python" in (caught.value.hint or "")


def test_a_named_one_is_taken_as_it_is(shims: Path) -> None:
    named = str(shims / "bin" / "python3.12")
    assert choose(NEWER, named=named) == Path(named)
    # Also by a stack that says nothing: somebody's own environment.
    assert choose(None, named=named) == Path(named)


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ("echo 3.11.0", "which is Python 3.11.0; stack 'my-desk' needs Python 3.99 or newer"),
        ("exit 1", "which is no Python that runs"),
        ("echo hello", "which is no Python that runs"),
    ],
)
def test_a_named_one_that_does_not_do_is_refused(tmp_path: Path, program: str, sentence: str) -> None:
    named = str(shim(tmp_path, "mine", program))
    with pytest.raises(UsageError) as caught:
        choose(NEWER, named=named)
    assert caught.value.message == f"{NAME} names {named}, {sentence}"


def test_a_named_one_needs_pytest_where_the_tests_run_in_it(tmp_path: Path) -> None:
    named = str(shim(tmp_path, "mine", 'case "$*" in *find_spec*) echo False;; *) echo 3.100.0;; esac'))
    assert choose(NEWER, named=named) == Path(named)
    with pytest.raises(UsageError, match=r"has no pytest, and the tests of library:my-desk run in the stack's process"):
        choose(NEWER, mode=StackMode.LIBRARY, named=named)


def test_a_library_in_this_process_needs_this_python() -> None:
    interpreter.require_this(stack(None))
    interpreter.require_this(stack(PythonSpec(at_least=THIS)))
    with pytest.raises(UsageError, match=rf"this pytest runs in Python {THIS[0]}\.{THIS[1]}"):
        interpreter.require_this(stack(NEWER))


def test_an_environment_is_made_once_for_its_requirements(tmp_path: Path) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("")
    said: list[str] = []

    def prepare(*files: Path) -> Path:
        return venv.prepare(
            "desk",
            files,
            python=Path(sys.executable),
            version="3.11.0",
            environment={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
            say=said.append,
            check=lambda: None,
        )

    made = prepare(requirements)
    assert interpreter.ask(made) is not None
    assert [line.partition(",")[0] for line in said[:1]] == ["installing desk for Python 3.11.0"]
    assert prepare(requirements) == made
    assert len(said) == 2, "the second time nothing is made"
    left = [path.name for path in made.parents[2].iterdir() if path.name.startswith("venv-")]
    assert len(left) == 1


def test_an_environment_that_could_not_be_made_leaves_nothing_half(tmp_path: Path) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("./no-such-folder\n")
    with pytest.raises(StackStartError, match="installing desk failed") as caught:
        venv.prepare(
            "desk",
            (requirements,),
            python=Path(sys.executable),
            version="3.11.0",
            environment={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
            say=print,
            check=lambda: None,
        )
    assert "no-such-folder" in (caught.value.hint or "")
    assert not list(tmp_path.glob("stackproof/stacks/desk/*/venv*"))


def test_another_python_is_not_told_what_ours_was(tmp_path: Path) -> None:
    told = {"PYTHONHOME": "/x", "VIRTUAL_ENV": "/y", "PATH": "/bin", "PYTHONPATH": "/mine"}
    assert ourselves.variables(told, None) == told
    assert ourselves.variables(told, Path("/other/python")) == {"PATH": "/bin", "PYTHONPATH": "/mine"}


def test_another_python_gets_the_plugin_and_of_what_that_needs_only_what_it_lacks(tmp_path: Path) -> None:
    bare = tmp_path / "bare" / "bin" / "python"
    venv_module.create(tmp_path / "bare", with_pip=False)
    (own := next((tmp_path / "bare" / "lib").glob("python*")) / "site-packages" / "packaging").mkdir()
    (own / "__init__.py").touch()
    (about := own.with_name("packaging-99.0.dist-info")).mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: packaging\nVersion: 99.0\n")
    there = ourselves.beside({"PATH": "/bin", "PYTHONPATH": "/mine"}, bare, tmp_path / "guest")
    first, rest = there["PYTHONPATH"].split(":")
    assert rest == "/mine"
    assert (Path(first) / "stackproof" / "pytest_plugin.py").is_file()
    assert list(Path(first).glob("stackproof-*.dist-info/entry_points.txt"))
    assert {"pytest", "_pytest", "yaml", "pluggy"} <= {path.name for path in Path(first).iterdir()}
    assert "packaging" not in {path.name for path in Path(first).iterdir()}
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: pytest\nVersion: 8.2.1\n")
    about.rename(about.with_name("pytest-8.2.1.dist-info"))
    with pytest.raises(UsageError, match=r"has pytest 8\.2\.1, and Stackproof's plugin needs 8\.3 or newer"):
        ourselves.beside({"PATH": "/bin"}, bare, tmp_path / "guest")


def test_who_is_not_ours_is_asked_only_once_it_runs(tmp_path: Path) -> None:
    with pytest.raises(StackStartError, match="does not say which packages it has"):
        ourselves.beside({"PATH": "/bin"}, tmp_path / "none", tmp_path / "guest")
