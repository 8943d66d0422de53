"""What a suite of another runner cannot be asked for is refused before anything starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stackproof.catalog.records import StackMode, SuiteSpec
from stackproof.catalog.runners import RunnerSpec
from stackproof.errors import UsageError
from stackproof.options import RunOptions, resolve
from stackproof.plan_runner import check

SUITE = SuiteSpec(
    name="ts",
    description="d",
    roots=("tests/ts",),
    default_setup="ollama",
    runner=RunnerSpec(
        name="vitest",
        folder=Path("/p/tests/ts"),
        shown="tests/ts",
        command=("vitest", "{junit}"),
        options={"pattern": ("-t", "{value}")},
    ),
    source=Path("/p/tests/suites.yaml"),
)


def options(tmp_path: Path, **given: object) -> RunOptions:
    return resolve(given, {}, tmp_path)


@pytest.mark.parametrize("mode", [StackMode.LIBRARY, StackMode.DOCKER_LIBRARY])
def test_a_stack_in_the_tests_process_is_refused(tmp_path: Path, mode: StackMode) -> None:
    with pytest.raises(UsageError, match=f"vitest, which cannot call a stack in its own process \\({mode}:shop\\)"):
        check(SUITE, mode, "shop", options(tmp_path))


@pytest.mark.parametrize("mode", [StackMode.SERVER, StackMode.DOCKER, StackMode.REMOTE])
def test_a_stack_that_is_called_over_http_is_fine(tmp_path: Path, mode: StackMode) -> None:
    check(SUITE, mode, "shop", options(tmp_path, pattern="x"))


def test_tests_cannot_be_listed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="only pytest can list its tests"):
        check(SUITE, StackMode.SERVER, "shop", options(tmp_path, collect_only=True))


def test_an_option_that_the_runner_is_not_told_of_is_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^--timeout: suite 'ts' does not say how vitest is told") as caught:
        check(SUITE, StackMode.SERVER, "shop", options(tmp_path, test_timeout=3.0))
    assert "'test_timeout'" in (caught.value.hint or "")


def test_a_suite_of_pytest_takes_everything(tmp_path: Path) -> None:
    suite = replace(SUITE, runner=None)
    check(suite, StackMode.LIBRARY, "shop", options(tmp_path, test_timeout=3.0, collect_only=True))
