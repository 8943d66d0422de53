"""What this machine says: the Python that `init` runs in, and Git. The only part that looks beyond the files."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from importlib import metadata
from pathlib import Path

from stackproof.adopting.drafting import Drafted
from stackproof.adopting.found import Found, Framework
from stackproof.adopting.installing import distribution

_SECRET = (".env", ".pem", ".key")
_NEVER = frozenset(
    {".git", ".stackproof", ".venv", "__pycache__", "node_modules", ".mypy_cache", ".pytest_cache", ".nox"}
)
_GIT_TIMEOUT = 20.0  # seconds


def missing(found: Found, drafted: Drafted) -> tuple[str, ...]:
    """Packages without which neither server nor test starts, and that this Python does not have."""
    if found.framework is Framework.NODE:
        return () if _has("httpx2") else ("httpx2",)
    sdks = [client.sdk for client in found.clients]
    needs = [*drafted.start.needs, *sdks, *(["httpx2"] if drafted.test.http else [])]
    return tuple(dict.fromkeys(distribution(name) for name in needs if not _has(name)))


def _has(module: str) -> bool:
    try:
        return (
            importlib.util.find_spec(module if module.startswith("google.") else module.partition(".")[0]) is not None
        )
    except (ImportError, ValueError):  # what it lies in is not there either
        return False


def requirement() -> str:
    """What pip installed us from: a repository, as PEP 610 tells, or an index."""
    try:
        facts = json.loads(metadata.distribution("stackproof").read_text("direct_url.json") or "{}")
        version = facts["vcs_info"]
        return f"stackproof @ {version['vcs']}+{facts['url']}@{version['commit_id']}"
    except (metadata.PackageNotFoundError, KeyError, ValueError, TypeError):
        return "stackproof"


def uncommitted(root: Path) -> tuple[str, ...]:
    """What is in no commit as it is, relative to `root`; () where there is no Git or no repository."""
    command = ["git", "status", "--porcelain", "--untracked-files=normal", "-z", "--", "."]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, timeout=_GIT_TIMEOUT, check=True)
        top = subprocess.run(
            ["git", "rev-parse", "--show-prefix"], cwd=root, capture_output=True, timeout=_GIT_TIMEOUT, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    prefix = top.stdout.decode(errors="replace").strip()
    entries = done.stdout.decode(errors="replace").split("\0")
    paths = [entry[3:].removeprefix(prefix) for entry in entries if len(entry) > 3 and entry[2] == " "]
    return tuple(sorted(paths))


def everything(root: Path) -> tuple[str, ...]:
    """What lies in a project that is in no repository: names, folders with `/` at their end."""
    try:
        entries = sorted(root.iterdir())
    except OSError:
        return ()
    return tuple(f"{each.name}/" if each.is_dir() else each.name for each in entries if each.name not in _NEVER)


def is_secret(path: str) -> bool:
    """Whether a file is of a kind that does not belong into a repository."""
    name = path.rstrip("/").rpartition("/")[2]
    return name.startswith(".env") or name.endswith(_SECRET)


def is_environment(root: Path, path: str) -> bool:
    """Whether a folder is a virtual environment."""
    return (root / path / "pyvenv.cfg").is_file()
