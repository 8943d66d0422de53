"""What is installed, read from the names of metadata folders alone: no file of any package is opened for it.

`name-1.2.dist-info` (https://packaging.python.org/en/latest/specifications/recording-installed-packages/), and
`name-1.2-py3.egg-info` of older tools.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from stackproof.recorder.patching import version_of

_FOLDER = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)(?:-[^/]*)?\.(?:dist-info|egg-info)", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Distribution:
    """name: normalised, `google-genai`. folder: of its metadata, beside the package in most cases."""

    name: str
    version: str
    folder: Path

    @property
    def numbers(self) -> tuple[int, ...]:
        """The leading numbers of the version."""
        return version_of(self.version)


def installed(path: Iterable[str]) -> tuple[Distribution, ...]:
    """What each folder of the import path has, in its order; a folder that cannot be read has nothing."""
    found: list[Distribution] = []
    for place in dict.fromkeys(os.path.realpath(item or ".") for item in path):
        try:
            names = sorted(entry.name for entry in os.scandir(place))
        except OSError:
            continue
        found += [item for name in names if (item := _read(Path(place, name))) is not None]
    return tuple(found)


def normalised(name: str) -> str:
    """A distribution's name as it is compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _read(folder: Path) -> Distribution | None:
    match = _FOLDER.fullmatch(folder.name)
    # An uninstallation that was broken off leaves `~ame-1.2.dist-info`.
    if match is None or folder.name.startswith("~"):
        return None
    return Distribution(name=normalised(match["name"]), version=match["version"], folder=folder)
