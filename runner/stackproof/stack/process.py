"""One command as a process group of its own, its output in a file from the first byte, and its end."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from stackproof.errors import StackStartError
from stackproof.stack import lifetime, proctable

MARKER = "STACKPROOF_PROCESS"
TAIL_LINES = 15
_LONG = 450
_TETHER = Path(__file__).with_name("tether.py")


class Process:
    """A command that is started, watched and ended; `stop` may be called at any time, also before `start`.

    name: how messages call it. log: file that its standard output and error go to; None lets it inherit ours.
    interactive: it keeps our standard input. The command does not outlive this process, even if that is killed (Linux).
    """

    def __init__(
        self,
        *,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        cwd: Path,
        log: Path | None,
        interactive: bool = False,
    ) -> None:
        self.name = name
        self.command = tuple(command)
        self.log = log
        self.started_at = 0.0
        self._cwd = cwd
        self._interactive = interactive
        self._token = f"{name}-{secrets.token_hex(6)}"
        self._environment = {**environment, MARKER: self._token}
        self._popen: subprocess.Popen[bytes] | None = None
        self._ended_at: float | None = None

    @property
    def pid(self) -> int:
        """Process id, which is the process group's id too; 0 before the start."""
        return 0 if self._popen is None else self._popen.pid

    def start(self) -> None:
        """Start the command; StackStartError when its program does not exist."""
        if shutil.which(self.command[0], path=self._environment.get("PATH", os.defpath)) is None:
            raise StackStartError(
                f"{self.name} cannot start: there is no program {self.command[0]!r}",
                hint="check `command` in its stack.yaml or service.yaml, and PATH",
            )
        tied = [sys.executable, "-I", "-S", str(_TETHER), str(os.getpid()), "--", *self.command]
        output = None if self.log is None else self.log.open("ab")
        try:
            self.started_at = time.monotonic()
            self._popen = subprocess.Popen(
                tied,
                cwd=self._cwd,
                env=self._environment,
                stdin=None if self._interactive else subprocess.DEVNULL,
                stdout=output,
                stderr=None if output is None else subprocess.STDOUT,
                process_group=0,
            )
        finally:
            if output is not None:
                output.close()

    def poll(self) -> int | None:
        """Exit code (negative: the signal that ended it), or None while it runs."""
        if self._popen is None:
            return None
        code = self._popen.poll()
        if code is not None and self._ended_at is None:
            self._ended_at = time.monotonic()
        return code

    def elapsed(self) -> float:
        """Seconds from the start to now, or to the moment its end was noticed."""
        return (self._ended_at or time.monotonic()) - self.started_at

    def ending(self) -> str:
        """How it ended: "exited with code 3", "was ended by SIGKILL", "is running"."""
        return describe_exit(self.poll())

    def family(self) -> frozenset[int]:
        """Ids of its running processes: its group, their descendants, and those that carry its marker."""
        if not self.pid:
            return frozenset()
        return proctable.family(self.pid) | proctable.marked(f"{MARKER}={self._token}")

    def signal(self, signum: int) -> None:
        """Send `signum` to the first process only; nothing happens when it is gone."""
        if self._popen is not None and self._popen.poll() is None:
            self._popen.send_signal(signum)

    def stop(self, grace: float = lifetime.GRACE) -> None:
        """End it and everything it started: SIGTERM, `grace` seconds, SIGKILL. Safe to call again."""
        if self._popen is not None:
            lifetime.end(self._popen, marker=f"{MARKER}={self._token}", grace=grace)

    def tail(self, lines: int = TAIL_LINES) -> tuple[str, ...]:
        """The last lines of its log that hold anything."""
        return () if self.log is None else tail(self.log, lines)


def tail(log: Path, lines: int = TAIL_LINES) -> tuple[str, ...]:
    """The last `lines` non-empty lines of `log`; none when it cannot be read. Reads at most its last 64 KiB."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 65536))
            text = file.read().decode(errors="replace")
    except OSError:
        return ()
    return tuple([_shortened(line.rstrip()) for line in text.splitlines() if line.strip()][-lines:])


def _shortened(line: str) -> str:
    """A line that is a whole page (a traceback in JSON, say) without its middle: what went wrong stands at an end."""
    return line if len(line) <= _LONG else f"{line[: _LONG // 3]} … {line[-2 * _LONG // 3 :]}"


def describe_exit(code: int | None) -> str:
    """A return code of `subprocess` in words."""
    if code is None:
        return "is running"
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def last_lines(log: Path | None, lines: Sequence[str]) -> str:
    """The part of a hint that quotes a log."""
    if log is None:
        return ""
    where = shown(log)
    if not lines:
        return f"{where} is empty"
    return "\n".join((f"last lines of {where}", *(f"  {line}" for line in lines)))


def shown(path: Path) -> str:
    """A path as a person should see it: relative to the current folder where it lies below it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
