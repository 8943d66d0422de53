"""What lies around the code: CI, nox, Docker, Git, Node, and the commands that other files start servers with."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from stackproof.adopting.found import CiSystem, NodeProject

_STARTED = re.compile(
    r"(?:uvicorn|gunicorn|hypercorn|granian|daphne)\b[^\n]*?[\s\"',=]([A-Za-z_][\w.]*:[A-Za-z_]\w*)", re.MULTILINE
)
_TOLD_IN = (
    "Procfile", "Dockerfile", "Makefile", "justfile", "README.md", "README.rst", "docker-compose.yml",
    "docker-compose.yaml", "compose.yml", "compose.yaml", "pyproject.toml", "start.sh", "run.sh", "entrypoint.sh",
    "scripts/start.sh", "fly.toml", "render.yaml", "app.yaml", "package.json",
)  # fmt: skip
_LONGEST = 200_000
_NODE_SERVERS = ("express", "fastify", "hono", "koa", "@nestjs/core", "next")


def ci(root: Path, top: Path | None) -> tuple[CiSystem, ...]:
    """By their files, at the root of the repository where the project is a part of one."""
    base = top or root
    workflows = base / ".github" / "workflows"
    found = []
    if workflows.is_dir() and any(workflows.glob("*.y*ml")):
        found.append(CiSystem.GITHUB)
    if (base / ".gitlab-ci.yml").is_file():
        found.append(CiSystem.GITLAB)
    if not found:
        url = text(base / ".git" / "config")
        found += [CiSystem.GITHUB] if "github.com" in url else [CiSystem.GITLAB] if "gitlab" in url else []
    return tuple(found)


def top_of_git(root: Path) -> Path | None:
    """The folder that `.git` is in, at or above `root`; a file of that name is a worktree or a submodule."""
    for folder in (root, *root.parents):
        if (folder / ".git").exists():
            return folder
    return None


def ignores_bytecode(root: Path, top: Path | None) -> bool:
    """Whether Git is told to leave out `__pycache__`, here or at the root of the repository."""
    lines = {
        line.strip().strip("/*") for folder in {root, top or root} for line in text(folder / ".gitignore").splitlines()
    }
    return not lines.isdisjoint({"__pycache__", ".py[cod]", ".py[co]", ".pyc", ".py[codz]"})


def sessions_of_nox(root: Path) -> frozenset[str]:
    """Names of a noxfile's sessions, read as text."""
    noxfile = text(root / "noxfile.py")
    named = re.findall(r"\bname=[\"']([\w.-]+)[\"']", noxfile)
    return frozenset([*re.findall(r"^@[\w.]*session[^\n]*\n(?:@[^\n]*\n)*def (\w+)\(", noxfile, re.MULTILINE), *named])


def dockerfiles(root: Path) -> tuple[str, ...]:
    """At the root and one folder below."""
    found = [
        path for pattern in ("Dockerfile*", "*/Dockerfile*", "Containerfile") for path in sorted(_glob(root, pattern))
    ]
    return tuple(path.relative_to(root).as_posix() for path in found if path.is_file())


def started_with(root: Path) -> tuple[str, ...]:
    """`module:name` of applications that files beside the code start a server with."""
    texts = [text(root / name) for name in _TOLD_IN] + [text(root / name) for name in dockerfiles(root)]
    return tuple(dict.fromkeys(found for each in texts for found in _STARTED.findall(each)))


def node(root: Path) -> NodeProject | None:
    """What package.json says, where there is one that is JSON."""
    try:
        facts = json.loads(text(root / "package.json") or "null")
    except ValueError:
        return None
    if not isinstance(facts, dict):
        return None
    packages = {name for key in ("dependencies", "devDependencies") for name in (facts.get(key) or {})}
    scripts = facts.get("scripts")
    start = scripts.get("start") if isinstance(scripts, dict) else None
    main = facts.get("main")
    command: tuple[str, ...] = ()
    if isinstance(start, str) and re.fullmatch(r"[\w@./ =:-]+", start):
        command = tuple(shlex.split(start))
        command = command if command[0] in ("node", "tsx", "bun", "deno") else ("npm", "start")
    elif start:
        command = ("npm", "start")
    elif isinstance(main, str) and (root / main).is_file():
        command = ("node", main)
    return NodeProject(
        name=facts.get("name") if isinstance(facts.get("name"), str) else None,
        packages=frozenset(packages),
        command=command,
        framework=next((name for name in _NODE_SERVERS if name in packages), None),
    )


def text(path: Path) -> str:
    """A file as text, empty where there is none to be had; what is very long is cut."""
    try:
        with path.open("rb") as file:
            return file.read(_LONGEST).decode("utf-8", errors="replace").replace("\r\n", "\n")
    except OSError:
        return ""


def _glob(root: Path, pattern: str) -> Iterator[Path]:
    for path in root.glob(pattern):
        if not any(part.startswith(".") or part == "node_modules" for part in path.relative_to(root).parts[:-1]):
            yield path


def readable(folder: Path) -> bool:
    """Whether files can be made in it."""
    return os.access(folder, os.W_OK | os.X_OK)
