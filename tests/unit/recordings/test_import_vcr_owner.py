"""Whose a cassette is, by where it lies and which tests are beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof.recordings.importing import vcr_owner
from stackproof.recordings.importing.imported import RefusedSource
from stackproof.recordings.importing.vcr_owner import Owner

_SOURCE = """
import base
raise SystemExit("a test file that is imported ends the import")

if True:
    def test_plain(): ...

async def test_async(): ...

class TestOne:
    def test_method(self): ...
    class TestInner:
        def test_deep(self): ...

class TestHeir(base.Tests): ...

class Twice:
    class TestSame:
        def test_a(self): ...

class Other:
    class TestSame:
        def test_a(self): ...
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of two test files below the base folder."""
    folder = tmp_path / "tests/integration"
    folder.mkdir(parents=True)
    (folder / "test_it.py").write_text(_SOURCE)
    (folder / "more_test.py").write_text("def test_more(): ...\ndef test_plain(): ...\n")
    (folder / "test_broken.py").write_text("def test_broken(:")
    return folder


def owner(folder: Path, cassette: str) -> Owner:
    """Whose the cassette at a path below the folder is; the base is two folders up."""
    return vcr_owner.of(folder / cassette, folder.parents[1])


@pytest.mark.parametrize(
    ("cassette", "test", "is_guess"),
    [
        ("cassettes/test_it/test_plain.yaml", "test_it.py::test_plain", False),
        ("cassettes/test_it/test_async.json", "test_it.py::test_async", False),
        ("cassettes/test_it/test_plain[gpt-3.5].yaml", "test_it.py::test_plain[gpt-3.5]", True),
        ("cassettes/test_it/test_plain[a.b::c].yml", "test_it.py::test_plain[a.b::c]", False),
        ("cassettes/test_it/TestOne.test_method.yaml", "test_it.py::TestOne::test_method", False),
        ("cassettes/test_it/TestOne.test_method[1-2].yaml", "test_it.py::TestOne::test_method[1-2]", True),
        ("cassettes/test_it/TestInner.test_deep.yaml", "test_it.py::TestOne::TestInner::test_deep", False),
        ("cassettes/test_it/TestHeir.test_of_the_base.yaml", "test_it.py::TestHeir::test_of_the_base", False),
        ("cassettes/more_test/test_plain.yaml", "more_test.py::test_plain", False),
        ("cassettes/test_more.yaml", "more_test.py::test_more", False),
        ("cassettes/TestOne.test_method.yaml", "test_it.py::TestOne::test_method", False),
    ],
)
def test_a_cassette_beside_its_test_names_it(folder: Path, cassette: str, test: str, is_guess: bool) -> None:
    assert owner(folder, cassette) == Owner(test_id=f"tests/integration/{test}", is_guess=is_guess)


@pytest.mark.parametrize(
    ("cassette", "why"),
    [
        ("cassettes/test_it/test_gone.yaml", "no test beside its folder has its name"),
        ("cassettes/test_it/TestOne.test_gone.yaml", "no test beside its folder has its name"),
        ("cassettes/test_it/TestGone.test_method.yaml", "no test beside its folder has its name"),
        ("cassettes/test_it/test_deep.yaml", "no test beside its folder has its name"),
        ("cassettes/test_gone/test_plain.yaml", "no test beside its folder has its name"),
        ("cassettes/test_broken/test_broken.yaml", "no test beside its folder has its name"),
        ("tapes/test_it/test_plain.yaml", "no test beside its folder has its name"),
        ("test_plain.yaml", "no test beside its folder has its name"),
        ("cassettes/test_plain.yaml", "several tests beside its folder have its name"),
        ("cassettes/test_it/TestSame.test_a.yaml", "several tests beside its folder have its name"),
        (f"cassettes/test_it/test_plain[{'x' * 9}...{'0a' * 16}.yaml", "its name was cut by pytest-recording"),
    ],
)
def test_where_nobody_can_tell_the_reason_is_given(folder: Path, cassette: str, why: str) -> None:
    with pytest.raises(RefusedSource) as caught:
        owner(folder, cassette)
    assert str(caught.value) == f"nobody can tell whose it is: {why}; --test NODEID says it"


def test_tests_outside_of_the_base_are_none(folder: Path) -> None:
    with pytest.raises(RefusedSource, match="no test beside its folder"):
        vcr_owner.of(folder / "cassettes/test_it/test_plain.yaml", folder / "cassettes")
