"""Whether this machine has what a block needs, by the words that STACKPROOF_REQUIRE knows."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable

from stackproof.stack import service as services


def lacking(words: Iterable[str]) -> list[str]:
    """Those words for which there is nothing here."""
    return [word for word in words if not _has(word)]


def _has(word: str) -> bool:
    if word in os.environ.get("STACKPROOF_REQUIRE", "").split():
        return True  # a block that fails says more than a skip
    match word:
        case "docker":
            # Where there is no base image with Python, nothing can be built.
            return "STACKPROOF_DOCKER_BASE" in os.environ and _ends_well("docker", "version")
        case "curl":
            return shutil.which("curl") is not None
        case "Node.js":
            return shutil.which("npm") is not None
        case "namespaces":
            return _ends_well("unshare", "--net", "--map-root-user", "true")
        case "llama-cpp":
            return (services.cache_folder(os.environ) / "llama-cpp").exists()
        case _:
            raise ValueError(f"nobody knows how to look for {word!r}")


def _ends_well(*command: str) -> bool:
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, check=False, capture_output=True, timeout=300).returncode == 0
