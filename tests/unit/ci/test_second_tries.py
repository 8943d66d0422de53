"""A test that failed and then passed is told of; a few of them are let through, many are not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[2] / "conftest.py"
FLAKY = """
def test_passes_on_its_second_try_{number}(request):
    met = request.config.rootpath / "met-{number}"
    first = not met.exists()
    met.touch()
    assert not first, "the first try of {number}"
"""
BROKEN = """
def test_never_passes():
    assert False
"""
GOOD = """
def test_passes():
    pass
"""


def _run(folder: Path, *tests: str, options: tuple[str, ...] = ()) -> tuple[int, str]:
    shutil.copy(CONFTEST, folder)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text("".join(tests))
    command = [sys.executable, "-m", "pytest", "-q", "--reruns", "1", *options]
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    return said.returncode, said.stdout


def _flaky(many: int) -> list[str]:
    return [FLAKY.format(number=number) for number in range(many)]


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "workers"])
def test_a_few_are_let_through_and_told_of(tmp_path: Path, options: tuple[str, ...]) -> None:
    code, printed = _run(tmp_path, GOOD, *_flaky(3), options=options)
    assert code == 0
    assert [f"the first try of {number}" in printed for number in range(3)] == [True] * 3
    assert "failed once, and ran again: test_it.py::test_passes_on_its_second_try_1" in printed
    assert printed.splitlines()[-1].startswith("4 passed, 3 rerun in ")


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "workers"])
def test_many_fail_the_run(tmp_path: Path, options: tuple[str, ...]) -> None:
    code, printed = _run(tmp_path, GOOD, *_flaky(4), options=options)
    assert code == 1
    assert "4 tests ran again, and at most 3 may" in printed
    assert printed.splitlines()[-1].startswith("5 passed, 4 rerun in ")


def test_what_fails_twice_has_failed(tmp_path: Path) -> None:
    code, printed = _run(tmp_path, GOOD, BROKEN)
    assert code == 1
    assert printed.splitlines()[-1].startswith("1 failed, 1 passed, ")
