"""When a test counts as gone: only where pytest has read its file, or the file is not there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stackproof.recordings.collection import Collected
from stackproof.recordings.existing import Existing

FILE = "tests/integration/base/test_chat.py"
ONE, TWO, THERE = (f"{FILE}::{name}" for name in ("test_one", "test_two[a]", "test_there"))
ROOTS = {"base": ("tests/integration/base",), "part": (f"{FILE}::test_there",)}


def collected(*tests: str, roots: tuple[str, ...] = ROOTS["base"], skipped: tuple[str, ...] = ()) -> Collected:
    """What pytest found, having read the file."""
    return Collected(
        roots=roots,
        tests=frozenset(tests),
        bases=frozenset(test.partition("[")[0] for test in tests),
        modules=frozenset({FILE}),
        skipped=frozenset(skipped),
    )


Make = Callable[..., Existing]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Existing tests of a project whose one file is there; `own` is what a setup's own collection finds."""
    (tmp_path / FILE).parent.mkdir(parents=True)
    (tmp_path / FILE).write_text("")

    def make(first: Collected | None, own: Collected | None = None) -> Existing:
        def collect(setup: str) -> Collected:
            assert own is not None, f"nobody should have to ask for {setup}"
            return own

        return Existing(project=tmp_path, suites=ROOTS, collect=collect, first=first)

    return make


def test_what_is_collected_is_there_and_nobody_asks_twice(make: Make) -> None:
    assert make(collected(ONE, THERE)).gone("ollama", ONE) is None


def test_what_neither_collection_finds_is_gone(make: Make) -> None:
    assert make(collected(THERE), collected(THERE)).gone("ollama", ONE) == "its test is gone"
    other = f"{FILE}::test_two[b]"
    assert make(collected(other), collected(other)).gone("ollama", TWO) == "its test has other parameters now"


def test_a_parameter_that_only_this_setup_has_is_there(make: Make) -> None:
    assert make(collected(THERE), collected(THERE, TWO)).gone("vllm", TWO) is None


def test_a_file_that_skipped_itself_or_was_not_read_keeps_its_tests(make: Make) -> None:
    assert make(collected(THERE, skipped=(FILE,))).gone("ollama", ONE) is None
    assert make(Collected(roots=ROOTS["base"], tests=frozenset({THERE}))).gone("ollama", ONE) is None


def test_what_lies_below_no_collected_root_keeps_its_recordings(make: Make) -> None:
    assert make(collected(THERE, roots=ROOTS["part"])).gone("ollama", ONE) is None


@pytest.mark.parametrize("scope", ["tests/gone.py::test_x", "fixture:tests/gone.py::f", "fixture:tests/gone::f[1]"])
def test_a_file_that_is_not_there_takes_its_tests_and_fixtures_along(make: Make, scope: str) -> None:
    assert str(make(None).gone("ollama", scope)).endswith(" is gone")


@pytest.mark.parametrize("scope", ["stack", "fixture:::session_wide", f"fixture:{FILE}::f", ONE])
def test_without_a_collection_nothing_else_is_gone(make: Make, scope: str) -> None:
    assert make(None).gone("ollama", scope) is None
