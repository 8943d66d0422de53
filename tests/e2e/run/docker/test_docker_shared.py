"""Cells of one run in one container, one after another: each as if it had one to itself."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stackproof.stack import labels, sweep
from stackproof.stack.engine import Engine
from stackproof.stack.engine_records import Owned

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

Add = Callable[..., str]
Begin = Callable[..., subprocess.Popen[str]]

TOLD = """
        if self.path.startswith("/python/"):
            import urllib.parse
            names = {{"os": os, "json": json}}
            body = json.dumps(eval(urllib.parse.unquote(self.path[8:]), names)).encode()
"""
ASK = """
import json, os, pathlib, time, urllib.parse, urllib.request

def ask(code):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    url = os.environ["STACKPROOF_API_BASE_URL"] + "/python/" + urllib.parse.quote(code, safe="")
    with opener.open(url, timeout=20) as answer:
        return json.loads(answer.read())
"""
FACTS = """
import errno
PROGRAMS = "[open('/proc/' + name + '/cmdline').read() for name in os.listdir('/proc') if name.isdigit()]"
def test_facts():
    run_dir = os.environ["STACKPROOF_RUN_DIR"]
    assert ask("os.environ['STACKPROOF_RUN_DIR']") == run_dir
    # Nothing that a process of an earlier cell kept in memory is there.
    assert ask("os.__dict__.setdefault('counted', []).append(1) or len(os.counted)") == 1
    assert ask("os.path.exists('/dev/shm/seen') or bool(open('/dev/shm/seen', 'w'))") is True
    assert ask("open('/dev/shm/seen').read()") == ""
    # Nothing gets out, in the first cell as in the last.
    assert ask("__import__('socket').socket().connect_ex(('192.0.2.1', 80))") == errno.ENETUNREACH
    facts = {"host": ask("os.uname().nodename"), "pid": ask("os.getpid()")}
    facts["rights"] = ask("[line for line in open('/proc/self/status') if line.startswith('CapBnd')][0].split()[1]")
    facts["others"] = ask(PROGRAMS)
    pathlib.Path(run_dir, "facts.json").write_text(json.dumps(facts))
"""
NET_ADMIN = 1 << 12


@pytest.fixture
def shared(project: Project, contained: Add) -> Callable[..., str]:
    """Adds a stack whose container cells may share, and so many suites with a test each; what --suite takes."""

    def add(count: int, *, before: str = "", tests: str = FACTS, yes: bool = True) -> str:
        contained("toy", before=before, more=TOLD.replace("{{", "{").replace("}}", "}"))
        path = project.root / "stacks" / "toy" / "stack.yaml"
        if yes:
            path.write_text(path.read_text().replace("context: [server.py]", "context: [server.py], shared: true"))
        names = [f"c{number}" for number in range(count)]
        suites = {
            name: {"description": "d", "roots": [f"tests/integration/{name}"], "default_setup": "local"}
            for name in names
        }
        (project.root / "tests" / "suites.yaml").write_text(json.dumps({"suites": suites}))
        for name in names:
            folder = project.root / "tests" / "integration" / name
            folder.mkdir(parents=True)
            (folder / f"test_{name}.py").write_text(ASK + tests)
        return ",".join(names)

    return add


@pytest.fixture
def asked(project: Project, engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """What runs of the project ask of the engine from now on, `POST /containers/create` and the like."""
    heard: list[str] = []
    path = tmp_path_factory.mktemp("engine") / "docker.sock"
    target = str(engine.endpoint.socket)
    ended = threading.Event()

    def pump(source: socket.socket, sink: socket.socket, *, listen: bool) -> None:
        try:
            while piece := source.recv(65536):
                if listen:
                    heard.extend(
                        f"{method.decode()} {url.decode()}"
                        for method, url in re.findall(
                            rb"(GET|POST|DELETE|HEAD|PUT) /v[\d.]+(/[^ ?]*)[^\r]* HTTP/1", piece
                        )
                    )
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def accept(server: socket.socket) -> None:
        while not ended.is_set():
            try:
                near, _ = server.accept()
            except TimeoutError:
                continue
            far = socket.socket(socket.AF_UNIX)
            far.connect(target)
            ways = [
                threading.Thread(target=pump, args=(near, far), kwargs={"listen": True}, daemon=True),
                threading.Thread(target=pump, args=(far, near), kwargs={"listen": False}, daemon=True),
            ]
            for way in ways:
                way.start()
            threading.Thread(target=close, args=(ways, near, far), daemon=True).start()

    def close(ways: list[threading.Thread], *ends: socket.socket) -> None:
        for way in ways:
            way.join()
        for end in ends:
            end.close()

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        server.settimeout(0.2)
        accepting = threading.Thread(target=accept, args=(server,), daemon=True)
        accepting.start()
        project.environ["DOCKER_HOST"] = f"unix://{path}"
        yield heard
        ended.set()
        accepting.join()


def cells(project: Project) -> list[Path]:
    """The folders of the newest run's cells, in the order of their names."""
    return sorted((project.run_dir() / "cells").iterdir())


