"""An engine that is really elsewhere, over TCP with TLS: no folder, network or name of this machine is known there."""

from __future__ import annotations

import contextlib
import http.server
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.run.docker import asking, elsewhere
from tests.e2e.run.docker.elsewhere import HERE, TCP, THERE, Elsewhere
from tests.e2e.run.docker.neighbours import SLOW

from stackproof.errors import DockerError, ExitCode
from stackproof.stack import engine as engines
from stackproof.stack import forwarder, ports, sweep
from stackproof.stack.engine_records import ContainerSpec

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

Add = Callable[..., str]
Begin = Callable[..., subprocess.Popen[str]]


@pytest.fixture(autouse=True)
def nothing_left(remote: Elsewhere) -> None:
    """On that engine, in the place of this machine's: see `remote`."""


@pytest.fixture
def tunnel(remote: Elsewhere) -> Iterator[str]:
    """The engine's port at this machine's loopback, which leads there and nowhere else."""
    port = ports.free_port()
    with forwarder.forwarding(f"127.0.0.1:{port}", f"{THERE}:2376"):
        yield f"tcp://127.0.0.1:{port}"


def refusal(environ: dict[str, str], patience: float = 60.0) -> DockerError:
    """What is said of an engine that cannot be reached."""
    with pytest.raises(DockerError) as caught:
        engines.connect({**os.environ, **environ}, patience=patience).close()
    assert caught.value.exit_code == ExitCode.DOCKER
    assert "\n" not in caught.value.message
    return caught.value


@contextlib.contextmanager
def answering(certificates: Path | None) -> Iterator[int]:
    """Something that takes connections: with TLS and that certificate, or without; its port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """A handshake that fails is what is wanted."""

    with Server(("127.0.0.1", 0), Handler) as server:
        if certificates is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificates / "expired.pem", certificates / "expired-key.pem")
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join(timeout=60)


@pytest.fixture
def certificates(remote: Elsewhere, tmp_path: Path) -> Callable[..., Path]:
    """Makes a folder with files of the engine's clients, under the names that they shall have."""

    def make(**files: str) -> Path:
        folder = tmp_path / "certificates"
        folder.mkdir()
        for name, source in files.items():
            shutil.copyfile(remote.folder / f"{source}.pem", folder / f"{name}.pem")
        return folder

    return make


@pytest.mark.parametrize(
    ("files", "said", "remedy"),
    [
        ({"ca": "ca"}, "it wants a certificate of this machine", "put cert.pem and key.pem into "),
        ({"ca": "ca", "cert": "expired", "key": "expired-key"}, "it refuses this machine's certificate, ", "expired"),
        ({"ca": "cert", "cert": "cert", "key": "key"}, "its certificate is of no authority in ", "of the engine's"),
        ({"ca": "ca", "cert": "cert", "key": "expired-key"}, "is not the key of cert.pem there", "made together"),
        ({"ca": "ca", "cert": "cert"}, "key.pem", "DOCKER_CERT_PATH"),
        ({}, "there is no ", "DOCKER_CERT_PATH"),
    ],
    ids=["no certificate", "expired", "another authority", "another key", "no key", "nothing"],
)
def test_what_is_wrong_with_this_machine_s_files_is_one_sentence(
    certificates: Callable[..., Path], files: dict[str, str], said: str, remedy: str
) -> None:
    error = refusal(elsewhere.tls(certificates(**files)))
    assert error.message.startswith(f"no Docker engine answered at {TCP} (DOCKER_HOST): ")
    assert said in error.message
    assert remedy in str(error.hint)


def test_what_is_wrong_with_the_engine_s_certificate_is_one_sentence(
    remote: Elsewhere, certificates: Callable[..., Path], tunnel: str
) -> None:
    named = refusal(remote.tls(tunnel.replace("127.0.0.1", "localhost")))
    assert "its certificate is for another name: " in named.message
    assert "localhost" in named.message
    folder = certificates(ca="ca", cert="cert", key="key")
    with answering(remote.folder) as port:
        assert (
            "(DOCKER_HOST): its certificate has expired"
            in refusal(elsewhere.tls(folder, f"tcp://127.0.0.1:{port}")).message
        )
    with answering(None) as port:
        assert "(DOCKER_HOST): it speaks no TLS" in refusal(elsewhere.tls(folder, f"tcp://127.0.0.1:{port}")).message
    plain = refusal({"DOCKER_HOST": TCP})
    assert "(DOCKER_HOST): it speaks TLS, and was called without" in plain.message
    assert "DOCKER_TLS_VERIFY" in str(plain.hint)


