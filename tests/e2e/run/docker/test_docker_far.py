"""An engine that shares neither folders nor addresses: the same runs, with copies and a container that leads there.

The engine of this machine is made to look like one: reached over TCP, and told to be treated as if it shared nothing.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.catalog.stacks import load_stack
from stackproof.errors import DockerError
from stackproof.stack import engine as engines
from stackproof.stack import labels, luggage, place, sharing, stack_container, sweep
from stackproof.stack.engine import Engine

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

Add = Callable[..., str]
BASE = "STACKPROOF_DOCKER_BASE"

ASK = """
import json, os, urllib.request

def ask(path):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(os.environ["STACKPROOF_API_BASE_URL"] + path, timeout=60) as answer:
        return answer.read().decode()
"""
WAY_OUT = """
        if self.path.startswith("/out/"):
            import socket, time
            began, said = time.monotonic(), "connected"
            try:
                host = self.path.rpartition("/")[2]
                where = socket.getaddrinfo(host, 80, type=socket.SOCK_STREAM)[0][4]
                socket.create_connection(where[:2], timeout=30).close()
            except Exception as error:
                said = type(error).__name__ + ": " + str(error)
            body = json.dumps([said, time.monotonic() - began]).encode()
"""
WRITES = "open(os.environ['STACKPROOF_RUN_DIR'] + '/written', 'w').write('by the stack')"


def outcomes(project: Project) -> dict[str, str]:
    """Outcome of each test of the newest run, by the name of its function."""
    lines = (project.cell_dir() / "tests.jsonl").read_text().splitlines()
    events = [event for event in map(json.loads, lines) if event["event"] == "test"]
    return {event["nodeid"].partition("::")[2]: event["outcome"] for event in events}


@pytest.mark.usefixtures("far")
def test_tests_reach_a_stack_that_shares_nothing_and_all_of_it_comes_out(project: Project, contained: Add) -> None:
    project.tests(ASK + "def test_answers():\n    assert ask('/x') == 'ok'\n")
    done = project.run("--stack-config", contained("distant", before=WRITES))
    assert done.code == 0, done.output
    assert "sees no folders of this machine (STACKPROOF_DOCKER_SHARING=copy): " in done.output
    assert "cannot be reached from here: a container leads to it" in done.output
    assert "sealed (network namespace)" in done.output
    assert (project.cell_dir() / "written").read_text() == "by the stack"
    assert (project.cell_dir() / "stack.log").read_text().startswith("starting\n")


@pytest.mark.usefixtures("far")
def test_nothing_gets_out_of_the_container_in_replay(project: Project, contained: Add) -> None:
    project.tests(
        ASK + "import pytest\n"
        "@pytest.mark.parametrize('host', ['192.0.2.1', '10.255.255.1', 'api.openai.com'])\n"
        "def test_no_way_out(host):\n"
        "    said, seconds = json.loads(ask('/out/' + host))\n"
        "    assert said != 'connected' and seconds < 4, (said, seconds)\n"
    )
    done = project.run("--stack-config", contained("distant", more=WAY_OUT))
    assert done.code == 0, done.output


KILL = """
import os, pathlib, signal
for pid in filter(str.isdigit, os.listdir("/proc")):
    words = pathlib.Path("/proc", pid, "cmdline").read_text().split(chr(0))
    if words[1:2] and words[1].endswith("mirror_inside.py"):
        os.kill(int(pid), signal.SIGKILL)