def facts(project: Project) -> list[dict[str, object]]:
    """What the tests of each cell wrote down."""
    return [json.loads((cell / "facts.json").read_text()) for cell in cells(project)]


def of_run(engine: Engine, project: Project) -> list[Owned]:
    """What the newest run has on the engine."""
    return [item for item in sweep.listed(engine) if item.labels[labels.RUN] == project.run_dir().name]


def made(asked: list[str]) -> dict[str, int]:
    """How often the engine was asked for what takes time."""
    return {what: asked.count(what) for what in ("POST /build", "POST /containers/create", "POST /networks/create")}


@pytest.mark.usefixtures("fresh")
def test_ten_cells_have_one_image_and_one_container(
    project: Project, shared: Callable[..., str], asked: list[str]
) -> None:
    suites = shared(10)
    done = project.run("--suite", suites, "--stack-config", "docker:toy")
    assert done.code == 0, done.output
    assert made(asked) == {"POST /build": 1, "POST /containers/create": 1, "POST /networks/create": 1}
    # Which image it is was found out once, before anything was made.
    assert [line for line in asked[asked.index("POST /networks/create") :] if "/images/" in line] == []
    found = facts(project)
    assert len({str(item["host"]) for item in found}) == 1
    assert len({str(item["pid"]) for item in found}) == 10
    for item, cell in zip(found, cells(project), strict=True):
        assert int(str(item["rights"]), 16) & NET_ADMIN == 0
        programs = [program for program in item["others"] if "server.py" in program and "enter.py" not in program]  # type: ignore[attr-defined]
        assert len([program for program in programs if "supervise.py" not in program]) == 1
        log = (cell / "stack.log").read_text()
        assert log.startswith("starting\n")
        assert log.count("starting") == 1
    assert not list(project.run_dir().glob("shared/*.json"))


@pytest.mark.usefixtures("fresh")
def test_cells_of_a_stack_that_does_not_say_so_have_a_container_each_and_one_image(
    project: Project, shared: Callable[..., str], asked: list[str]
) -> None:
    suites = shared(3, yes=False)
    done = project.run("--suite", suites, "--stack-config", "docker:toy")
    assert done.code == 0, done.output
    assert made(asked) == {"POST /build": 1, "POST /containers/create": 3, "POST /networks/create": 3}
    assert [line for line in asked[asked.index("POST /networks/create") :] if "/images/" in line] == []
    assert len({str(item["host"]) for item in facts(project)}) == 3


@pytest.mark.usefixtures("far")
def test_where_containers_see_no_folder_of_this_machine_each_cell_has_its_own(
    project: Project, shared: Callable[..., str]
) -> None:
    test = "def test_answers():\n    assert ask('os.getpid()') > 0\n"
    done = project.run("--suite", shared(2, tests=test), "--stack-config", "docker:toy")
    assert done.code == 0, done.output
    assert done.output.count(" are copied") == 2
    assert not list(project.run_dir().glob("shared/*.json"))


@pytest.mark.parametrize(
    ("breaks", "told"),
    [
        ("os.kill(-1, 9)", "while the tests ran"),
        ("os._exit(9)", "exited with code 9 while the tests ran"),
        ("os.kill(os.getpid(), 9)", "was ended by SIGKILL while the tests ran"),
    ],
    ids=["kills all", "exits", "is killed"],
)
def test_a_cell_that_breaks_the_container_does_not_fail_the_next_one(
    project: Project, shared: Callable[..., str], breaks: str, told: str
) -> None:
    suites = shared(3)
    path = project.root / "tests" / "integration" / "c1" / "test_c1.py"
    path.write_text(
        ASK + "import contextlib\ndef test_breaks():\n    with contextlib.suppress(OSError):\n"
        f"        ask({breaks!r})\n"
        "    time.sleep(0.3)\n"
        "    pathlib.Path(os.environ['STACKPROOF_RUN_DIR'], 'facts.json').write_text('{\"host\": \"broken\"}')\n"
    )
    done = project.run("--suite", suites, "--stack-config", "docker:toy")
    assert done.code == 1, done.output
    assert "PASS  c0" in done.output
    assert "FAIL  c1" in done.output
    assert told in done.output
    assert "PASS  c2" in done.output
    first, _, last = facts(project)
    assert first["host"] != last["host"]


