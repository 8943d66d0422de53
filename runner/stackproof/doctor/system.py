"""The operating system, in the words that a bug report needs."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

_RELEASE = Path("/etc/os-release")
_CONTAINERS = (Path("/.dockerenv"), Path("/run/.containerenv"))


@dataclass(frozen=True, kw_only=True, slots=True)
class System:
    """kind: as Python calls it, `Linux`, `Darwin`. name: `Debian GNU/Linux 12 (bookworm)`. wsl: 1, 2 or None."""

    kind: str
    name: str
    kernel: str
    machine: str
    wsl: int | None = None
    container: bool = False

    @property
    def words(self) -> str:
        """`Debian GNU/Linux 12 (bookworm), x86_64`, with WSL or a container behind it."""
        more = ["" if self.wsl is None else f"WSL {self.wsl}", "in a container" if self.container else ""]
        return ", ".join(filter(None, (self.name, self.machine, *more)))


def describe() -> System:
    """This machine's system; nothing is started to find out."""
    kind, kernel = platform.system(), platform.release()
    name = f"macOS {platform.mac_ver()[0]}" if kind == "Darwin" else _linux() if kind == "Linux" else kind
    folded = kernel.lower()
    wsl = None if "microsoft" not in folded else 2 if "wsl2" in folded or "standard" in folded else 1
    return System(
        kind=kind,
        name=name,
        kernel=kernel,
        machine=platform.machine(),
        wsl=wsl,
        container=any(path.exists() for path in _CONTAINERS),
    )


def _linux() -> str:
    """PRETTY_NAME of os-release(5)."""
    try:
        lines = _RELEASE.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "Linux"
    named = (line.partition("=")[2].strip().strip("\"'") for line in lines if line.startswith("PRETTY_NAME="))
    return next(named, "Linux")
