"""Cells of one run in one container, one after another: each as if it had one to itself."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from stackproof.stack.engine import Engine

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project
from tests.e2e.run.docker.shared.conftest import ASK, UNTIL_ENDED, cells, facts

NET_ADMIN = 1 << 12


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
    ("breaks", "until", "told"),
    [
        # Whoever would note the end ends, too: the engine takes a moment to say that the container has ended.
        ("os.kill(-1, 9)", "time.sleep(3)", "while the tests ran"),
        ("os._exit(9)", "until_ended()", "exited with code 9 while the tests ran"),
        ("os.kill(os.getpid(), 9)", "until_ended()", "was ended by SIGKILL while the tests ran"),
    ],
    ids=["kills all", "exits", "is killed"],
)
def test_a_cell_that_breaks_the_container_does_not_fail_the_next_one(
    project: Project, shared: Callable[..., str], breaks: str, until: str, told: str
) -> None:
    suites = shared(3)
    path = project.root / "tests" / "integration" / "c1" / "test_c1.py"
    path.write_text(
        ASK + UNTIL_ENDED + "import contextlib\ndef test_breaks():\n    with contextlib.suppress(OSError):\n"
        f"        ask({breaks!r})\n"
        f"    {until}\n"
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