STARTS_BADLY = """
if os.environ["STACKPROOF_SUITE"] == "c1":
    print("no good", flush=True)
    os._exit(3)
"""


def test_an_early_death_is_told_as_that_of_a_container_of_its_own(project: Project, shared: Callable[..., str]) -> None:
    done = project.run("--suite", shared(3, before=STARTS_BADLY), "--stack-config", "docker:toy")
    assert done.code == 5, done.output
    assert "toy did not start in the container of an earlier cell, and gets a new one" in done.output
    assert "toy exited with code 3 after" in done.output
    assert "no good" in done.output
    assert (cells(project)[1] / "stack.log").read_text() == "starting\nno good\n" * 2


LEAVES = """
def test_leaves_something():
    ask("open('/var/tmp/left-by-' + os.environ['STACKPROOF_SUITE'], 'w').close()")
    pathlib.Path(os.environ['STACKPROOF_RUN_DIR'], 'facts.json').write_text(json.dumps({
        "host": ask("os.uname().nodename"), "left": ask("os.listdir('/var/tmp')")}))
"""


def test_a_container_in_which_a_file_stays_is_not_handed_on(project: Project, shared: Callable[..., str]) -> None:
    done = project.run("--suite", shared(2, tests=LEAVES), "--stack-config", "docker:toy")
    assert done.code == 0, done.output
    assert "toy left /var/tmp/left-by-c0 in its container: the next cell gets a new one" in done.output
    first, last = facts(project)
    assert first["host"] != last["host"]
    assert (first["left"], last["left"]) == (["left-by-c0"], ["left-by-c1"])


DAEMON = """
PROGRAMS = "[open('/proc/' + name + '/cmdline').read() for name in os.listdir('/proc') if name.isdigit()]"
def test_starts_a_daemon():
    assert not [name for name in ask(PROGRAMS) if "sleep" in name]
    ask("os.spawnlp(os.P_NOWAIT, 'setsid', 'setsid', 'sh', '-c', 'trap : TERM; while :; do sleep 3; done')")
    facts = {"host": ask("os.uname().nodename")}
    pathlib.Path(os.environ['STACKPROOF_RUN_DIR'], 'facts.json').write_text(json.dumps(facts))
"""


def test_what_ran_away_from_its_cell_is_gone_before_the_next(project: Project, shared: Callable[..., str]) -> None:
    done = project.run("--suite", shared(2, tests=DAEMON), "--stack-config", "docker:toy")
    assert done.code == 0, done.output
    first, last = facts(project)
    assert first["host"] == last["host"]


WAITS = """
def test_waits():
    if os.environ["STACKPROOF_SUITE"] == "c1":
        pathlib.Path("in-c1").touch()
        time.sleep(60)
"""


def in_second(project: Project, process: subprocess.Popen[str]) -> None:
    project.wait_for("cell two", lambda: (project.root / "in-c1").exists() or process.poll() is not None, timeout=60)
    assert process.poll() is None, project.finish(process)


