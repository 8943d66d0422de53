"""The shell that runs in a pod, run here: what it stores, where, and with which code it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stackproof.shards import kubernetes

SCRIPT = Path(kubernetes.__file__).with_name("kubernetes_pod.sh")
# Stands for a run: writes a run folder as one does, and ends with a code.
RUN = """
mkdir -p .stackproof/runs/abc123/cells
echo "$POD_NAME" >.stackproof/runs/abc123/manifest.json
echo owned >.stackproof/runs/abc123/.hidden
exit {code}
"""
Pod = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def pod(tmp_path: Path) -> Iterator[Pod]:
    """Start a pod's shell; its index, its name, and the command that it runs. What is left of it ends with the test."""
    started: list[subprocess.Popen[str]] = []

    def start(
        command: str, *, index: int = 0, name: str = "job-0-aaaaa", programs: Path | None = None
    ) -> subprocess.Popen[str]:
        project = tmp_path / name
        project.mkdir()
        environment = {
            "PATH": os.pathsep.join(filter(None, (str(programs or ""), os.environ["PATH"]))),
            "EVIDENCE": str(tmp_path / "claim" / "job"),
            "JOB_COMPLETION_INDEX": str(index),
            "POD_NAME": name,
        }
        process = subprocess.Popen(
            ["/bin/sh", "-c", SCRIPT.read_text(), "shard", "/bin/sh", "-c", command],
            cwd=project,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=120)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    said, _ = process.communicate(timeout=120)
    return process.returncode, said


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("code", [0, 1, 3, 6, 7])
def test_what_the_tests_say_is_stored_and_is_no_failure_of_the_pod(pod: Pod, tmp_path: Path, code: int) -> None:
    assert ended(pod(RUN.format(code=code), index=4))[0] == 0
    assert files(tmp_path / "claim") == ["job/4/abc123/.hidden", "job/4/abc123/manifest.json"]


@pytest.mark.parametrize("code", [2, 4, 5, 70, 137])
def test_what_is_no_result_is_kept_aside_and_tried_again(pod: Pod, tmp_path: Path, code: int) -> None:
    assert ended(pod(RUN.format(code=code), index=4))[0] == code
    assert files(tmp_path / "claim") == ["job/.failed/4/abc123/.hidden", "job/.failed/4/abc123/manifest.json"]


def test_a_run_that_left_nothing_is_no_success(pod: Pod, tmp_path: Path) -> None:
    code, said = ended(pod("exit 0"))
    assert code == 70
    assert said == "the run left no folder; it ended with 0\n"
    assert files(tmp_path / "claim") == []


def test_a_claim_that_cannot_be_written_fails_the_pod_and_leaves_nothing(pod: Pod, tmp_path: Path) -> None:
    claim = tmp_path / "claim"
    claim.mkdir()
    (claim / "job").write_text("in the way")
    code, said = ended(pod(RUN.format(code=0)))
    assert code == 74
    assert "its evidence could not be stored in" in said
    assert files(claim) == ["job"]


def test_a_second_pod_of_an_index_puts_its_run_beside_the_first(pod: Pod, tmp_path: Path) -> None:
    assert ended(pod(RUN.format(code=0), name="job-0-aaaaa"))[0] == 0
    other = RUN.replace("abc123", "def456").format(code=1)
    assert ended(pod(other, name="job-0-bbbbb"))[0] == 0
    assert files(tmp_path / "claim") == [
        "job/0/abc123/.hidden",
        "job/0/abc123/manifest.json",
        "job/0/def456/.hidden",
        "job/0/def456/manifest.json",
    ]


def test_a_pod_that_is_killed_in_the_middle_leaves_nothing(pod: Pod, tmp_path: Path) -> None:
    process = pod(f"({RUN.format(code=0)})\necho running; exec sleep 900")
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    os.killpg(process.pid, signal.SIGKILL)
    assert ended(process)[0] == -signal.SIGKILL
    assert files(tmp_path / "claim") == []


def test_a_pod_that_is_killed_while_it_stores_leaves_nothing_that_counts(pod: Pod, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    # Half a copy: the first file is there, and the second never comes.
    half = f"for last; do :; done\necho half >$last/manifest.json\necho copying >{tmp_path}/said\nexec sleep 900\n"
    (programs / "cp").write_text(f"#!/bin/sh\n{half}")
    (programs / "cp").chmod(0o755)
    process = pod(RUN.format(code=0), programs=programs)
    deadline = time.monotonic() + 60
    while not (tmp_path / "said").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    ended(process)
    assert files(tmp_path / "claim") == ["job/.part/job-0-aaaaa/manifest.json"]
    # Nor does it disturb whoever comes next, under whatever name.
    assert ended(pod(RUN.format(code=0), name="job-0-bbbbb"))[0] == 0
    assert files(tmp_path / "claim" / "job" / "0") == ["abc123/.hidden", "abc123/manifest.json"]


def test_the_end_of_the_pod_is_told_to_the_run_and_waited_for(pod: Pod, tmp_path: Path) -> None:
    said = tmp_path / "torn-down"
    command = f"trap 'sleep 0.3; touch {said}; exit 143' TERM; {RUN.replace('exit {code}', '')}\necho running\n"
    process = pod(f"{command}while :; do sleep 0.05; done")
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    process.send_signal(signal.SIGTERM)
    code, _ = ended(process)
    assert (code, said.exists()) == (143, True)
    # It is no result, so the index is tried again.
    assert files(tmp_path / "claim") == ["job/.failed/0/abc123/.hidden", "job/.failed/0/abc123/manifest.json"]


def test_the_shell_has_no_mistake_that_shellcheck_knows() -> None:
    shellcheck = Path(sys.executable).with_name("shellcheck")
    if not shellcheck.exists():
        pytest.skip("shellcheck is not installed")
    command = [str(shellcheck), "--shell=sh", str(SCRIPT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "")
