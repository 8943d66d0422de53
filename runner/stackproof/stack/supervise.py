"""Runs in a container that several cells share, one cell after another: starts a cell's stack, and ends all of it.

`supervise.py ENTER FOLDER -- COMMAND`. The first line of its input is JSON, {"variables": {NAME: TEXT}, "log": PATH,
"look": whether a cell comes after}: the variables go into memory, where `enter.py run` takes them and becomes the
command; what that writes goes to the log. It answers {"started": PID}. FOLDER/ended.json, {"code", "out_of_memory"},
says that the command has ended by itself, code as `subprocess` gives it. A line {"stop": SECONDS}, or the end of its
input, ends the command by SIGTERM, and by SIGKILL after so many seconds; then whatever else the cell left is killed,
what lies in memory is removed, and {"left": […]} names what could not be, and which files are not as they were. Nothing
of one cell is there for the next one. Standard library only.
"""

import contextlib
import json
import os
import select
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path("/run/stackproof")
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - of this container
ENDED = "ended.json"
GRACE = 5.0  # seconds, for a cell that is gone and can say nothing
_KILLED = 5.0
_STEP = 0.02
# What the kernel counted: control groups of version 2, and of version 1.
_COUNTS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")


def main(enter: str, folder: Path, command: "list[str]") -> int:
    """See one cell's stack from its start to its end."""
    asked = json.loads(sys.stdin.readline())
    kept = _spared()
    _clear(kept)
    given = FOLDER / "given.json"
    given.touch(0o600)
    given.write_text(json.dumps(asked["variables"]), encoding="utf-8")
    before = out_of_memory()
    with open(asked["log"], "ab", buffering=0) as log:  # noqa: PTH123 - as the standard library has it
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", enter, "run", "--", *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _tell(started=child.pid)
    grace = _wait(child, folder, before)
    if child.poll() is None:
        child.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(grace)
    left = _clear(kept)
    _tell(left=left + (changed(Path("/"), (FOLDER / "holder").stat().st_ctime_ns) if asked["look"] else []))
    return 0


def out_of_memory() -> int:
    """How often the kernel has ended something in this container for want of memory."""
    for path in _COUNTS:
        with contextlib.suppress(OSError):
            for line in Path(path).read_text(encoding="ascii").splitlines():
                name, _, count = line.partition(" ")
                if name == "oom_kill":
                    return int(count)
    return 0


def _wait(child: "subprocess.Popen[bytes]", folder: Path, before: int) -> float:
    """Until the cell says that it is over, or is gone; seconds that the stack gets to end."""
    told = False
    while True:
        if not told and child.poll() is not None:
            told = True
            killed = child.returncode == -signal.SIGKILL
            facts = {"code": child.returncode, "out_of_memory": killed and out_of_memory() > before}
            partial = folder / (ENDED + ".partial")
            partial.write_text(json.dumps(facts))
            partial.rename(folder / ENDED)
        if select.select([sys.stdin], [], [], _STEP)[0]:
            line = sys.stdin.readline()
            with contextlib.suppress(ValueError, KeyError, TypeError):
                return float(json.loads(line)["stop"])
            return GRACE


def _spared() -> "frozenset[int]":
    """Who may stay: the first process, the one that holds the container, and this one."""
    deadline = time.monotonic() + _KILLED
    while True:
        # It may only be about to write its id.
        with contextlib.suppress(OSError, ValueError):
            holder = int((FOLDER / "holder").read_text())
            # Everybody else will be killed: that has to be in a container which is there for this.
            if (Path("/proc") / str(holder) / "cmdline").read_bytes().endswith(b"\0hold\0"):
                return frozenset({1, os.getpid(), holder})
        if time.monotonic() > deadline:
            sys.exit("nothing holds this container")
        time.sleep(_STEP)


def _others(spared: "frozenset[int]") -> "Iterator[int]":
    """Everybody else who is not dead already."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) not in spared:
            with contextlib.suppress(OSError, IndexError):
                # The state follows the name, which may hold anything, also a bracket.
                if (entry / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                    yield int(entry.name)


def _clear(spared: "frozenset[int]") -> "list[str]":
    """Kill everybody else, and remove what lies in memory; what could not be."""
    deadline = time.monotonic() + _KILLED
    while left := list(_others(spared)):
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            break
        time.sleep(_STEP)
    for path in (*FOLDER.iterdir(), *SHARED_MEMORY.iterdir()):
        if path.name != "holder":
            with contextlib.suppress(OSError):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()
    stays = [str(path) for path in (*FOLDER.iterdir(), *SHARED_MEMORY.iterdir()) if path.name != "holder"]
    return [*(f"process {pid}" for pid in left), *stays]


def changed(root: Path, since: int) -> "list[str]":
    """What was made, changed or removed below `root` on its file system since then, compiled modules apart.

    since: nanoseconds. A folder stands for what is no longer in it. `docker diff` says the same, and compares the whole
    image for it.
    """
    device, found, folders = root.stat().st_dev, [], [str(root)]
    while folders:
        folder = folders.pop()
        new = False
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    facts = entry.stat(follow_symlinks=False)
                    later = facts.st_ctime_ns > since
                    new = new or later
                    if entry.name == "__pycache__" or entry.name.endswith(".pyc"):
                        continue
                    if not stat.S_ISDIR(facts.st_mode):
                        found.extend([entry.path] if later else [])
                    elif facts.st_dev == device:
                        folders.append(entry.path)
            if not new and os.stat(folder).st_ctime_ns > since:  # noqa: PTH116 - as everything here
                found.append(folder)
    return sorted(found)


def _tell(**facts: Any) -> None:
    # The cell may be gone.
    with contextlib.suppress(OSError):
        sys.stdout.write(json.dumps(facts) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), sys.argv[4:]))
