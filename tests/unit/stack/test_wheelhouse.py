"""Wheels for the Python of an image are chosen by what that Python is, not by the one that fetches them."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from stackproof.stack import wheelhouse
from stackproof.stack.wheelhouse import Target

HERE = {"python_full_version": "3.11.7", "python_version": "3.11", "sys_platform": "linux"}


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """`app`, and what it needs in this Python or in that one."""
    folder = tmp_path / "index"
    folder.mkdir()
    needs = ["older; python_full_version < '3.11.3'", "linux-only; sys_platform == 'linux'"]
    needs += ["darwin-only; sys_platform == 'darwin'", "extra-only; extra == 'more'"]
    for name in ("app", "older", "linux_only", "darwin_only", "extra_only"):
        lines = [f"Requires-Dist: {need}" for need in needs] + ["Provides-Extra: more"] if name == "app" else []
        _wheel(folder, name, lines)
    return folder


def _wheel(folder: Path, name: str, lines: list[str]) -> None:
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(
            f"{info}/METADATA", "\n".join(["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0", *lines])
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def fetched(index: Path, asked: str, **markers: str) -> set[str]:
    found = wheelhouse.prepare(
        asked.encode(),
        Target(version="3.11", platforms=("manylinux_2_36_x86_64",), markers={**HERE, **markers}),
        environment={
            **os.environ,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(index),
            "XDG_CACHE_HOME": str(index.parent / "cache"),
        },
        say=lambda _: None,
        check=lambda: None,
    )
    return {path.name.partition("-")[0] for path in found.iterdir()}


@pytest.mark.parametrize(
    ("markers", "more"),
    [
        ({}, {"linux_only"}),
        ({"python_full_version": "3.11.2"}, {"linux_only", "older"}),
        ({"sys_platform": "darwin"}, {"darwin_only"}),
    ],
)
def test_markers_are_those_of_the_image(index: Path, markers: dict[str, str], more: set[str]) -> None:
    assert fetched(index, "app", **markers) == {"app", *more}


def test_an_extra_is_still_one(index: Path) -> None:
    assert fetched(index, "app[more]") == {"app", "linux_only", "extra_only"}


def test_two_pythons_of_one_minor_version_have_wheels_of_their_own(index: Path) -> None:
    assert fetched(index, "app", python_full_version="3.11.2") != fetched(index, "app", python_full_version="3.11.9")
