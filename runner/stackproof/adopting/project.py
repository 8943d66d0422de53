"""What the files of a Python project say about it: its name, its Python, what installs it, what it asks for."""

from __future__ import annotations

import configparser
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackproof.adopting.found import Manager

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(\[[^\]]*\])?")
_FILES = ("requirements*.txt", "requirements/*.txt")


@dataclass(frozen=True, kw_only=True, slots=True)
class PythonProject:
    """As the fields of `found.Found` of these names. broken: files that could not be read, with the reason."""

    name: str | None = None
    description: str | None = None
    manager: Manager = Manager.PIP
    installable: bool = False
    python: str | None = None
    packages: frozenset[str] = frozenset()
    requirements: tuple[str, ...] = ()
    extras: Mapping[str, str] = field(default_factory=dict)
    pytest: str | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    broken: tuple[str, ...] = ()


def read(root: Path) -> PythonProject:
    """Of the files at `root`: pyproject.toml, setup.cfg, setup.py, requirements, lock files, pytest's configuration."""
    table, broken = _pyproject(root)
    tool = _table(table, "tool")
    project, poetry = _table(table, "project"), _table(tool, "poetry")
    requirements = _requirements(root)
    asked = [*_strings(project.get("dependencies")), *_in_files(root, requirements)]
    asked += [word for group in _groups(table).values() for word in group] + _setup_cfg(root)
    packages = {name for text in asked for name in _names(text)} | _of_poetry(poetry)
    pytest, options = _pytest(root, tool)
    return PythonProject(
        name=_text(project.get("name")) or _text(poetry.get("name")),
        description=_text(project.get("description")) or _text(poetry.get("description")),
        manager=_manager(root, tool, table),
        installable="build-system" in table or "name" in project or (root / "setup.py").is_file(),
        python=_text(project.get("requires-python"))
        or _text(_table(poetry, "dependencies").get("python"))
        or _pinned(root),
        packages=frozenset(packages),
        requirements=requirements,
        extras=_extras(table, poetry),
        pytest=pytest,
        options=options,
        broken=broken,
    )


def canonical(name: str) -> str:
    """A distribution's name as PEP 503 writes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _pyproject(root: Path) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    path = root / "pyproject.toml"
    if not path.is_file():
        return {}, ()
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig")), ()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        return {}, (f"pyproject.toml is no TOML in UTF-8: {error}",)
    except OSError as error:
        return {}, (f"pyproject.toml cannot be read: {error.strerror}",)


def _manager(root: Path, tool: Mapping[str, Any], table: Mapping[str, Any]) -> Manager:
    backend = str(_table(table, "build-system").get("build-backend", ""))
    if (root / "uv.lock").is_file() or "uv" in tool:
        return Manager.UV
    if (root / "poetry.lock").is_file() or "poetry" in tool or backend.startswith("poetry"):
        return Manager.POETRY
    if (root / "pdm.lock").is_file() or "pdm" in tool or backend.startswith("pdm"):
        return Manager.PDM
    return Manager.PIP


def _requirements(root: Path) -> tuple[str, ...]:
    found = [path.relative_to(root).as_posix() for pattern in _FILES for path in sorted(root.glob(pattern))]
    return tuple(name for name in found if (root / name).is_file())


def _in_files(root: Path, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        for line in _lines(root / name):
            text = line.split("#")[0].strip()
            if text and not text.startswith("-"):
                yield text


def _groups(table: Mapping[str, Any]) -> dict[str, list[str]]:
    optional = _table(_table(table, "project"), "optional-dependencies")
    return {
        name: _strings(words) for part in (optional, _table(table, "dependency-groups")) for name, words in part.items()
    }


def _extras(table: Mapping[str, Any], poetry: Mapping[str, Any]) -> dict[str, str]:
    optional = dict.fromkeys(_table(_table(table, "project"), "optional-dependencies"), "extra")
    groups = [*_table(table, "dependency-groups"), *_table(poetry, "group")]
    return {**optional, **dict.fromkeys(groups, "group")}


def _of_poetry(poetry: Mapping[str, Any]) -> set[str]:
    tables = [_table(poetry, "dependencies"), _table(poetry, "dev-dependencies")]
    tables += [_table(group, "dependencies") for group in _table(poetry, "group").values() if isinstance(group, dict)]
    found = {canonical(name) for each in tables for name in each if name != "python"}
    for each in tables:
        for name, wanted in each.items():
            if isinstance(wanted, dict):
                found |= {f"{canonical(name)}[{extra}]" for extra in _strings(wanted.get("extras"))}
    return found


def _names(text: str) -> Iterator[str]:
    """`fastapi[standard]>=0.1` is fastapi and fastapi[standard]."""
    found = _REQUIREMENT.match(text)
    if found is None:
        return
    name = canonical(found[1])
    yield name
    for extra in (found[2] or "").strip("[]").split(","):
        if extra.strip():
            yield f"{name}[{extra.strip()}]"


def _setup_cfg(root: Path) -> list[str]:
    parser = _ini(root / "setup.cfg")
    text = parser.get("options", "install_requires", fallback="") if parser is not None else ""
    return [line.strip() for line in text.splitlines() if line.strip()]


def _pytest(root: Path, tool: Mapping[str, Any]) -> tuple[str | None, Mapping[str, object]]:
    """Where pytest's configuration is, as pytest looks for it, and what it says."""
    for name, section in (
        ("pytest.ini", "pytest"),
        (".pytest.ini", "pytest"),
        ("pyproject.toml", ""),
        ("tox.ini", "pytest"),
        ("setup.cfg", "tool:pytest"),
    ):
        if name == "pyproject.toml":
            found = _table(tool, "pytest")
            if found:
                return name, _table(found, "ini_options") or found
            continue
        parser = _ini(root / name)
        if parser is not None and (parser.has_section(section) or name.endswith("pytest.ini")):
            return name, dict(parser[section]) if parser.has_section(section) else {}
    return None, {}


def _ini(path: Path) -> configparser.ConfigParser | None:
    if not path.is_file():
        return None
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string("\n".join(_lines(path)))
    except configparser.Error:
        return None
    return parser


def _pinned(root: Path) -> str | None:
    for name in (".python-version", "runtime.txt"):
        for line in _lines(root / name):
            found = re.search(r"3\.\d+", line)
            if found:
                return found[0]
    return None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except OSError:
        return []


def _table(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _text(value: object) -> str | None:
    return value.strip() if isinstance(value, str) and value.strip() else None
