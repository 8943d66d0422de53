"""The folder that Stackproof calls the project: our few files, and links to OGX's tests, which stay where they are."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SETUP = "ogx-ci"
_OURS = Path(__file__).resolve().parent / "project"
# What pytest has to find where it finds it in the checkout.
_LINKED = ("conftest.py", "scripts", "src", "tests")


def make(folder: Path, *, checkout: Path) -> Path:
    """Make it, or make it anew; what runs and imports have left in it stays. Returns the folder."""
    shutil.copytree(_OURS, folder, dirs_exist_ok=True)
    for name in _LINKED:
        # Our own file of suites lies among OGX's tests, so that folder is one of links.
        ours = (folder / name).is_dir() and not (folder / name).is_symlink()
        inside = sorted((checkout / name).iterdir()) if ours else [checkout / name]
        for path in inside:
            if path.name == "__pycache__":
                continue
            link = folder / path.relative_to(checkout)
            if link.is_symlink():  # nothing else is ever taken away
                link.unlink()
            link.symlink_to(path)
    return folder


def bring_in(folder: Path, *, checkout: Path, python: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    """Import the recordings of the checkout into the project; what `stackproof recordings import --json` says."""
    shutil.rmtree(folder / "recordings", ignore_errors=True)
    words = [str(python), "-m", "stackproof", "recordings", "import", str(checkout / "tests"), "--format", "ogx"]
    done = subprocess.run(
        [*words, "--setup", SETUP, "--json"],
        cwd=folder, env=dict(environment), capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    if not done.stdout.startswith("{"):
        raise SystemExit(f"the recordings were not imported:\n{done.stdout}{done.stderr}")
    (folder / "imported.json").write_text(done.stdout, encoding="utf-8")
    return dict(json.loads(done.stdout))
