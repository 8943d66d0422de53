"""What evidence belongs to, as digests: policy, suite files, recordings. The same files always give the same digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

_IGNORED = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"})
POLICY = Path("ci/release.yaml")
EXPECTED = Path("ci/expected")


def file(path: Path) -> str:
    """SHA-256 of a file's bytes, as hexadecimal digits; OSError when it cannot be read."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def tree(root: Path, paths: Iterable[Path]) -> str:
    """SHA-256 over names (relative to `root`) and contents of every file at or below `paths`; order is irrelevant.

    A path that does not exist adds nothing, so that an absent folder and an empty one are the same.
    """
    found = sorted({each for path in paths for each in _files(path)}, key=lambda each: each.as_posix())
    whole = hashlib.sha256()
    for each in found:
        name = each.relative_to(root).as_posix() if each.is_relative_to(root) else each.name
        whole.update(f"{name}\0{file(each)}\n".encode())
    return whole.hexdigest()


def policy(project: Path) -> str:
    """The release policy with the expected node ids that belong to it."""
    return tree(project, [project / POLICY, project / EXPECTED])


def suite(project: Path, roots: Iterable[str]) -> str:
    """The files of a suite: its roots (node ids stand for their file) and every `conftest.py` above them."""
    paths: list[Path] = []
    for root in roots:
        path = project / root.partition("::")[0]
        paths.append(path)
        paths += [above / "conftest.py" for above in path.parents if above.is_relative_to(project)]
    return tree(project, paths)


def recordings(folder: Path, setup: str) -> str:
    """The recordings of one setup; `folder` is the recording directory that holds all setups."""
    return tree(folder, [folder / setup])


def _files(path: Path) -> Iterable[Path]:
    if path.is_file():
        yield path
    elif path.is_dir():
        for each in path.rglob("*"):
            inner = each.relative_to(path).parts
            if each.is_file() and not _IGNORED.intersection(inner) and each.suffix != ".pyc":
                yield each
