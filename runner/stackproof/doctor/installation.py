"""Where this Stackproof is installed, by what, and in which kind of environment; for the doctor and for `--version`.

direct_url.json: https://packaging.python.org/en/latest/specifications/direct-url/; EXTERNALLY-MANAGED: PEP 668.
"""

from __future__ import annotations

import json
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from stackproof.doctor.distributions import Distribution

NAME = "stackproof"


class Kind(StrEnum):
    """How it came here."""

    EDITABLE = "editable"
    WHEEL = "wheel"
    GIT = "from version control"
    SOURCE = "source tree"


class Environment(StrEnum):
    """What kind of environment a Python is in."""

    VENV = "virtual environment"
    PIPX = "environment of pipx"
    PIPX_RUN = "environment of pipx run, which is removed some day"
    UV_TOOL = "environment of uv tool"
    UVX = "environment of uvx, which is removed some day"
    CONDA = "conda environment"
    SYSTEM = "system's own environment"

    @property
    def of_a_tool(self) -> bool:
        """Whether a project's own packages are never installed there."""
        return self in (Environment.PIPX, Environment.PIPX_RUN, Environment.UV_TOOL, Environment.UVX)


@dataclass(frozen=True, kw_only=True, slots=True)
class Installation:
    """package: the folder that is imported. installer: `pip`, `uv`, empty where nobody says. prefix: of the Python."""

    package: Path
    kind: Kind
    installer: str
    environment: Environment
    prefix: Path


def find(package: Path, distributions: Iterable[Distribution], environ: Mapping[str, str]) -> Installation:
    """The installation that `package`, the folder of the running code, belongs to."""
    own = [item for item in distributions if item.name == NAME]
    # Metadata beside the package is its own; an editable install has it elsewhere.
    beside = next((item for item in own if item.folder.parent == package.parent), None)
    metadata = beside or next((item for item in own if _is_editable(item.folder)), None)
    return Installation(
        package=package,
        kind=Kind.SOURCE if metadata is None else _kind(metadata.folder),
        installer="" if metadata is None else _text(metadata.folder / "INSTALLER").strip(),
        environment=environment_of(Path(sys.prefix), Path(sys.base_prefix), environ),
        prefix=Path(sys.prefix),
    )


def environment_of(prefix: Path, base: Path, environ: Mapping[str, str]) -> Environment:
    """The kind of a Python's environment, by its place."""
    words = prefix.parts
    if "pipx" in words or environ.get("PIPX_HOME", "\0") in str(prefix):
        return Environment.PIPX if "venvs" in words else Environment.PIPX_RUN
    if "uv" in words:
        if "tools" in words:
            return Environment.UV_TOOL
        if {"archive-v0", "environments-v2", "builds-v0"} & {*words} or "cache" in words or ".cache" in words:
            return Environment.UVX
    if prefix != base:
        return Environment.VENV
    return Environment.CONDA if (prefix / "conda-meta").is_dir() else Environment.SYSTEM


def is_externally_managed() -> bool:
    """Whether the system looks after this Python's packages itself, so that pip refuses to."""
    return sys.prefix == sys.base_prefix and Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED").is_file()


def _kind(metadata: Path) -> Kind:
    if _is_editable(metadata):
        return Kind.EDITABLE
    return Kind.GIT if "vcs_info" in _direct_url(metadata) else Kind.WHEEL


def _is_editable(metadata: Path) -> bool:
    folder = _direct_url(metadata).get("dir_info")
    return isinstance(folder, dict) and folder.get("editable") is True


def _direct_url(metadata: Path) -> dict[str, object]:
    try:
        found = json.loads(_text(metadata / "direct_url.json") or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
