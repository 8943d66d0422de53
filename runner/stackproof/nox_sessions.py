"""Whether a project's noxfile has sessions that run us: only then a message may tell somebody to use them."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from pathlib import Path

FILE_NAME = "noxfile.py"
# Those that messages know, each instead of a command.
OURS = frozenset({"integration", "verify_release", "typecheck", "benchmark", "live_smoke"})


def has(project: Path, *sessions: str) -> bool:
    """Whether the project's noxfile.py speaks of stackproof and has all of these sessions, and nox is there.

    Read as text: a noxfile is a program, and looking at it must not run it.
    """
    if not _is_here():
        return False
    try:
        text = (project / FILE_NAME).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return "stackproof" in text and all(
        re.search(rf"^def {name}\(|\bname=[\"']{name}[\"']", text, re.MULTILINE) for name in sessions
    )


def of(project: Path) -> frozenset[str]:
    """Which of OURS the project has."""
    return frozenset(session for session in OURS if has(project, session))


def _is_here() -> bool:
    """Whether whoever started this could type `nox`: a noxfile alone does not bring it."""
    inside = "NOX_CURRENT_SESSION" in os.environ
    return inside or importlib.util.find_spec("nox") is not None or shutil.which("nox") is not None