def pids(project: Project, process: subprocess.Popen[str]) -> list[int]:
    """The processes of the newest run's cells."""
    command = ["pgrep", "-f", f"stackproof.run.cell {project.run_dir()}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [int(line) for line in done.stdout.split() if int(line) != process.pid]


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_takes_the_container_away(
    project: Project, shared: Callable[..., str], engine: Engine, signum: int, code: int
) -> None:
    process = project.start("--suite", shared(3, tests=WAITS), "--stack-config", "docker:toy")
    in_second(project, process)
    assert {item.kind for item in of_run(engine, project)} == {"container", "network"}
    process.send_signal(signum)
    output = project.finish(process)
    assert process.returncode == code, output
    assert of_run(engine, project) == []


def test_a_cell_that_is_killed_leaves_nothing_to_its_run(
    project: Project, shared: Callable[..., str], engine: Engine
) -> None:
    process = project.start("--suite", shared(3, tests=WAITS), "--stack-config", "docker:toy")
    in_second(project, process)
    (pid,) = pids(project, process)
    os.kill(pid, signal.SIGKILL)
    output = project.finish(process)
    assert process.returncode not in (0, None), output
    assert of_run(engine, project) == []


def test_what_a_killed_run_left_goes_at_the_next_start(
    project: Project, shared: Callable[..., str], engine: Engine
) -> None:
    suites = shared(3, tests=WAITS)
    process = project.start("--suite", suites, "--stack-config", "docker:toy")
    in_second(project, process)
    left = of_run(engine, project)
    run = project.run_dir()
    project.kill(process, *pids(project, process))
    # Nobody reads the stack's input any more: it has ended, and only what holds the container is there.
    assert [item.kind for item in of_run(engine, project)] == [item.kind for item in left]
    (project.root / "in-c1").unlink()
    again = project.run("--suite", "c0", "--stack-config", "docker:toy")
    assert again.code == 0, again.output
    assert f"run {run.name} was killed; removed 1 container and 1 network" in again.output


def test_an_orchestrator_that_is_killed_leaves_nothing(
    project: Project, shared: Callable[..., str], engine: Engine
) -> None:
    process = project.start("--suite", shared(3, tests=WAITS), "--stack-config", "docker:toy")
    in_second(project, process)
    process.kill()
    project.finish(process)
    project.wait_for("the end of the container", lambda: of_run(engine, project) == [], timeout=40)


def test_a_kept_stack_is_reached_and_taken_away(project: Project, shared: Callable[..., str], engine: Engine) -> None:
    process = project.start("--suite", shared(2), "--stack-config", "docker:toy", "--keep")

    def kept() -> bool:
        return any(
            '"keep"' in path.read_text() for path in project.root.glob(".stackproof/runs/*/cells/*/events.jsonl")
        )

    project.wait_for("the stack", lambda: kept() or process.poll() is not None, timeout=60)
    assert process.poll() is None, project.finish(process)
    assert {item.kind for item in of_run(engine, project)} == {"container", "network"}
    process.send_signal(signal.SIGINT)
    project.finish(process)
    assert of_run(engine, project) == []


HUNGRY = """
def test_eats():
    if os.environ["STACKPROOF_SUITE"] == "c1":
        pathlib.Path("in-c1").touch()
        while not pathlib.Path("go").exists():
            time.sleep(0.05)
        try:
            ask("len(bytearray(os.urandom(1) * 400_000_000))")
        except OSError:
            time.sleep(0.5)
"""


def test_a_stack_that_runs_out_of_memory_is_told_so(
    project: Project, shared: Callable[..., str], engine: Engine
) -> None:
    process = project.start("--suite", shared(3, tests=HUNGRY), "--stack-config", "docker:toy")
    in_second(project, process)
    (container,) = [item for item in of_run(engine, project) if item.kind == "container"]
    command = ["docker", "update", "--memory", "64m", "--memory-swap", "64m", container.id]
    limited = subprocess.run(command, capture_output=True, text=True, check=False)
    (project.root / "go").touch()
    output = project.finish(process, 120)
    if limited.returncode != 0:
        pytest.skip(f"needs a limit for memory: {limited.stderr}")
    assert process.returncode == 1, output
    assert "toy was ended by the engine: it ran out of memory while the tests ran" in output
    assert "PASS  c2" in output


NOTES_ITS_END = """
import signal, time

def ended(*_):
    with open(os.environ["STACKPROOF_RUN_DIR"] + "/told", "w") as file:
        file.write(repr(time.time()))
    os._exit(0)

signal.signal(signal.SIGTERM, ended)
"""
ENDS_SLOWLY = (
    ASK
    + """
import atexit

def note(name):
    pathlib.Path(os.environ["STACKPROOF_RUN_DIR"], name).write_text(repr(time.time()))

def pytest_unconfigure():
    ask("1")
    note("last")

atexit.register(lambda: (time.sleep(0.7), note("gone")))
"""
)


@pytest.mark.parametrize("yes", [True, False], ids=["shared", "alone"])
def test_a_stack_ends_while_its_pytest_does_and_not_before_that_has_done_with_it(
    project: Project, shared: Callable[..., str], yes: bool
) -> None:
    suites = shared(2, before=NOTES_ITS_END, yes=yes, tests="def test_passes(): pass\n")
    (project.root / "tests" / "integration" / "conftest.py").write_text(ENDS_SLOWLY)
    done = project.run("--suite", suites, "--stack-config", "docker:toy")
    assert done.code == 0, done.output
    for cell in cells(project):
        last, told, gone = (float((cell / name).read_text()) for name in ("last", "told", "gone"))
        assert last < told < gone


def test_a_stack_is_there_for_what_comes_after_the_tests(project: Project, shared: Callable[..., str]) -> None:
    suites = shared(2, before=NOTES_ITS_END, tests="def test_passes(): pass\n")
    command = "sleep 0.3; touch $STACKPROOF_RUN_DIR/after; test ! -e $STACKPROOF_RUN_DIR/told"
    done = project.run("--suite", suites, "--stack-config", "docker:toy", "--post-command", command)
    assert done.code == 0, done.output
    assert all((cell / "after").exists() and (cell / "told").exists() for cell in cells(project))
