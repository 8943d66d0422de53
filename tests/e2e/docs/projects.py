"""The folders in which blocks are run: a clone of this repository, the desk of docs/adopting.md, an empty one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from tests.e2e.docs.blocks import PROJECT
from tests.e2e.docs.table import Home, Way, table

# Variables that would let this machine's own keys, servers or runs in.
_FOREIGN = ("STACKPROOF_", "PYTEST_", "COV_CORE_", "GITHUB_", "GITLAB_", "CI_")
_FOREIGN_ENDS = ("_API_KEY", "_KEY", "_TOKEN", "_URL", "_BASE", "_PROXY", "_proxy")
_KEPT = ("STACKPROOF_DOCKER_", "STACKPROOF_PYTHON_", "PIP_", "UV_")
# Plugins of this environment that take longer to load than the tests run.
_QUICK = "-pno:langsmith_plugin -pno:hypothesispytest -pno:anyio -pno:asyncio -pno:recording -pno:cacheprovider"
# nox itself, with its real noxfile, in the environment that is there.
_NOX = '#!/bin/sh\nexec "{python}" -m nox --no-venv "$@"\n'

RECORDED = Path(__file__).parent / "recorded"


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """A project in a folder, and the variables that its commands get."""

    root: Path
    environ: Mapping[str, str]

    def shell(self, script: str) -> None:
        """Run what prepares or checks; an AssertionError with what it printed where it fails."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.root,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=900,
            check=False,
        )
        assert done.returncode == 0, f"{script}\nended with {done.returncode}:\n{done.stdout}"


def variables(tools: Path) -> dict[str, str]:
    """The caller's environment without what is this machine's own; `tools` gets the commands that stand for others."""
    tools.mkdir(parents=True, exist_ok=True)
    (tools / "nox").write_text(_NOX.format(python=sys.executable))
    (tools / "nox").chmod(0o755)
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(_KEPT)
        or not (
            name.startswith(_FOREIGN)
            or name.endswith(_FOREIGN_ENDS)
            or name in {"CI", "COLUMNS", "FORCE_COLOR", "PYTHONPATH"}
        )
    }
    path = os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    who = {f"GIT_{one}_{what}": value for one in ("AUTHOR", "COMMITTER") for what, value in _WHO.items()}
    quiet = {"NO_COLOR": "1", "LC_ALL": "C.UTF-8", "PYTEST_ADDOPTS": _QUICK, "PYTHONDONTWRITEBYTECODE": "1"}
    return {**kept, **who, **quiet, "PATH": path, "DOCS_TESTS": str(Path(__file__).parent)}


_WHO = {"NAME": "docs", "EMAIL": "docs@example.invalid"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Rooms:
    """Makes projects below a folder."""

    folder: Path
    environ: Mapping[str, str]

    def of(self, home: Home, name: str) -> Room:
        """A project of its own for one page."""
        root = self.folder / name / "desk"  # the folder's name is in what some commands print
        match home:
            case Home.REPOSITORY:
                self._git("clone", "--quiet", "--shared", str(PROJECT), str(root))
            case Home.SCRATCH:
                root.mkdir(parents=True)
            case Home.NEW_DESK:
                return self._new_desk(root)
            case Home.DESK:
                return self._recorded_desk(root)
            case _:
                assert_never(home)
        return Room(root=root, environ=self.environ)

    def shared(self) -> Room:
        """A clone for all that changes nothing in it."""
        root = self.folder / "shared" / "desk"
        return Room(root=root, environ=self.environ) if root.exists() else self.of(Home.REPOSITORY, "shared")

    def _git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], check=True, env=self.environ, timeout=300)

    def _new_desk(self, root: Path) -> Room:
        """The files of docs/adopting.md as they stand there, in a git repository."""
        for entry in table()["docs/adopting.md"].entries:
            if entry.way is Way.FILE:
                (root / entry.file).parent.mkdir(parents=True, exist_ok=True)
                (root / entry.file).write_text(entry.block.text + "\n", encoding="utf-8")
        (root / ".gitignore").write_text(".stackproof/\n__pycache__/\n")
        room = Room(root=root, environ={**self.environ, "LLM_KEY": "none"})
        room.shell("git init -qb main && git add -A && git commit -qm 'A support desk'")
        return room

    def _recorded_desk(self, root: Path) -> Room:
        """The desk with what docs/adopting.md records; that page makes sure that it is still what is kept here."""
        room = self._new_desk(root)
        shutil.copytree(RECORDED, root / "recordings")
        room.shell("git add -A && git commit -qm 'Its recordings'")
        return Room(root=root, environ=self.environ)
