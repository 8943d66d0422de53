"""What of a project goes into a container that does not see it: as it lies there, without what is made anew."""

from __future__ import annotations

import os
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from stackproof.stack import luggage, project


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project in which somebody works."""
    root = tmp_path / "project"
    for name in (
        "pyproject.toml", "tests/integration/base/test_it.py", "tests/data/picture.png", ".config/settings",
        ".git/HEAD", ".stackproof/runs/1/run.json", "tests/__pycache__/x.pyc", "node_modules/x/index.js",
        ".venv/pyvenv.cfg", ".venv/bin/python", ".cache/CACHEDIR.TAG", ".cache/x", "recordings/local/a.json",
    ):  # fmt: skip
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return root


def found(root: Path) -> set[str]:
    folder = project.files(root, without=root / "recordings")
    assert folder.as_mounted
    return {str(path.relative_to(root)) for path in folder.files}


def test_everything_goes_in_but_what_is_kept_elsewhere_or_made_anew(root: Path) -> None:
    assert found(root) == {
        "pyproject.toml",
        "tests/integration/base/test_it.py",
        "tests/data/picture.png",
        ".config/settings",
    }


def test_links_stay_links_and_what_is_no_file_stays_here(root: Path) -> None:
    (root / "data").symlink_to("tests/data")
    (root / "nowhere").symlink_to("/nowhere/at/all")
    os.mkfifo(root / "pipe")
    assert found(root) >= {"data", "nowhere"}
    assert "pipe" not in found(root)
    assert not any(name.startswith("data/") for name in found(root))
    with (
        luggage.packed([project.files(root, without=root / "recordings")], owner=(1234, 56)) as archive,
        tarfile.open(fileobj=archive) as opened,
    ):
        entries = {Path("/", entry.name): entry for entry in opened}
    assert entries[root / "data"].issym()
    assert entries[root / "data"].linkname == "tests/data"
    assert entries[root / "nowhere"].linkname == "/nowhere/at/all"
    # To be read: whoever runs in there owns none of it.
    assert {(entry.uid, entry.gid) for entry in entries.values()} == {(0, 0)}


def test_programs_stay_programs_and_a_folder_may_have_another_path_inside(root: Path) -> None:
    (root / "program").touch(0o755)
    folder = replace(project.files(root, without=root / "recordings"), inside=Path("/there"))
    with luggage.packed([folder], owner=(0, 0)) as archive, tarfile.open(fileobj=archive) as opened:
        modes = {entry.name: entry.mode for entry in opened if entry.isfile()}
    assert modes["there/program"] == 0o755
    assert modes["there/tests/data/picture.png"] == 0o644
