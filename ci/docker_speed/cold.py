"""A start whose image is still to be built; what it made is removed again."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import tempfile
from pathlib import Path


def start(project: Path, *, fetch: bool) -> float:
    """Seconds to the first 200, in a copy of the project whose Dockerfile is another one in its first step.

    fetch: with an empty cache folder, so that the wheels are fetched too.
    """
    from .__main__ import one_start  # noqa: PLC0415 - each needs the other

    before = _images()
    with tempfile.TemporaryDirectory(prefix="stackproof-speed-") as folder:
        copy = Path(folder)
        shutil.copytree(project / "stacks" / "reference", copy / "stacks" / "reference")
        shutil.copytree(project / "tests" / "integration" / "base", copy / "tests" / "integration" / "base")
        suites = {"base": {"description": "d", "roots": ["tests/integration/base"], "default_setup": "ollama"}}
        (copy / "tests" / "suites.yaml").write_text(json.dumps({"suites": suites}))
        shutil.copytree(project / "recordings" / "ollama", copy / "recordings" / "ollama")
        file = copy / "stacks" / "reference" / "Dockerfile"
        # Both stages begin anew: no layer of an earlier build fits.
        file.write_text(file.read_text().replace("\nCOPY ", f"\nENV ROUND={secrets.token_hex(8)}\nCOPY "))
        cache = {"XDG_CACHE_HOME": str(copy / "cache")} if fetch else {}
        said = one_start(copy, {**os.environ, **cache})
    if not said["built"]:
        raise RuntimeError("nothing was built")
    for image in _images() - before:
        subprocess.run(["docker", "rmi", "--force", image], stdout=subprocess.DEVNULL, check=False, timeout=60)
    return float(said["ready"])


def _images() -> frozenset[str]:
    """Ids of all images, those of a build's first stages too."""
    listed = subprocess.run(
        ["docker", "images", "--no-trunc", "--quiet"], capture_output=True, text=True, check=True, timeout=60
    )
    return frozenset(listed.stdout.split())