def test_who_named_the_engine_is_told(remote: Elsewhere, tmp_path: Path) -> None:
    elsewhere.contexts(tmp_path / "config", {"over-there": f"tcp://{THERE}:2377"}, remote.folder, "over-there")
    by_file = refusal({"DOCKER_CONFIG": str(tmp_path / "config")})
    assert by_file.message == (
        f"no Docker engine answered at tcp://{THERE}:2377 (context 'over-there' of currentContext in "
        f"{tmp_path}/config/config.json): nothing listens there"
    )
    by_name = refusal({"DOCKER_CONFIG": str(tmp_path / "config"), "DOCKER_CONTEXT": "over-there"})
    assert "(context 'over-there' of DOCKER_CONTEXT): nothing listens there" in by_name.message


def test_a_command_there_reads_to_the_end_of_its_input_and_its_exit_code_comes_back(remote: Elsewhere) -> None:
    engine = remote.engine
    name = f"somebody-{os.getpid()}"
    made = engine.create(
        ContainerSpec(name=name, image=os.environ["STACKPROOF_DOCKER_BASE"], entrypoint=(), command=("sleep", "900"))
    )
    try:
        engine.start(made)
        quiet = engine.run_inside(made, ["sh", "-c", "test $(wc -c) = 200000 || exit 1; exit 7"], given=b"x" * 200000)
        loud = engine.run_inside(made, ["sh", "-c", "echo already; cat; sleep 0.3; exit 8"], given=b"x" * 200000)
        assert (quiet, loud) == (7, 8)
    finally:
        engine.remove(name)


def inspected(remote: Elsewhere) -> list[dict[str, Any]]:
    """All containers there, as the engine describes them to whoever asks."""
    return [dict(remote.engine.inspected(item.id)) for item in sweep.listed(remote.engine) if item.kind == "container"]


def in_two(project: Project, process: subprocess.Popen[str]) -> None:
    """Wait until the second test runs."""
    project.wait_for("test two", lambda: (project.root / "in-two").exists() or process.poll() is not None)
    assert process.poll() is None, project.finish(process)


def test_a_run_by_a_context_shares_nothing_there_and_brings_everything_back(
    project: Project, contained: Add, remote: Elsewhere, tunnel: str, tmp_path: Path
) -> None:
    elsewhere.contexts(tmp_path / "config", {"over-there": tunnel}, remote.folder, "over-there")
    project.environ["DOCKER_CONFIG"] = str(tmp_path / "config")
    # Of the world outside, and nothing to do with the engine.
    nowhere = "http://127.0.0.1:9"
    project.environ.update(
        {"HTTP_PROXY": nowhere, "HTTPS_PROXY": nowhere, "http_proxy": nowhere, "https_proxy": nowhere}
    )
    authority = str(remote.folder / "expired.pem")
    project.environ.update({"REQUESTS_CA_BUNDLE": authority, "CURL_CA_BUNDLE": authority, "SSL_CERT_FILE": authority})
    project.tests(SLOW)
    writes = "open(os.environ['STACKPROOF_RUN_DIR'] + '/written', 'w').write('by the stack')"
    process = project.start("--stack-config", contained("toy", before=writes))
    in_two(project, process)
    found = inspected(remote)
    (project.root / "go-on").touch()
    output = project.finish(process)
    assert process.returncode == 0, output
    assert f"the Docker engine at {tunnel} (context 'over-there' of currentContext in " in output
    assert f" sees no folders of this machine ({project.cell_dir()} is not there): " in output
    assert "sealed (network namespace)" in output
    assert len(found) == 2
    for item in found:
        assert [mount for mount in item["Mounts"] if mount["Type"] == "bind"] == []
        assert not item["HostConfig"]["Binds"]
        assert item["HostConfig"]["NetworkMode"].startswith("stackproof-")
        assert not item["HostConfig"]["PortBindings"]
    assert (project.cell_dir() / "written").read_text() == "by the stack"
    assert (project.cell_dir() / "stack.log").read_text().startswith("starting\n")
    assert "test_two" in (project.cell_dir() / "junit.xml").read_text()


