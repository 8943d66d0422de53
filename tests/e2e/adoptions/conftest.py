"""Somebody's own project, adopted with the commands that its owner would type."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

# What belongs to the projects: their tests are run in copies, by commands.
collect_ignore_glob = ["*/project/*"]

# A new user's environment has none of these, and each takes longer to load than the tests run.
_UNUSED = ("anyio", "asyncio", "hypothesispytest", "langsmith_plugin", "recording", "rerunfailures", "xdist")
_OUTER = ("STACKPROOF_", "PYTEST_", "OPENAI_", "ANTHROPIC_", "LANGSMITH_", "LANGCHAIN_", "GITHUB_", "GITLAB_", "GIT_")
_LOOKS = ("CI", "FORCE_COLOR", "PY_COLORS", "NO_COLOR", "TERM")  # of the machine's own terminals
_LONGEST = 900.0  # seconds; one installs a server and its hundred packages on a busy machine
_PAGES = Path(__file__).parents[3] / "docs/adoptions"
_FILE = re.compile(r"^`([\w./-]+)`[^\n]*\n(?:[^\n`]+\n)*\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.+)$", re.MULTILINE)
_NOBODY = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull} | {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Nobody"), ("EMAIL", "nobody@example.com"))
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What a command printed on both of its streams, and its exit code."""

    code: int
    text: str

    def has(self, *texts: str) -> bool:
        """Whether all of these were printed; shows everything where one was not."""
        missing = [text for text in texts if text not in self.text]
        if missing:
            print(f"missing {missing} in:\n{self.text}")
        return not missing


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A repository of somebody's own: their code and their tests, and nothing of Stackproof.

    typed: the command lines so far.
    """

    root: Path
    typed: list[str] = field(default_factory=list)

    def type(self, line: str) -> Said:
        """One line, as in a terminal whose environment is this one, and in which no key is set."""
        self.typed.append(line)
        kept = {name: value for name, value in os.environ.items() if not name.startswith((*_OUTER, *_LOOKS))}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        addopts = " ".join(["-pno:cacheprovider", *(f"-pno:{name}" for name in _UNUSED)])
        ended = subprocess.run(
            shlex.split(line),
            cwd=self.root,
            env={**kept, **_NOBODY, "PATH": path, "PYTEST_ADDOPTS": addopts, "COLUMNS": "120"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_LONGEST,
            check=False,
        )
        return Said(code=ended.returncode, text=ended.stdout)

    def write(self, name: str, text: str) -> None:
        """A file, in the folders that it needs."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def change(self, name: str, old: str, new: str) -> None:
        """Put something in the place of what stands in a file once."""
        text = (self.root / name).read_text(encoding="utf-8")
        assert text.count(old) == 1
        self.write(name, text.replace(old, new))

    def commit(self) -> None:
        """All that there is."""
        for line in ("git add --all", "git commit --quiet --message 'Test with Stackproof'"):
            said = self.type(line)
            assert said.code == 0, said.text

    def never_typed(self, name: str) -> list[str]:
        """Commands that a page of docs/adoptions shows and that were not typed here."""
        shown = _COMMAND.findall(page(name))
        assert shown
        return [line for line in shown if line not in self.typed]

    def recordings(self) -> int:
        """How many files of recordings there are."""
        return sum(1 for _ in (self.root / "recordings").rglob("*.json"))


def page(name: str) -> str:
    """A page of docs/adoptions."""
    return (_PAGES / name).read_text(encoding="utf-8")


def files_of(name: str) -> dict[str, str]:
    """The files that a page of docs/adoptions gives whole, by their names."""
    return dict(_FILE.findall(page(name)))


@pytest.fixture
def adopted(tmp_path: Path) -> Callable[[str], Project]:
    """A copy of `<story>/project`, committed."""

    def make(story: str) -> Project:
        project = Project(root=tmp_path / story)
        shutil.copytree(
            Path(__file__).parent / story / "project", project.root, ignore=shutil.ignore_patterns("__pycache__")
        )
        project.write(".gitignore", "__pycache__/\n")
        assert project.type("git init --quiet").code == 0
        project.commit()
        return project

    return make
