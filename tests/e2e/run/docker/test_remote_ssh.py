"""An engine that is really elsewhere, over ssh: Debian's sshd there, and the program `ssh` here."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.run.docker import elsewhere
from tests.e2e.run.docker.elsewhere import SSH, THERE, Elsewhere
from tests.e2e.run.docker.neighbours import SLOW

from stackproof.errors import DockerError, ExitCode
from stackproof.stack import engine as engines
from stackproof.stack import ports, sweep

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

Add = Callable[..., str]

# All sshd there but the one that listens.
SESSIONS = "kill $(cat /proc/$(cat /run/sshd.pid)/task/*/children)"


@pytest.fixture(autouse=True)
def nothing_left(remote: Elsewhere) -> None:
    """On that engine, in the place of this machine's, and no ssh on this machine: see `remote`."""
    if not (remote.folder / "ssh_config").exists():
        pytest.skip("needs docker and sshd (package openssh-server) for an engine over ssh")


def refusal(remote: Elsewhere, environ: dict[str, str], patience: float = 60.0) -> DockerError:
    """What is said of an engine that cannot be reached."""
    with pytest.raises(DockerError) as caught:
        engines.connect({**os.environ, **environ}, patience=patience).close()
    assert caught.value.exit_code == ExitCode.DOCKER
    assert "\n" not in caught.value.message
    assert remote.ways() == []
    return caught.value


@pytest.mark.parametrize(
    ("options", "said", "remedy"),
    [
        (["-oUserKnownHostsFile=/dev/null"], "ssh does not know its host key", f"`ssh -p 2222 root@{THERE}` once"),
        (["-oUserKnownHostsFile={}/others"], "ssh refuses its host key, which is not the one", "why it changed"),
        (["-oIdentityFile={}/ssh-refused"], f"ssh was refused: root@{THERE}: Permission denied (publickey).", "a key"),
        (["-oIdentityFile={}/ssh-lacking"], "there is no command `docker` for the user that", "command line there"),
    ],
    ids=["unknown host", "another host", "refused key", "no docker"],
)
def test_what_ssh_refuses_is_one_sentence(remote: Elsewhere, options: list[str], said: str, remedy: str) -> None:
    key = (remote.folder / "ssh-refused.pub").read_text()
    (remote.folder / "others").write_text(f"[{THERE}]:2222 {key}")
    bare = remote.folder / "bare"
    lines = (remote.folder / "ssh_config").read_text().splitlines(keepends=True)
    bare.write_text("".join(line for line in lines if "IdentityFile" not in line))
    given = [option.format(remote.folder) for option in options]
    if not any("IdentityFile" in option for option in given):
        given.append(f"-oIdentityFile={remote.folder}/ssh-known")
    error = refusal(remote, remote.ssh(SSH, *given, configuration=bare))
    assert error.message.startswith(f"no Docker engine answered at {SSH} (DOCKER_HOST): {said}")
    assert remedy in str(error.hint)


def test_a_machine_that_does_not_answer_has_a_deadline(remote: Elsewhere) -> None:
    with socket.create_server(("127.0.0.1", ports.free_port())) as server:
        url = f"ssh://root@127.0.0.1:{server.getsockname()[1]}"
        # ssh has a deadline of its own, which comes first on some days.
        said = refusal(remote, remote.ssh(url), patience=2.0).message
        assert said.endswith(("it answered nothing in time", "ssh got no answer in time"))
    assert "(DOCKER_HOST): no sshd listens there" in refusal(remote, remote.ssh(url)).message


def test_what_cannot_be_an_address_is_one_sentence(remote: Elsewhere) -> None:
    assert "it names no host" in refusal(remote, remote.ssh("ssh://")).message
    secret = refusal(remote, remote.ssh("ssh://root:geheim@there"))
    assert "an address with a password in it is not taken" in secret.message
    assert "geheim" not in secret.message
    missing = refusal(remote, {"DOCKER_HOST": SSH, "PATH": "/nowhere"})
    assert "there is no program `ssh` here" in missing.message
    assert "openssh-client" in str(missing.hint)
    other = refusal(remote, remote.ssh(f"{SSH}/nowhere.sock"))
    assert "`docker` is there, and no engine: " in other.message


def in_two(project: Project, process: subprocess.Popen[str]) -> None:
    """Wait until the second test runs."""
    project.wait_for("test two", lambda: (project.root / "in-two").exists() or process.poll() is not None)
    assert process.poll() is None, project.finish(process)


def test_a_run_by_a_context_needs_nothing_there_but_ssh(
    project: Project, contained: Add, remote: Elsewhere, tmp_path: Path
) -> None:
    """`remote` is a Host of ssh's configuration: no name that anybody else knows."""
    elsewhere.contexts(tmp_path / "config", {"over-there": "ssh://remote"}, None)
    project.environ.update(remote.ssh())
    del project.environ["DOCKER_HOST"]
    project.environ.update({"DOCKER_CONFIG": str(tmp_path / "config"), "DOCKER_CONTEXT": "over-there"})
    project.tests(SLOW)
    writes = "open(os.environ['STACKPROOF_RUN_DIR'] + '/written', 'w').write('by the stack')"
    process = project.start("--stack-config", contained("toy", before=writes))
    in_two(project, process)
    listed = project.run(program=("-m", "stackproof", "stack", "ps"))
    assert f"stackproof-{project.run_dir().name}-toy-" in listed.output
    containers = [item for item in sweep.listed(remote.engine) if item.kind == "container"]
    found = [remote.engine.inspected(item.id) for item in containers]
    assert len(found) == 2
    for item in found:
        assert [mount for mount in item["Mounts"] if mount["Type"] == "bind"] == []
        assert item["HostConfig"]["NetworkMode"].startswith("stackproof-")
        assert not item["HostConfig"]["PortBindings"]
    (project.root / "go-on").touch()
    output = project.finish(process)
    assert process.returncode == 0, output
    assert "the Docker engine at ssh://remote (context 'over-there' of DOCKER_CONTEXT) sees no folders" in output
    assert "sealed (network namespace)" in output
    assert (project.cell_dir() / "written").read_text() == "by the stack"
    assert (project.cell_dir() / "stack.log").read_text().startswith("starting\n")


def test_ctrl_c_takes_everything_away_there_and_every_ssh_here(
    project: Project, contained: Add, remote: Elsewhere
) -> None:
    project.environ.update(remote.ssh())
    project.tests(SLOW)
    process = project.start("--stack-config", contained("toy"))
    in_two(project, process)
    assert remote.ways()
    # As a terminal sends it: to all processes of the run.
    os.killpg(process.pid, signal.SIGINT)
    output = project.finish(process)
    assert process.returncode == 130, output
    assert sweep.listed(remote.engine) == ()
    assert remote.ways() == []


def test_sessions_that_break_in_the_middle_end_the_run_in_time(
    project: Project, contained: Add, remote: Elsewhere
) -> None:
    project.environ.update(remote.ssh())
    project.tests(SLOW)
    process = project.start("--stack-config", contained("toy"))
    in_two(project, process)
    remote.run("sh", "-c", SESSIONS)
    (project.root / "go-on").touch()
    output = project.finish(process)
    assert process.returncode == 4, output
    assert "Traceback" not in output
    # sshd itself goes on, so what was there could be taken away.
    assert sweep.listed(remote.engine) == ()
