"""A command that is over has left nothing running, whoever or whatever ended it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from reference_stack.agent import process_exit
from reference_stack.agent.cancel import CancelToken
from reference_stack.agent.process_child import Ending, ProcessStartError
from reference_stack.agent.process_output import BoundedOutput
from reference_stack.agent.processes import Finished, Limits, ProcessesClosedError, ProcessManager

T = TypeVar("T")
needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")

# Each writes its process id into a file and then sleeps: as it is, deaf to SIGTERM, out of the group, and as a daemon.
SLEEPER = "echo $$ > {file}; exec sleep 600"
DEAF = 'trap "" TERM; echo $$ > {file}; while :; do sleep 0.05; done'
LONG = 60.0  # seconds; nothing takes them, on a machine that has other things to do
KINDS = {
    "group": "sh -c '{work}' &",
    "session": "setsid sh -c '{work}' &",
    "daemon": "(setsid sh -c '{work}' &) &",
    "bare": "setsid env -i sh -c '{work}' &",
}
# What left the group, lost its parent and has no mark either is out of sight.
ENDS = [
    (kind, ended_by)
    for ended_by in ("deadline", "token", "task", "close", "itself")
    for kind in KINDS
    if (kind, ended_by) != ("bare", "itself")
]


async def started(processes: ProcessManager) -> list[int]:
    """The ids in the registry, once it has them: a command may run before its start is over."""
    deadline = time.monotonic() + LONG
    while True:
        pids = [entry.pid for entry in processes.registry]
        if None not in pids or time.monotonic() > deadline:
            return [pid or 0 for pid in pids]
        await asyncio.sleep(0.01)


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, 2 * LONG))


def manager() -> ProcessManager:
    return ProcessManager(os.environ)


def running(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text[text.rfind(")") + 2] not in "ZX"


def children() -> set[str]:
    """Ours, with those that wait to be reaped."""
    stats = [text_of(path) for path in Path("/proc").glob("[0-9]*/stat")]
    return {text.split()[0] for text in stats if text and text.rpartition(")")[2].split()[1] == str(os.getpid())}


def descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def text_of(file: Path) -> str:
    """Empty where there is no such file, and where it is of a process that has just gone."""
    try:
        return file.read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


async def pid_in(file: Path, unless: asyncio.Future[Any] | None = None) -> int:
    """What stands in it as soon as it does; 0 when this is over before."""
    deadline = time.monotonic() + LONG
    while not (text := text_of(file)):
        if unless is not None and unless.done():
            return int(text_of(file) or 0)
        assert time.monotonic() < deadline, f"nobody wrote {file.name}"
        await asyncio.sleep(0.01)
    return int(text)


def test_a_command_has_its_output_and_return_code() -> None:
    async def work() -> None:
        processes = manager()
        done = await processes.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
        assert (done.ending, done.returncode, done.output, done.dropped) == (Ending.EXITED, 3, "out\nerr\n", 0)
        assert processes.registry == ()

    run(work())


def test_a_command_gets_the_environment_it_was_meant_to_have_and_no_input(tmp_path: Path) -> None:
    async def work() -> str:
        processes = ProcessManager({"PATH": os.environ["PATH"], "WORD": "a b"})
        return (await processes.run(["sh", "-c", 'cat; echo "$WORD"; pwd; echo "$HOME"'], cwd=tmp_path)).output

    assert run(work()) == f"a b\n{tmp_path}\n\n"


@pytest.mark.parametrize("command", [["there-is-no-such-program"], [], ["a\0b"]])
def test_a_command_that_cannot_be_started_is_named_and_leaves_nothing(command: list[str]) -> None:
    async def work() -> None:
        processes = manager()
        before = descriptors()
        with pytest.raises(ProcessStartError, match="cannot be started"):
            await processes.run(command)
        assert processes.registry == ()
        assert descriptors() <= before

    run(work())


def test_output_is_kept_up_to_its_limit_and_the_command_is_not_held_up() -> None:
    async def work() -> None:
        done = await manager().run(["sh", "-c", "yes | head -c 3000000; echo end"], limits=Limits(output_bytes=12))
        assert done.ending is Ending.EXITED
        assert done.dropped == 3_000_004 - 12
        assert done.output.startswith("y\ny\ny\n\n[")
        assert done.output.endswith("\nend\n")

    run(work())


@needs_proc
@pytest.mark.parametrize(("kind", "ended_by"), ENDS)
@pytest.mark.parametrize("work_of_it", [SLEEPER, DEAF], ids=["sleeper", "deaf"])
def test_nothing_that_a_command_started_outlives_it(tmp_path: Path, kind: str, work_of_it: str, ended_by: str) -> None:
    file = tmp_path / "pid"
    script = KINDS[kind].format(work=work_of_it.format(file=file))
    # A command that is over has to have got as far as starting the other one.
    waits = f"while ! [ -s {file} ]; do sleep 0.01; done" if ended_by == "itself" else "wait; sleep 600"

    async def work(seconds: float) -> bool:
        processes = manager()
        token = CancelToken()
        limits = Limits(seconds=seconds if ended_by == "deadline" else 10 * LONG, grace=0.1)
        task = asyncio.create_task(processes.run(["sh", "-c", f"{script}\n{waits}"], limits=limits, cancel=token))
        pid = await pid_in(file, unless=task if ended_by == "deadline" else None)
        begun = time.monotonic()
        ending: Ending | None = None
        match ended_by:
            case "token":
                token.cancel("enough")
                ending = Ending.CANCELLED
            case "task":
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            case "close":
                await processes.aclose(grace=0.1)
                ending = Ending.CANCELLED
            case "deadline":
                ending = Ending.TIMED_OUT
            case _:
                ending = Ending.EXITED
        if ending is not None:
            done = await task
            assert done.ending is ending
            assert done.returncode is not None
            assert done.left == frozenset()
        assert not pid or not running(pid)
        assert processes.registry == ()
        assert time.monotonic() - begun < LONG
        return pid > 0

    # Where a command had not got as far as starting the other one, it needs more time.
    assert any(run(work(seconds)) for seconds in (1.0, 10.0, 60.0))


def test_a_command_that_ends_when_it_is_asked_to_is_not_killed() -> None:
    async def work(seconds: float) -> Finished:
        script = "trap 'echo asked; exit 7' TERM; echo ready; while :; do sleep 0.02; done"
        return await manager().run(["sh", "-c", script], limits=Limits(seconds=seconds, grace=LONG))

    done = next(done for done in (run(work(seconds)) for seconds in (0.3, 3.0, 30.0)) if done.output)
    assert (done.ending, done.returncode) == (Ending.TIMED_OUT, 7)
    assert done.output.startswith("ready\n")
    assert done.output.endswith("asked\n")


def test_a_deaf_command_is_killed_after_the_grace(tmp_path: Path) -> None:
    async def work(seconds: float) -> Finished:
        script = DEAF.format(file=tmp_path / "pid")
        return await manager().run(["sh", "-c", script], limits=Limits(seconds=seconds, grace=0.2))

    # It is deaf as soon as it has written its id.
    done = next(done for done in (run(work(seconds)) for seconds in (0.1, 3.0, 30.0)) if text_of(tmp_path / "pid"))
    assert (done.ending, done.returncode) == (Ending.TIMED_OUT, -signal.SIGKILL)
    assert done.seconds >= 0.3


def test_a_command_whose_token_was_set_before_is_ended_at_once() -> None:
    async def work() -> None:
        token = CancelToken()
        token.cancel("enough")
        done = await manager().run(["sleep", "600"], limits=Limits(grace=LONG), cancel=token)
        assert (done.ending, done.returncode) == (Ending.CANCELLED, -signal.SIGTERM)

    run(work())


def test_the_event_loop_goes_on_while_a_deaf_command_is_ended() -> None:
    async def work() -> float:
        longest, before, over = 0.0, time.monotonic(), False

        async def tick() -> None:
            nonlocal longest, before
            while not over:
                await asyncio.sleep(0.005)
                longest, before = max(longest, time.monotonic() - before), time.monotonic()

        ticking = asyncio.create_task(tick())
        script = DEAF.format(file=os.devnull)
        await manager().run(["sh", "-c", script], limits=Limits(seconds=0.1, grace=0.6))
        over = True
        await ticking
        return longest

    # The grace alone is longer: who waits for it stands still each time, a busy machine does not.
    assert any(run(work()) < 0.4 for _ in range(5))


def test_what_runs_is_in_the_registry(tmp_path: Path) -> None:
    async def work() -> None:
        processes = manager()
        tasks = [
            asyncio.create_task(processes.run(["sh", "-c", SLEEPER.format(file=tmp_path / name)])) for name in "ab"
        ]
        pids = [await pid_in(tmp_path / name) for name in "ab"]
        assert sorted(pids) == sorted(await started(processes))
        assert {entry.command[0] for entry in processes.registry} == {"sh"}
        await processes.aclose()
        assert [(await task).ending for task in tasks] == [Ending.CANCELLED, Ending.CANCELLED]
        assert processes.registry == ()

    run(work())


def test_a_manager_that_was_closed_starts_nothing() -> None:
    async def work() -> None:
        processes = manager()
        await processes.aclose()
        await processes.aclose()
        with pytest.raises(ProcessesClosedError):
            await processes.run(["true"])

    run(work())


@needs_proc
@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8, 13])
def test_a_command_that_is_cancelled_while_it_starts_is_ended_too(turns: int) -> None:
    before = children()

    async def work() -> None:
        processes = manager()
        task = asyncio.create_task(processes.run(["sleep", "600"], limits=Limits(grace=0.2)))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert processes.registry == ()

    run(work())
    assert children() <= before


@needs_proc
def test_several_cancellations_do_not_cut_the_end_short() -> None:
    before = children()

    async def work() -> None:
        processes = manager()
        task = asyncio.create_task(processes.run(["sh", "-c", DEAF.format(file=os.devnull)], limits=Limits(grace=0.2)))
        await asyncio.sleep(0.1)
        for _ in range(5):
            task.cancel()
            await asyncio.sleep(0.02)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert processes.registry == ()

    run(work())
    assert children() <= before


@needs_proc
def test_an_event_loop_that_is_closed_takes_its_commands_with_it(tmp_path: Path) -> None:
    before = children()

    async def work() -> int:
        processes = manager()
        command = ["sh", "-c", DEAF.format(file=tmp_path / "pid")]
        task = asyncio.create_task(processes.run(command, limits=Limits(grace=0.2)))
        pid = await pid_in(tmp_path / "pid")
        assert not task.done()
        return pid

    pid = run(work())
    assert not running(pid)
    assert children() <= before


@needs_proc
def test_whoever_gets_the_orphans_reaps_those_of_its_commands() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr


FIRST = f"""
import asyncio, ctypes, os, sys
from pathlib import Path
sys.path.insert(0, {str(Path(process_exit.__file__).parents[2])!r})
from reference_stack.agent.processes import Limits, ProcessManager
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: as the first process of a container
manager = ProcessManager(os.environ)
script = "(setsid sleep 600 &) & (setsid sleep 600 &) & sleep 600"
asyncio.run(manager.run(["sh", "-c", script], limits=Limits(seconds=0.3, grace=0.5)))
stats = []
for path in Path("/proc").glob("[0-9]*/stat"):
    try:
        stats.append(path.read_text())
    except OSError:
        continue  # it has just gone
print([text for text in stats if text.rpartition(")")[2].split()[1] == str(os.getpid())])
"""


@pytest.mark.parametrize("lacking", ["pidfd_open", "waitid"])
def test_an_end_is_noticed_without_what_only_linux_has(monkeypatch: pytest.MonkeyPatch, lacking: str) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    if lacking == "waitid":
        monkeypatch.delattr(os, "waitid")
    assert run(manager().run(["sh", "-c", "exit 3"])).returncode == 3


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize("limit", [0, 1, 2, 5, 6, 1000])
def test_of_any_output_the_begin_and_the_end_are_kept(size: int, limit: int) -> None:
    output = BoundedOutput(limit)
    text = "abcdefghijk"
    for begin in range(0, len(text), size):
        output.add(text[begin : begin + size].encode())
    assert output.dropped == max(0, len(text) - limit)
    if limit >= len(text):
        assert output.text() == text
    else:
        head, tail = text[: limit - limit // 2], text[len(text) - limit // 2 :]
        assert output.text() == f"{head}\n[{len(text) - limit} bytes are left out here]\n{tail}"


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="-1 bytes"):
        BoundedOutput(-1)