"""


@pytest.mark.usefixtures("far")
def test_when_nobody_can_tell_what_the_stack_called_no_test_passes(
    project: Project, contained: Add, engine: Engine
) -> None:
    project.tests(
        ASK + "import pathlib, time\n"
        "def test_before(): pass\n"
        "def test_two():\n    pathlib.Path('in-two').touch()\n"
        "    for _ in range(6000):\n        if pathlib.Path('go-on').exists(): break\n        time.sleep(0.05)\n"
    )
    process = project.start("--stack-config", contained("distant", under_exec=True))
    project.wait_for("test two", lambda: (project.root / "in-two").exists() or process.poll() is not None)
    run_id = json.loads((project.cell_dir() / "cell.json").read_text())["run_id"]
    own = [item for item in sweep.listed(engine) if item.labels[labels.RUN] == run_id]
    assert {item.kind for item in own} == {"container", "network"}
    (stack,) = [item for item in own if "-distant-" in item.name]
    assert engine.run_inside(stack.id, ["python3", "-c", KILL]) == 0
    (project.root / "go-on").touch()
    output = project.finish(process)
    assert process.returncode == 4, output
    assert outcomes(project) == {"test_before": "passed", "test_two": "error"}
    assert "what the stack calls cannot be read out of its container" in output
    assert "Traceback" not in output


@pytest.mark.usefixtures("far")
def test_an_early_death_is_told_with_its_log(project: Project, contained: Add) -> None:
    done = project.run("--stack-config", contained("distant", before=f"{WRITES}\nprint('no good')\nsys.exit(3)"))
    assert done.code == 5, done.output
    assert "distant exited with code 3 after" in done.output
    assert (project.cell_dir() / "stack.log").read_text() == "starting\nno good\n"
    assert (project.cell_dir() / "written").exists()


def test_recordings_that_the_container_cannot_read_are_told_before_the_stack_starts(
    project: Project, contained: Add, far: None
) -> None:
    """A link out of the folder leads somewhere here, and nowhere in a container that has only the folder."""
    folder = project.root / "recordings/local/base"
    folder.mkdir(parents=True)
    (project.root / "kept-elsewhere.json").write_text("{}")
    (folder / "recording.json").symlink_to(project.root / "kept-elsewhere.json")
    stack = contained("distant")
    copied = project.run("--stack-config", stack)
    assert copied.code == 0, copied.output
    project.environ[sharing.VARIABLE] = ""
    mounted = project.run("--stack-config", stack)
    assert mounted.code == 4, mounted.output
    assert f"distant cannot read the recordings in {project.root}/recordings: its container runs as" in mounted.output
    assert "with STACKPROOF_DOCKER_SHARING=copy the files are copied" in mounted.output
    assert (project.cell_dir() / "stack.log").read_text() == ""


@pytest.mark.usefixtures("far")
@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_takes_both_containers_away(project: Project, contained: Add, signum: int, code: int) -> None:
    project.tests("import pathlib, time\ndef test_two():\n    pathlib.Path('in-two').touch()\n    time.sleep(900)\n")
    process = project.start("--stack-config", contained("distant"))
    project.wait_for("test two", lambda: (project.root / "in-two").exists() or process.poll() is not None)
    process.send_signal(signum)
    output = project.finish(process)
    assert process.returncode == code, output


def test_a_folder_that_the_engine_does_not_know_is_copied(project: Project, contained: Add, engine: Engine) -> None:
    """As in a CI job's container that was given the socket of its host's engine: the mount fails, a copy does not."""
    said = _told_while(project, contained, _Foreign(engine))
    assert "sees no folders of this machine (" in said[0]
    assert "are copied" in said[0]


def test_an_archive_that_comes_out_cut_is_one_sentence(project: Project, contained: Add, engine: Engine) -> None:
    with pytest.raises(DockerError, match="not all that distant wrote in its container came out of it: the archive"):
        _told_while(project, contained, _Cut(engine), environment={sharing.VARIABLE: "copy"})


def test_a_full_disk_on_this_side_is_one_sentence(
    project: Project, contained: Add, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(luggage, "unpack", full)
    with pytest.raises(DockerError, match="cannot be kept here: No space left on device"):
        _told_while(project, contained, engine, environment={sharing.VARIABLE: "copy"})


def test_no_archive_can_be_taken_in_and_it_is_one_sentence(project: Project, contained: Add, engine: Engine) -> None:
    with pytest.raises(DockerError, match=r"copying into container .*no space left on device"):
        _told_while(project, contained, _Full(engine), environment={sharing.VARIABLE: "copy"})


class _Other:
    """The engine, but for what a subclass does in another way."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def close(self) -> None:
        """Leave the engine of the tests open."""


class _Foreign(_Other):
    def create(self, spec: Any) -> str:
        """An engine for which no path of this machine exists."""
        if spec.mounts:
            raise DockerError('invalid mount config for type "bind": bind source path does not exist: /x')
        return self._engine.create(spec)


class _Cut(_Other):
    def get(self, container: str, path: str) -> Iterator[bytes] | None:
        """Everything but the end."""
        whole = b"".join(self._engine.get(container, path) or ())
        return iter([whole[: len(whole) // 2 - len(whole) // 2 % tarfile.BLOCKSIZE]])


class _Full(_Other):
    def put(self, container: str, folder: str, archive: Any) -> None:
        """To the engine's own words: a folder in memory that is too small, on the engine's machine."""
        raise DockerError(f"the engine failed while copying into container {container[:12]}: no space left on device")


def _told_while(
    project: Project, contained: Add, engine: Any, *, environment: dict[str, str] | None = None
) -> list[str]:
    """What is said while a stack starts, answers, and ends."""
    said: list[str] = []
    with _started(project, contained, engine, said, environment or {}) as url:
        host, _, port = url.removeprefix("http://").rpartition(":")
        with socket.create_connection((host, int(port)), timeout=60):
            pass
    return said


@contextmanager
def _started(
    project: Project, contained: Add, engine: Any, said: list[str], environment: dict[str, str]
) -> Iterator[str]:
    contained("distant")
    cell_dir = project.root / "cell"
    cell_dir.mkdir()
    stack = load_stack(project.root / "stacks/distant/stack.yaml", shown="stack.yaml")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engines, "connect", lambda *_, **__: engine)
        with (
            place.opened(
                stack,
                run_id="farfar",
                owner=os.getpid(),
                internal=True,
                environment={**project.environ, **environment},
                without="",
                say=lambda _: None,
                check=lambda: None,
            ) as where,
            stack_container.server(
                stack,
                where,
                variables={"STACKPROOF_INFERENCE_MODE": "live"},
                cell_dir=cell_dir,
                recordings=luggage.recordings(project.root / "recordings", "local", (), "tests/integration"),
                timeout=90,
                say=said.append,
                check=lambda: None,
            ) as handle,
        ):
            yield handle.base_url
