"""What one run of a suite came to: tests by their end, seconds, and what was tried beyond this machine."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree

_LIMIT = 1800.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """tests: node id -> passed, failure, skipped or error. reasons: of those that did not pass. seconds: of the whole
    command. code: None where it had to be ended. first_test: seconds from the command's start to its first test.
    sockets: attempts to leave the machine, by what was asked for.
    """

    suite: str
    side: str
    code: int | None
    seconds: float
    first_test: float | None
    tests: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    sockets: Mapping[str, int] = field(default_factory=dict)

    def count(self, *ends: str) -> int:
        """How many tests ended in one of these ways."""
        return sum(end in ends for end in self.tests.values())

    @property
    def per_test(self) -> float | None:
        """Seconds from the first test to the end, for each test that was not skipped."""
        ran = self.count("passed", "failure", "error")
        return None if self.first_test is None or not ran else (self.seconds - self.first_test) / ran

    def facts(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def command(
    words: Sequence[str],
    *,
    suite: str,
    side: str,
    cwd: Path,
    environment: Mapping[str, str],
    folder: Path,
    timeout: float = _LIMIT,
) -> Measured:
    """Run one command that runs a suite and writes junit.xml into `folder`, and measure it."""
    folder.mkdir(parents=True, exist_ok=True)
    junit, first, sockets = folder / "junit.xml", folder / "first_test", folder / "sockets"
    for path in (junit, first, sockets):
        path.unlink(missing_ok=True)
    wall, began = time.time(), time.monotonic()
    with (folder / "output.txt").open("wb") as output:
        code = _run(words, cwd=cwd, environment=environment, output=output, timeout=timeout)
    seconds = time.monotonic() - began
    tests, reasons = _read(junit)
    return Measured(
        suite=suite,
        side=side,
        code=code,
        seconds=round(seconds, 1),
        first_test=round(float(first.read_text()) - wall, 1) if first.exists() else None,
        tests=tests,
        reasons=reasons,
        sockets=_sockets(sockets),
    )


def _run(
    words: Sequence[str], *, cwd: Path, environment: Mapping[str, str], output: IO[bytes], timeout: float
) -> int | None:
    try:
        done = subprocess.run(
            list(words), cwd=cwd, env=dict(environment), stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, timeout=timeout, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None
    return done.returncode


def _read(junit: Path) -> tuple[dict[str, str], dict[str, str]]:
    tests: dict[str, str] = {}
    reasons: dict[str, str] = {}
    if not junit.exists():
        return tests, reasons
    for case in ElementTree.parse(junit).iter("testcase"):  # noqa: S314 - our own pytest has just written it
        name = f"{case.get('classname')}::{case.get('name')}"
        ends = {child.tag: child for child in case if child.tag in ("failure", "error", "skipped")}
        tests[name] = next((end for end in ("failure", "error", "skipped") if end in ends), "passed")
        for end in ends.values():
            reasons[name] = f"{end.get('message') or ''}\n{end.text or ''}".strip()[:4000]
    return tests, reasons


def _sockets(path: Path) -> dict[str, int]:
    if not path.exists():
        return {}
    lines = [line.split(" ", 1)[1] for line in path.read_text(errors="replace").splitlines() if " " in line]
    return dict(Counter(lines).most_common())
