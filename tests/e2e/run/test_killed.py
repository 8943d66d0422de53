"""However a session dies, the test that it died in is named, and what had finished before is kept."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.run.conftest import wait_for

from stackproof.evidence import junit, read, testlog
from stackproof.evidence.outcomes import Outcome
from stackproof.verdict.current import Current
from stackproof.verdict.decide import decide
from stackproof.verdict.policy import CellPolicy, Policy
from stackproof.verdict.records import Verdict

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

FILE = "tests/integration/base/test_it.py"
BEFORE = "import ctypes, os, pytest, signal, sys, time\ndef test_one(): pass\ndef test_two(): pytest.skip('later')\n"
AFTER = "def test_four(): pass\n"
ENDS = {
    "_exit": ("os._exit(3)", "exited with code 3"),
    "_exit-0": ("os._exit(0)", "exited with code 0"),
    "segfault": ("ctypes.string_at(0)", "was ended by SIGSEGV"),
    "abort": ("os.abort()", "was ended by SIGABRT"),
    "killed": ("os.kill(os.getpid(), signal.SIGKILL)", "was ended by SIGKILL"),
}


def died_in_three(project: Project, output: str, how: str) -> None:
    """All four places: what the run prints, the cell's facts, the merged report, the verdict's line."""
    assert f"{how} without finishing, inside of {FILE}::test_three: 2 of 4 tests have a result" in output
    log = testlog.read(project.cell_dir() / "tests.jsonl")
    assert log.running == (f"{FILE}::test_three",)
    assert {name: entry.outcome for name, entry in log.tests.items()} == {
        f"{FILE}::test_one": Outcome.PASSED,
        f"{FILE}::test_two": Outcome.SKIPPED,
    }
    merged = junit.read(project.run_dir() / "junit.xml")
    assert {case.name: case.outcome for case in merged.cases} == {
        "test_one": Outcome.PASSED,
        "test_two": Outcome.SKIPPED,
        "test_three": Outcome.ERROR,
    }
    rule = next(rule for rule in _verdict(project).rules if rule.id.startswith("cell:"))
    assert f"the test session never finished: 2 of 4 tests have a result; it ended inside of {FILE}::test_three" in {
        finding.text for finding in rule.findings
    }
    assert rule.state.value != "PASS"


def _verdict(project: Project) -> Verdict:
    wanted = CellPolicy(suite="base", setup="local", stack="server:toy")
    current = Current(commit=None, dirty=False, policy="", today=datetime.now(UTC).date())
    return decide(Policy(cells=(wanted,)), read.read(project.run_dir()), current)


@pytest.mark.parametrize("end", ENDS)
def test_a_session_that_dies_names_the_test_and_keeps_the_others(project: Project, end: str) -> None:
    statement, how = ENDS[end]
    project.tests(f"{BEFORE}def test_three(): {statement}\n{AFTER}")
    done = project.run()
    assert done.code == 1, done.output
    died_in_three(project, done.output, how)


def _memory_group() -> Path | None:
    """A memory cgroup of version 1 or 2 in which groups can be made; None where there is none."""
    for root, limit in (
        (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
        (Path("/sys/fs/cgroup"), "memory.max"),
    ):
        group = root / f"stackproof-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        if (group / limit).exists() and os.access(group / limit, os.W_OK):
            return group
        group.rmdir()
    return None


@pytest.fixture
def small_memory() -> Iterator[Path]:
    """A memory cgroup of 200 MiB that a test may enter."""
    group = _memory_group()
    if group is None:
        pytest.skip("no memory cgroup can be made here")
    try:
        limit = next(group / name for name in ("memory.limit_in_bytes", "memory.max") if (group / name).exists())
        limit.write_text(str(200 << 20))
        # What may be swapped out is no less memory than there was.
        for name, value in (("memory.swap.max", "0"), ("memory.memsw.limit_in_bytes", str(200 << 20))):
            with contextlib.suppress(OSError):
                (group / name).write_text(value)
        yield group
    finally:
        wait_for("the end of all in the group", lambda: _removed(group))


def _removed(group: Path) -> bool:
    with contextlib.suppress(OSError):
        group.rmdir()
    return not group.exists()


def test_a_session_that_the_kernel_kills_for_its_memory_names_the_test(project: Project, small_memory: Path) -> None:
    project.tests(
        f"{BEFORE}def test_three():\n"
        f"    open('{small_memory}/cgroup.procs', 'w').write(str(os.getpid()))\n"
        "    held = [bytearray(b'x' * (8 << 20)) for _ in range(200)]\n"
        f"{AFTER}"
    )
    done = project.run()
    assert done.code == 1, done.output
    died_in_three(project, done.output, "was ended by SIGKILL")


def test_a_hang_past_the_time_of_the_suite_is_named(project: Project) -> None:
    project.tests(f"{BEFORE}def test_three(): time.sleep(900)\n{AFTER}")
    done = project.run("--suite-timeout", "15")
    assert done.code == 1, done.output
    assert f"was stopped inside of {FILE}::test_three; the last test that ended was {FILE}::test_two" in done.output
    assert {case.name for case in junit.read(project.run_dir() / "junit.xml").cases} >= {"test_one", "test_two"}


def test_a_worker_that_dies_names_its_test_and_the_others_go_on(project: Project) -> None:
    project.tests(f"{BEFORE}def test_three(): os._exit(3)\n{AFTER}")
    done = project.run("--workers", "2")
    assert done.code == 1, done.output
    log = testlog.read(project.cell_dir() / "tests.jsonl")
    assert log.tests[f"{FILE}::test_three"].outcome is Outcome.FAILED
    assert log.running == ()
    assert len(log.tests) == 4
