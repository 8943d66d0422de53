"""What a machine is known by, so that two measurements are compared only when they come from alike ones."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """No host name and no user: only what decides whether timings can be compared. TypeError for anything else."""

    processor: str
    cpus: int
    system: str
    python: str

    def __post_init__(self) -> None:
        # It is also made of what a file says.
        if [type(getattr(self, name)) for name in self.__slots__] != [str, int, str, str]:
            raise TypeError("a machine is made of three texts and a number")

    def words(self) -> str:
        """One line for people."""
        cpus = f"{self.cpus} CPUs" if self.cpus else ""
        python = f"Python {self.python}" if self.python else ""
        return ", ".join(filter(None, (self.processor, cpus, self.system, python)))


UNKNOWN = Machine(processor="an unnamed machine", cpus=0, system="", python="")
"""Where a file does not say: it compares with nothing, not even with another such file."""


def fingerprint() -> Machine:
    """The machine that this process runs on."""
    return Machine(
        processor=_processor(),
        cpus=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=f"{platform.python_implementation()} {platform.python_version()}",
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return " ".join(value.split())
    return platform.processor() or platform.machine()
