"""Runs a program once and says what it took: wall time, processor time, and the most memory that it held.

What the kernel calls the most memory of a process begins with that of the process which started it. So the program is
started by a small one: this file, run as a program, with nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_OUT, _ERR, _TAKEN = ".measured.out", ".measured.err", ".measured.json"


class ChildFailedError(Exception):
    """It could not be measured: it ended with an error, or not at all. The message says which, and what it said."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken:
    """seconds: wall time. cpu: processor seconds of it. peak: bytes of memory. out: its standard output."""

    seconds: float
    cpu: float
    peak: int
    out: str


def measured(command: Sequence[str], *, folder: Path, environ: Mapping[str, str], deadline: float) -> Taken:
    """Run a command in `folder` to its end; ChildFailedError when it fails, or has not ended after `deadline` seconds.

    Its output goes to files, not through pipes: reading along would be part of what is measured.
    """
    starter = [sys.executable, "-I", "-S", __file__, str(deadline), *command]
    try:
        subprocess.run(
            starter, cwd=folder, env=dict(environ), stdin=subprocess.DEVNULL, check=True, timeout=deadline + 30
        )
        told = json.loads((folder / _TAKEN).read_bytes())
    except (subprocess.SubprocessError, OSError, ValueError) as error:
        raise ChildFailedError(f"{command[0]} could not be started: {error}") from error
    if told["code"] != 0:
        said = [line for line in (folder / _ERR).read_text(errors="replace").splitlines() if line.strip()]
        late = f" after {told['seconds']:.0f} s" if told["seconds"] >= deadline else ""
        raise ChildFailedError(f"exit code {told['code']}{late}: {said[-1].strip() if said else 'no word'}")
    return Taken(
        seconds=told["seconds"],
        cpu=told["cpu"],
        peak=told["peak"],
        out=(folder / _OUT).read_text(encoding="utf-8", errors="replace"),
    )


def main(arguments: Sequence[str]) -> int:
    """`DEADLINE COMMAND…`: run it in the working directory and write what it took there."""
    deadline, *command = arguments
    with open(_OUT, "wb") as out, open(_ERR, "wb") as err:  # noqa: PTH123 - this program is to stay small
        began = time.perf_counter()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        late = threading.Timer(float(deadline), child.kill)
        late.start()
        try:
            _, status, usage = os.wait4(child.pid, 0)
            seconds = time.perf_counter() - began
        finally:
            late.cancel()
    # `wait4` has taken its end, which Popen would wait for else.
    child.returncode = os.waitstatus_to_exitcode(status)
    taken = {
        "code": child.returncode,
        "seconds": seconds,
        "cpu": usage.ru_utime + usage.ru_stime,
        "peak": usage.ru_maxrss * 1024,
    }
    with open(_TAKEN, "w", encoding="utf-8") as file:  # noqa: PTH123
        json.dump(taken, file)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
