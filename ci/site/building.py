"""Builds the site from a copy of docs/, so that nothing of it comes to lie among the sources.

A page may lead to a file of the project outside docs/, as one reads it in the repository. On the site such a link leads
to a copy of that file; one to README.md leads to the start page, which has taken its place there. A drawing of ours is
part of its page, so that its text can be selected and it has the colours that the reader has chosen; in the repository
it is an image.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

CONFIGURATION = "zensical.toml"
# Below docs/ of the copy: files of the project that pages lead to.
FILES = "files"
_LINK = re.compile(r"(?<=\]\()((?:\.\./)+[^()\s#]+)(#[^()\s]*)?(?=\))")
_DRAWING = re.compile(r"^!\[[^\]]*\]\(([^()\s]+\.svg)\)$", re.MULTILINE)
# In a table GitHub wants a bar in code with a backslash before it, where Python's Markdown would show both.
_ROW = re.compile(r"^\|.*\|[ \t]*$", re.MULTILINE)
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_WARNING = re.compile(r"Warning: (.+)\n\s*╭─\[ (\S+?:\d+):\d+ \]")
SHIM = Path("assets/javascripts/iframe-worker.js")
_FETCHED_SHIM = "https://unpkg.com/iframe-worker/shim"
_TIMEOUT = 300.0  # seconds; it takes two


class BuildError(Exception):
    """There is no site. The message says why; exit_code is 2 where nothing could be tried."""

    def __init__(self, message: str, *, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def zensical() -> list[str] | None:
    """The command that builds: of this Python's environment, else of the PATH; None where there is none."""
    beside = shutil.which("zensical", path=str(Path(sys.executable).parent))
    found = beside or shutil.which("zensical")
    return None if found is None else [found]


def build(project: Path, into: Path) -> None:
    """Build the site of `project` into the folder `into`, which is replaced. BuildError where that fails."""
    command = zensical()
    if command is None:
        raise BuildError(
            "there is no zensical, which builds the site: python -m pip install -e '.[dev]' -c constraints.txt",
            exit_code=2,
        )
    with tempfile.TemporaryDirectory(prefix="stackproof-site-") as folder:
        stage = Path(folder)
        copy(project, stage)
        done = subprocess.run(
            [*command, "build", "--strict", "--config-file", CONFIGURATION],
            cwd=stage,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
        )
        if done.returncode:
            raise BuildError(f"zensical ended with exit code {done.returncode}:\n{_said(done.stdout + done.stderr)}")
        have_own_shim(stage / "site")
        if into.exists():
            shutil.rmtree(into)
        into.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(stage / "site", into)


def have_own_shim(site: Path) -> None:
    """Let pages load from beside them what makes search work without a web server, and zensical would fetch."""
    shutil.copyfile(Path(__file__).with_name(SHIM.name), site / SHIM)
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        beside = Path(os.path.relpath(site / SHIM, page.parent)).as_posix()
        page.write_text(text.replace(_FETCHED_SHIM, beside), encoding="utf-8")


def _said(output: str) -> str:
    """What zensical has found, a line each with file and line; all of its output where that is something else."""
    plain = _COLOUR.sub("", output)
    found = [f"docs/{place}: {what}" for what, place in _WARNING.findall(plain)]
    return "\n".join(found) or plain.strip()


def copy(project: Path, stage: Path) -> None:
    """Lay docs/ and the configuration of `project` into `stage`, with links that lead nowhere else."""
    shutil.copyfile(project / CONFIGURATION, stage / CONFIGURATION)
    shutil.copytree(project / "docs", stage / "docs")
    for page in sorted((stage / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        changed = _LINK.sub(partial(_inside, project, stage, page), text)
        changed = _ROW.sub(lambda row: _CODE.sub(lambda code: code[0].replace("\\|", "|"), row[0]), changed)
        changed = _DRAWING.sub(partial(_drawn, page), changed)
        if changed != text:
            page.write_text(changed, encoding="utf-8")


def _drawn(page: Path, found: re.Match[str]) -> str:
    """The drawing itself in place of the image, where it is one with a title and a description of its own."""
    text = (page.parent / found[1]).read_text(encoding="utf-8")
    return f'<div class="drawing-frame">\n{text}</div>' if 'role="img" aria-labelledby=' in text else found[0]


def _inside(project: Path, stage: Path, page: Path, found: re.Match[str]) -> str:
    """The link of `found` as the site has it."""
    docs = stage / "docs"
    place = Path(os.path.normpath(page.parent / found[1]))
    if place.is_relative_to(docs) or not place.is_relative_to(stage):
        return found[0]
    path = place.relative_to(stage)
    anchor = found[2] or ""
    up = Path(os.path.relpath(docs, page.parent)).as_posix()
    if path == Path("README.md"):
        return f"{up}/index.md"
    if not (project / path).is_file():
        raise BuildError(f"docs/{page.relative_to(docs).as_posix()} leads to {path.as_posix()}, which is no file")
    # Shown by a browser, whatever it is written in.
    copied = Path(FILES) / path.with_name(f"{path.name}.txt")
    (docs / copied).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(project / path, docs / copied)
    return f"{up}/{copied.as_posix()}{anchor}"
