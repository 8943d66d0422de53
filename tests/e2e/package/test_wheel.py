"""What is in the wheel and in the sdist: everything that a user needs, and nothing else."""

from __future__ import annotations

import hashlib
import re
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path

from packaging.metadata import Metadata
from packaging.version import Version
from tests.e2e.package.conftest import ROOT, Built

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAME = f"stackproof-{PROJECT['version']}"
# Caches and run folders may lie in a tree that is worked in; what Git does not know of is no part of it.
# Of docs/, what is of use in a terminal and an editor.
READ = re.compile(r"\.(?:md|json)$")
NEVER = ("__pycache__", "node_modules", ".stackproof", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis")


def tracked(folder: str) -> set[str]:
    """The files of a folder, as Git lists them: those to be added too, and none that it is told to ignore."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard", folder]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {name for name in said.splitlines() if (ROOT / name).is_file()}


def test_the_wheel_has_the_package_the_built_in_stacks_the_pages_and_nothing_else(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        about = {name.partition("/")[2] for name in wheel.namelist() if ".dist-info/" in name}
    package = {name.removeprefix("runner/") for name in tracked("runner/stackproof")}
    stacks = {f"stackproof/_stacks/{name.removeprefix('stacks/')}" for name in tracked("stacks")}
    pages = {f"stackproof/_docs/{name.removeprefix('docs/')}" for name in tracked("docs") if READ.search(name)}
    assert names == package | stacks | pages
    assert "stackproof/_docs/pages.json" in names
    assert not [name for name in names if any(part in NEVER for part in Path(name).parts)]
    assert {"stackproof/py.typed", "stackproof/_stacks/setups.yaml"} <= names
    assert about == {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}


def test_programs_can_be_run_where_git_says_so(built: Built) -> None:
    command = ["git", "-c", "safe.directory=*", "ls-files", "--stage", "stacks", "runner/stackproof"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    wanted = {line.partition("\t")[2].split("/")[-1] for line in said.splitlines() if line.startswith("100755")}
    with zipfile.ZipFile(built.wheel) as wheel:
        found = {item.filename.split("/")[-1] for item in wheel.infolist() if item.external_attr >> 16 & 0o100}
        assert "Tag: py3-none-any" in wheel.read(f"{NAME}.dist-info/WHEEL").decode()
    assert found == wanted


def test_its_metadata_is_valid_and_says_what_pyproject_says(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        said = Metadata.from_email(wheel.read(f"{NAME}.dist-info/METADATA"), validate=True)
        entry = wheel.read(f"{NAME}.dist-info/entry_points.txt").decode()
    assert (said.name, said.version, said.license_expression) == ("stackproof", Version(PROJECT["version"]), "MIT")
    assert (said.license_files, str(said.requires_python)) == (["LICENSE"], ">=3.11")
    assert said.description_content_type == "text/markdown"
    assert said.description == (ROOT / "README.md").read_text()
    plain = [str(each) for each in said.requires_dist or () if "extra ==" not in str(each)]
    assert sorted(plain) == sorted(PROJECT["dependencies"])
    assert "stackproof = stackproof.cli.main:entry" in entry
    assert "[pytest11]\nstackproof = stackproof.pytest_plugin" in entry


def test_the_sdist_gives_the_same_wheel_and_both_are_the_same_each_time(built: Built) -> None:
    digests = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (built.wheel, built.from_sdist)}
    assert len(digests) == 1
    with tarfile.open(built.sdist) as sdist:
        members = sdist.getmembers()
    tops = {Path(item.name).parts[1] for item in members}
    assert {"runner", "stacks", "docs", "README.md", "LICENSE", "pyproject.toml", "PKG-INFO"} <= tops
    assert not tops & {"tests", "recordings", "ci", ".ci", "dist", ".stackproof"}
    assert not [item.name for item in members if any(part in NEVER for part in Path(item.name).parts)]
    # The second one was built later, and from another folder.
    assert {(item.uid, item.gid, item.mtime) for item in members} == {(0, 0, 1767225600)}
