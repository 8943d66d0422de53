"""Walks over recordings on disk, one at a time: there may be a hundred thousand of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from stackproof.errors import UsageError
from stackproof.evidence.recordings import open_one
from stackproof.recorder.recording import Recording
from stackproof.suggest import unknown


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One file: `name` is its path below the recording directory, with slashes, and begins with its setup.

    `content` is None where the file is no recording; then `damage` says why, without the path.
    """

    path: Path
    name: str
    setup: str
    content: Recording | None
    damage: str | None = None

    @property
    def scope(self) -> str:
        """Whose recording it is; empty where that is not known."""
        return self._text(self.content, "scope")

    @property
    def test_id(self) -> str:
        """The test that was running when the call was made; empty where there was none."""
        return self._text(self.content, "test_id")

    @property
    def provider(self) -> str:
        """Who was called."""
        return self._text(self._request, "provider")

    @property
    def method(self) -> str:
        """The HTTP method."""
        return self._text(self._request, "method")

    @property
    def endpoint(self) -> str:
        """The path below the provider's URL."""
        return self._text(self._request, "endpoint") or self._text(self._request, "path")

    @property
    def model(self) -> str:
        """The model that the request names; empty where it names none."""
        return self._text(self._request, "model")

    @property
    def _request(self) -> Recording | None:
        return None if self.content is None else self.content["request"]

    @staticmethod
    def _text(owner: Recording | None, key: str) -> str:
        value = owner.get(key) if owner is not None else None
        return value if isinstance(value, str) else ""


def setups(root: Path, wanted: Iterable[str] = ()) -> tuple[str, ...]:
    """Names of the setups that have recordings below `root`, or the wanted ones.

    UsageError when `root` is no folder, or when a wanted setup has no folder there.
    """
    if not root.is_dir():
        raise UsageError(
            f"there is no folder of recordings at {root}", hint="--recording-dir names another; a run with "
            "--inference-mode record makes one",
        )  # fmt: skip
    found = sorted(item.name for item in os.scandir(root) if item.is_dir() and not item.name.startswith("."))
    chosen = tuple(dict.fromkeys(wanted))
    for name in chosen:
        if name not in found:
            raise unknown("recorded setup", name, found, where="--setup")
    return chosen or tuple(found)


def paths(root: Path, wanted: Iterable[str] = ()) -> Iterator[Path]:
    """Every `.json` file of the wanted setups (default: of all), folder by folder, each in the order of names."""
    for setup in setups(root, wanted):
        for folder, below, names in os.walk(root / setup):
            below.sort()
            yield from (Path(folder, name) for name in sorted(names) if name.endswith(".json") and name[0] != ".")


def count(root: Path, wanted: Iterable[str] = ()) -> int:
    """How many files `paths` gives, without reading one."""
    return sum(
        name.endswith(".json") and name[0] != "."
        for setup in setups(root, wanted)
        for _, _, names in os.walk(root / setup)
        for name in names
    )


def read(path: Path, root: Path) -> Entry:
    """The file at `path`, which lies below `root`; damage is a finding here, not an error."""
    name = path.relative_to(root).as_posix()
    setup = name.partition("/")[0]
    content, damage = open_one(path)
    if content is None and damage is None:
        damage = "was removed while it was looked at"
    return Entry(path=path, name=name, setup=setup, content=content, damage=damage)
