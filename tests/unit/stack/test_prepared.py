"""A folder is prepared once for its lock files, and runs in a copy beside what was made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from stackproof.catalog.preparing import PrepareSpec
from stackproof.catalog.records import StackMode, StackSpec
from stackproof.errors import StackStartError
from stackproof.stack import prepared

MAKE = ("sh", "-c", "cat lock >> made; echo ran >> $COUNTED")


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    folder = tmp_path / "stack"
    (folder / "node_modules").mkdir(parents=True)
    (folder / "node_modules" / "old.js").touch()
    (folder / "lock").write_text("one\n")
    (folder / "server.js").write_text("first")
    return folder


@pytest.fixture(name="environment")
def _environment(tmp_path: Path) -> Mapping[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "COUNTED": str(tmp_path / "counted"),
    }


def counted(environment: Mapping[str, str]) -> int:
    return Path(environment["COUNTED"]).read_text().count("ran")


def spec(command: tuple[str, ...] = MAKE, **needs: tuple[int, ...]) -> PrepareSpec:
    return PrepareSpec(command=command, files=("lock",), needs=needs)


def test_the_command_runs_once_for_its_files(folder: Path, environment: Mapping[str, str]) -> None:
    said: list[str] = []
    first = prepared.make("shop", spec(), folder, environment=environment, say=said.append)
    (folder / "server.js").write_text("second")  # none of its files
    again = prepared.make("shop", spec(), folder, environment=environment, say=said.append)
    assert again == first
    assert (first / "made").read_text() == "one\n"
    assert len(said) == counted(environment) == 1
    assert [path.name for path in prepared.results(first)] == ["lock", "made"]


def test_other_files_are_another_folder(folder: Path, environment: Mapping[str, str]) -> None:
    first = prepared.make("shop", spec(), folder, environment=environment)
    (folder / "lock").write_text("two\n")
    second = prepared.make("shop", spec(), folder, environment=environment)
    assert first != second
    assert (first / "made").read_text() == "one\n"
    assert (second / "made").read_text() == "two\n"


def test_what_failed_is_done_again_from_the_start(folder: Path, environment: Mapping[str, str]) -> None:
    fails = ("sh", "-c", "echo half > made; echo no network >&2; test -e $COUNTED")
    with pytest.raises(StackStartError, match="`sh -c` for shop exited with code 1") as caught:
        prepared.make("shop", spec(fails), folder, environment=environment)
    assert "no network" in (caught.value.hint or "")
    Path(environment["COUNTED"]).touch()
    assert (prepared.make("shop", spec(fails), folder, environment=environment) / "made").read_text() == "half\n"


def test_a_program_that_is_missing_is_named(folder: Path, environment: Mapping[str, str]) -> None:
    with pytest.raises(StackStartError, match=r"shop needs nodejs 20 or newer, and there is no program 'nodejs'"):
        prepared.make("shop", spec(nodejs=(20,)), folder, environment={**environment, "PATH": "/nowhere"})


@pytest.mark.parametrize(
    ("says", "fits"), [("v20.1.0", True), ("go version go21.0 linux", True), ("v18.20.4", False), ("nothing", False)]
)
def test_a_program_that_is_too_old_is_named_with_its_version(
    folder: Path, environment: Mapping[str, str], tmp_path: Path, says: str, fits: bool
) -> None:
    program = tmp_path / "bin" / "tool"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho {says}\n")
    program.chmod(0o755)
    path = f"{program.parent}:{environment['PATH']}"
    if fits:
        assert prepared.make("shop", spec(tool=(20,)), folder, environment={**environment, "PATH": path}).is_dir()
        return
    with pytest.raises(StackStartError, match=r"shop needs tool 20 or newer, and .*/tool is"):
        prepared.make("shop", spec(tool=(20,)), folder, environment={**environment, "PATH": path})


def test_a_copy_is_the_folder_as_it_is_now_without_packages(folder: Path, environment: Mapping[str, str]) -> None:
    home = prepared.make("shop", spec(), folder, environment=environment)
    first = prepared.placed(home, folder)
    assert first.is_relative_to(home)
    assert sorted(path.name for path in first.iterdir()) == ["lock", "server.js"]
    assert prepared.placed(home, folder) == first
    (folder / "server.js").write_text("second")
    second = prepared.placed(home, folder)
    assert (first / "server.js").read_text() == "first"
    assert (second / "server.js").read_text() == "second"


def test_only_the_newest_copies_stay(folder: Path, environment: Mapping[str, str]) -> None:
    home = prepared.make("shop", spec(), folder, environment=environment)
    copies = []
    for number in range(24):
        (folder / "server.js").write_text(str(number))
        copies.append(prepared.placed(home, folder))
        os.utime(copies[-1], (number + 1, number + 1))
    assert len(list(copies[-1].parent.iterdir())) == 20
    assert copies[-1].is_dir()
    assert not copies[0].exists()


def test_a_server_runs_in_the_copy(folder: Path, environment: Mapping[str, str]) -> None:
    (folder / "lib").mkdir()
    (folder / "lib" / "x.py").touch()
    made = prepared.stack(
        StackSpec(
            name="shop",
            description="d",
            folder=folder,
            modes=(StackMode.SERVER,),
            command=("{prepared}/made", "{port}"),
            python_path=(folder / "lib",),
            prepare=spec(),
            source=folder / "stack.yaml",
        ),
        environment=environment,
    )
    assert made.folder != folder
    assert (made.folder / "server.js").read_text() == "first"
    assert Path(made.command[0]).read_text() == "one\n"
    assert made.command[1] == "{port}"
    assert made.python_path == (made.folder / "lib",)
