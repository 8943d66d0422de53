"""A repository with recordings, and patches that are offered to it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.recordings.conftest import SUITES, Book, Said

from stackproof.cli.main import main

ONE = "tests/integration/base/test_a.py::test_one"


TWO = "tests/integration/base/test_a.py::test_two"


PATCH = "recordings.patch"


Change = Callable[[str], str]


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, timeout=120)
    return done.stdout.decode()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two committed recordings, and beside them the patch of a third, which is not there."""
    root = tmp_path_factory.mktemp("template")
    (root / "tests").mkdir()
    (root / "tests/suites.yaml").write_text(SUITES)
    (root / ".gitignore").write_text(f".stackproof/\n{PATCH}\n")
    book = Book(root=root, say=lambda: Said(code=0, out="", err=""))
    book.record(ONE, {"model": "m", "ask": 1}, {"model": "m", "ask": 2})
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    book.record(TWO, {"model": "m", "ask": 3}, run="cccccc")
    assert main(["recordings", "patch", "--output", PATCH], environ={}, project=root) == 0
    git(root, "clean", "-q", "-d", "-f", "recordings")
    return root


@pytest.fixture
def repository(book: Book, template: Path) -> Book:
    """A copy of it."""
    shutil.copytree(template, book.root, symlinks=True, dirs_exist_ok=True)
    return book


def made(book: Book) -> str:
    """The patch of a recording that comes beside the others."""
    return (book.root / PATCH).read_text()


def name_in(patch: str) -> str:
    """The first file of a patch."""
    return next(line for line in patch.splitlines() if line.startswith("+++ b/")).removeprefix("+++ b/")


def offered(book: Book, patch: str | bytes, *arguments: str, **environ: str) -> Said:
    (book.root / PATCH).write_bytes(patch if isinstance(patch, bytes) else patch.encode("utf-8", "surrogateescape"))
    return book.say("apply", PATCH, *arguments, **environ)


def everything(folder: Path) -> dict[str, Any]:
    """Every file of a project and what git knows of it, without the patch itself."""
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.parts and path.name != PATCH
    }
    told = git(folder, "status", "--porcelain", "--untracked-files=all"), git(folder, "ls-files", "-s")
    inside = sorted(path.as_posix() for path in (folder / ".git").rglob("*") if path.is_file())
    return {"files": files, "git": told, "inside": [name for name in inside if not name.endswith("/index")]}


def refused(book: Book, patch: str | bytes, said: str, *arguments: str) -> None:
    """The patch is refused in one sentence that says it, and nothing changes, neither here nor around."""
    before, around = everything(book.root), sorted(book.root.parent.iterdir())
    told = offered(book, patch, *arguments)
    assert told.code == 6, told
    assert said in told.err, told.err
    assert told.err.startswith("✗ the patch is refused: ")
    assert "nothing was changed" in told.err
    assert "Traceback" not in told.err
    assert everything(book.root) == before
    assert sorted(book.root.parent.iterdir()) == around


def renamed(to: str) -> Change:
    """The file of a patch under another name, as git quotes it."""
    quoted = "".join(chr(byte) if 32 < byte < 127 and byte not in b'"\\' else f"\\{byte:03o}" for byte in to.encode())

    def change(patch: str) -> str:
        name = name_in(patch)
        patch = patch.replace(f"a/{name} b/{name}", f'"a/{quoted}" "b/{quoted}"')
        return patch.replace(f"+++ b/{name}", f'+++ "b/{quoted}"')

    return change
