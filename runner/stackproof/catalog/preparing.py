"""What is made of a folder before anything in it can run: packages that are fetched, a program that is built."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stackproof.catalog import templates
from stackproof.catalog.yaml_source import Section

_VERSION = re.compile(r"\d+(?:\.\d+)*")
_ENGINE = re.compile(r">=\s*(\d+(?:\.\d+)*)")
# What npm asks the network for beside packages, and programs that packages would run here, are left out.
_NPM = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-progress")
_NPM_FILES = ("package.json", "package-lock.json")


@dataclass(frozen=True, kw_only=True, slots=True)
class PrepareSpec:
    """What is run before anything else.

    command: argv, run once for the contents of `files` in a folder that holds only these. files: paths below the
    folder. needs: programs that must be there, each with the version that it must have at least; empty for any.
    """

    command: tuple[str, ...]
    files: tuple[str, ...]
    needs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


def preparing(section: Section, folder: Path) -> PrepareSpec | None:
    """The `prepare` of a stack or runner: the word npm, or a mapping; None where there is none."""
    if section.data.get("prepare") == "npm":
        return _npm(section, folder)
    if isinstance(section.data.get("prepare"), str):
        section.fail(
            f"'prepare' of {section.what} is {section.data['prepare']!r}",
            key="prepare",
            hint="the one word that is known is npm; anything else is a mapping with `command` and `files`",
        )
    inner = section.section("prepare", f"'prepare' of {section.what}")
    if inner is None:
        return None
    inner.only("command", "files", "needs")
    templates.check(inner, "command", (), elsewhere=("prepared", *templates.OF_A_STACK))
    command, files = inner.texts("command"), inner.texts("files")
    if not command or not files:
        inner.fail(f"{inner.what} lacks {'files' if command else 'command'!r}")
    for name in files:
        _inside(inner, "files", name, folder)
    needs = {}
    for program, version in inner.text_map("needs").items():
        if version and not _VERSION.fullmatch(version):
            inner.fail(f'\'needs\' of {inner.what}: {version!r} is no version like "20" or "20.10"', key="needs")
        needs[program] = _numbers(version)
    return PrepareSpec(command=command, files=files, needs=needs)


def _npm(section: Section, folder: Path) -> PrepareSpec:
    for name in _NPM_FILES:
        _inside(section, "prepare", name, folder)
    try:
        facts = json.loads((folder / _NPM_FILES[0]).read_text(encoding="utf-8"))
        asked = str(facts.get("engines", {}).get("node", ""))
    except (OSError, ValueError, AttributeError) as error:
        section.fail(f"{_NPM_FILES[0]} of {section.what} cannot be read: {error}", key="prepare")
    # Other ways to write a range are npm's to judge.
    found = _ENGINE.match(asked)
    return PrepareSpec(command=_NPM, files=_NPM_FILES, needs={"node": _numbers(found[1] if found else ""), "npm": ()})


def _inside(section: Section, key: str, name: str, folder: Path) -> None:
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        section.fail(f"{key!r} of {section.what} names {name!r}, and there is no such file in {folder.name}/", key=key)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part)
