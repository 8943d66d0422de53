"""Runs the commands of a block, one after the other, and says what was not as the page shows it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tests.e2e.docs import inside
from tests.e2e.docs.blocks import Step
from tests.e2e.docs.fold import difference, marked
from tests.e2e.docs.projects import Room
from tests.e2e.docs.table import Entry

_SECONDS = 900
_INTERRUPT = "^C"


def run(entry: Entry, room: Room, meanwhile: Sequence[Entry] = ()) -> Iterator[str]:
    """Run what prepares a block, its commands and what must hold then; a complaint for each thing that is not so.

    meanwhile: blocks that are run before the Ctrl-C of this one, with the addresses and the run that it has printed.
    """
    first = 0  # the exit code of the command before, for `echo $?`
    if entry.before:
        room.shell(entry.before)
    found = steps(entry)
    codes = entry.exits * len(found) if len(entry.exits) == 1 else entry.exits
    assert len(codes) == len(found), f"{entry.block.place}: {len(found)} commands and {len(codes)} exit codes"
    here = Room(root=room.root, environ={**room.environ, **entry.environ})
    beside = list[str]()
    for step, wanted in zip(found, codes, strict=True):
        code, printed = _ran(step, here, first, lambda real: beside.extend(_beside(meanwhile, room, real)))
        first = code
        if code != wanted:
            yield f"{entry.block.place}: exit code {code}, not {wanted}, of {step.command}\n" + "\n".join(printed)
        elif entry.compare and step.output and (told := _differs(entry, _shown(step), printed)):
            yield f"{entry.block.place}: {step.command}\n{told}\n--- all that was printed:\n" + "\n".join(printed)
    yield from beside
    if entry.after:
        room.shell(entry.after)


def steps(entry: Entry) -> tuple[Step, ...]:
    """Its commands, or what is typed in their place: each for the one that the page shows, or for a form any number."""
    shown = entry.block.steps()
    if not entry.typed:
        return shown
    if not shown:
        return tuple(Step(command=command, output=()) for command in entry.typed)
    return tuple(Step(command=command, output=step.output) for command, step in zip(entry.typed, shown, strict=True))


def write(entry: Entry, room: Room) -> None:
    """Put a file where the page says that it is."""
    path = room.root / entry.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(entry.block.text + "\n", encoding="utf-8")


def _differs(entry: Entry, shown: Sequence[str], printed: Sequence[str]) -> str:
    """What is otherwise, of all or of the words behind a mark, each once."""
    if entry.marked:
        shown, printed = marked(shown), marked(printed)
    return difference(shown, printed)


def _shown(step: Step) -> list[str]:
    return [line for line in step.output if line != _INTERRUPT]


def _beside(entries: Sequence[Entry], room: Room, real: Mapping[str, str]) -> Iterator[str]:
    for entry in entries:
        text = entry.block.text
        for shown, put in real.items():
            text = text.replace(shown, put)
        yield from run(replace(entry, block=replace(entry.block, text=text)), room)


def _real(shown: str, printed: str) -> dict[str, str]:
    """What stands for the addresses and the run that a page shows, in the order in which they are printed."""
    return {
        one: other
        for pattern in (r"http://127\.0\.0\.1:\d+", r"(?<=\.stackproof/runs/)[0-9a-f]{6}")
        for one, other in zip(re.findall(pattern, shown), re.findall(pattern, printed), strict=False)
    }


def _ran(step: Step, room: Room, before: int, meanwhile: Callable[[Mapping[str, str]], None]) -> tuple[int, list[str]]:
    if (call := inside.read(step.command)) is not None:
        return inside.run(call, room)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=room.root.parent, suffix=".log", delete=False) as out:
        log = Path(out.name)
        process = subprocess.Popen(
            ["bash", "-c", f"(exit {before}); {step.command}"],
            cwd=room.root,
            env=room.environ,
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            if _INTERRUPT in step.output:
                shown = step.output[: step.output.index(_INTERRUPT)]
                _wait_for(shown, log, process)
                meanwhile(_real("\n".join(shown), log.read_text(encoding="utf-8")))
                os.killpg(process.pid, signal.SIGINT)
            code = _end_of(process)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    return code, log.read_text(encoding="utf-8").splitlines()


def _end_of(process: subprocess.Popen[bytes]) -> int:
    """Its exit code, 124 as `timeout` has it where it does not end."""
    try:
        return process.wait(timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return 124


def _wait_for(shown: Sequence[str], log: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait until all of it was printed, and no longer than the command runs."""
    deadline = time.monotonic() + _SECONDS
    while process.poll() is None and difference([*shown, "…"], log.read_text(encoding="utf-8").splitlines()):
        assert time.monotonic() < deadline, f"it did not come to {shown[-1]!r}:\n{log.read_text(encoding='utf-8')}"
        time.sleep(0.1)
