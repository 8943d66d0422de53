"""Runs a program once and says what it took: wall time, processor time, and the most memory that it held."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


class ChildFailedError(Exception):
    """It could not be measured: it ended with an error, or not at all. The message says which, and what it said."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken:
    """seconds: wall time. cpu: processor seconds of it. peak: bytes of memory. out: its standard output."""

    seconds: float
    cpu: float
    peak: int
    out: str


def measured(
    command: Sequence[str],
    *,
    folder: Path,
    environ: Mapping[str, str],
    deadline: float,
    good: Sequence[int] = (0,),
) -> Taken:
    """Run a command in `folder` to its end; ChildFailedError for an exit code that is not `good`, or at `deadline` s.

    Its output goes to files, not through pipes: reading along would be part of what is measured.
    """
    out, err = folder / ".measured.out", folder / ".measured.err"
    with out.open("wb") as to_out, err.open("wb") as to_err:
        began = time.perf_counter()
        child = subprocess.Popen(
            command, cwd=folder, env=dict(environ), stdin=subprocess.DEVNULL, stdout=to_out, stderr=to_err
        )
        late = threading.Timer(deadline, child.kill)
        late.start()
        try:
            _, status, usage = os.wait4(child.pid, 0)
            seconds = time.perf_counter() - began
        finally:
            late.cancel()
    # `wait4` has taken its end, which Popen would wait for else.
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in good:
        said = [line for line in err.read_text(errors="replace").splitlines() if line.strip()]
        late_words = f" after {seconds:.0f} s" if seconds >= deadline else ""
        raise ChildFailedError(f"exit code {child.returncode}{late_words}: {said[-1].strip() if said else 'no word'}")
    return Taken(
        seconds=seconds,
        cpu=usage.ru_utime + usage.ru_stime,
        peak=usage.ru_maxrss * 1024,
        out=out.read_text(encoding="utf-8", errors="replace"),
    )