def test_calls_are_recorded_there_replay_and_are_missed(project: Project, contained: Add, remote: Elsewhere) -> None:
    contained("distant")
    stack = asking.write(project, "distant")
    project.environ.update(remote.tls())
    project.tests(asking.TESTS)
    given = ("--stack-config", stack)
    with http.server.ThreadingHTTPServer((HERE, 0), asking.Provider) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        here = project.run(
            *given, "--inference-mode", "record", "--env", f"TOY_URL=http://127.0.0.1:{server.server_port}"
        )
        recorded = project.run(
            *given, "--inference-mode", "record", "--env", f"TOY_URL=http://{HERE}:{server.server_port}/v1"
        )
        server.shutdown()
        thread.join(timeout=60)
    # This machine's loopback is none of that one's.
    assert here.code == 4, here.output
    assert f"is on this machine, and the containers of the engine at {TCP} (DOCKER_HOST) cannot call it" in here.output
    assert "record with the engine of this machine" in here.output
    assert recorded.code == 0, recorded.output
    assert len(asking.files(project)) == 7
    project.tests(asking.TESTS + "\n\ndef test_more():\n    ask('never')\n")
    missed = project.run(*given)
    assert missed.code == 6, missed.output
    assert "7 replayed, 0 recorded, 1 missed, 0 unused; sealed (network namespace)" in missed.output
    failed = {name for name, outcome in asking.outcomes(project).items() if outcome != "passed"}
    assert failed == {"test_more"}
    assert "test_more" in (project.cell_dir() / "junit.xml").read_text()
    (line,) = (project.cell_dir() / "misses.jsonl").read_text().splitlines()
    assert "never" in line


def test_a_signal_takes_everything_there_away(project: Project, contained: Add, remote: Elsewhere) -> None:
    project.environ.update(remote.tls())
    project.tests(SLOW)
    process = project.start("--stack-config", contained("toy"))
    in_two(project, process)
    process.send_signal(signal.SIGINT)
    output = project.finish(process)
    assert process.returncode == 130, output
    assert sweep.listed(remote.engine) == ()


def test_what_a_killed_run_left_there_goes_with_the_next(project: Project, contained: Add, remote: Elsewhere) -> None:
    project.environ.update(remote.tls())
    project.tests(SLOW)
    toy = contained("toy")
    process = project.start("--stack-config", toy)
    in_two(project, process)
    killed = project.run_dir().name
    project.kill(process, *(int(pid) for pid in children(process.pid)))
    assert {item.kind for item in sweep.listed(remote.engine)} == {"container", "network"}
    listed = project.run(program=("-m", "stackproof", "stack", "ps"))
    assert "abandoned" in listed.output
    project.tests("def test_passes(): pass\n")
    again = project.run("--stack-config", toy)
    assert again.code == 0, again.output
    assert f"run {killed} was killed; removed 2 containers and 1 network" in again.output


def children(pid: int) -> list[str]:
    """All processes below one."""
    own = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [*own, *(item for child in own for item in children(int(child)))]


@pytest.mark.parametrize("what", ["way", "engine"])
def test_what_breaks_in_the_middle_ends_the_run(project: Project, contained: Add, remote: Elsewhere, what: str) -> None:
    port = ports.free_port()
    project.environ.update(remote.tls(f"tcp://127.0.0.1:{port}"))
    project.tests(SLOW)
    with forwarder.forwarding(f"127.0.0.1:{port}", f"{THERE}:2376"):
        process = project.start("--stack-config", contained("toy"))
        in_two(project, process)
        if what == "engine":
            remote.run("sh", "-c", "kill -KILL $(cat /run/docker.pid)")
    (project.root / "go-on").touch()
    output = project.finish(process)
    if what == "engine":
        remote.again()
    for line in sweep.everything(remote.engine):
        assert "is down" in line
    assert process.returncode == 4, output
    assert "Traceback" not in output
    assert output.count(f"at tcp://127.0.0.1:{port} (DOCKER_HOST)") >= 1


def test_a_stack_is_kept_listed_read_and_taken_down_there(
    project: Project, begin: Begin, contained: Add, remote: Elsewhere
) -> None:
    project.environ.update(remote.tls())
    contained("toy")
    process = begin("toy", program=("-m", "stackproof", "stack", "up"))

    def kept() -> list[str]:
        found = list(project.root.glob(".stackproof/runs/*/cells/*/events.jsonl"))
        return [line for path in found for line in path.read_text().splitlines() if '"keep"' in line]

    project.wait_for("the stack", lambda: bool(kept()) or process.poll() is not None)
    assert process.poll() is None, project.finish(process)
    run = project.run_dir().name
    assert run in project.run(program=("-m", "stackproof", "stack", "ps")).output
    assert "starting\n" in project.run(run, program=("-m", "stackproof", "stack", "logs")).output
    down = project.run(run, program=("-m", "stackproof", "stack", "down"))
    assert down.output == f"run {run} left 2 containers and 1 network\n"
    output = project.finish(process)
    assert process.returncode == 1, output
    assert "toy was removed by somebody while it was kept" in output


def test_an_engine_that_says_nothing_has_a_deadline(remote: Elsewhere) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        said = refusal(remote.tls(f"tcp://127.0.0.1:{server.getsockname()[1]}"), patience=1.0)
    assert "it answered nothing in time" in said.message
