"""Containers beside a stack: in their order, watched from their first byte, and gone with it, whatever happens."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import conninfo
from tests.e2e.run.docker.neighbours import (
    ASK,
    JOB,
    PASSED_ON,
    SERVE,
    SERVICE,
    UNTIL_SEEN,
    Beside,
    PlaceOf,
    script,
    start_beside,
)

from stackproof import catalog
from stackproof.errors import DockerError, StackproofError, StackStartError
from stackproof.stack import container, labels, sweep
from stackproof.stack import engine as engines
from stackproof.stack.engine import Engine
from stackproof.stack.engine_records import Owned

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

Add = Callable[..., str]
SLOW = """
import pathlib, time
def test_one(): pass
def test_two():
    pathlib.Path("in-two").touch()
    time.sleep(900)
"""


def ours(engine: Engine) -> list[Owned]:
    """What runs of this stack have on the engine."""
    return [item for item in sweep.listed(engine) if item.labels.get(labels.STACK) == "shop"]


@pytest.fixture(autouse=True)
def nothing_of_ours_left(engine: Engine) -> Iterator[None]:
    """Fail a test that leaves something of its own on the engine."""
    yield
    assert ours(engine) == []


def log(project: Project, name: str) -> str:
    return (project.cell_dir() / f"{name}.log").read_text()


def test_each_starts_when_the_one_before_it_is_ready_and_the_stack_calls_them(
    project: Project, contained: Add, beside: Beside
) -> None:
    beside("third", needs=["second"], env={"URL": "{FIRST_URL}"}, **JOB, **script("echo third after $URL"))
    beside("second", needs=["first"], **JOB, **script("echo second; sleep 1; echo ended"))
    beside("first", env={"SAYS": "here I am"}, provides={"FIRST_URL": "http://{host}:{port}/"}, **SERVICE)
    project.tests(ASK + "def test_answers():\n    assert ask('/beside/') == 'here I am'\n")
    done = project.run("--stack-config", contained("shop", more=PASSED_ON, under_exec=True))
    assert done.code == 0, done.output
    assert "beside first, second, third, in containers of their own" in done.output
    told = [line.split()[1:3] for line in done.output.splitlines() if line.startswith("●")]
    assert told == [["first", "ready"], ["second", "completed"], ["third", "completed"], ["shop", "ready"]]
    assert log(project, "second") == "second\nended\n"
    assert log(project, "third") == "third after http://first:8000/\n"


def test_where_the_second_fails_the_first_is_gone_and_nothing_else_is_told(
    project: Project, contained: Add, beside: Beside
) -> None:
    beside("first", **SERVICE)
    beside("second", needs=["first"], ready={"command": ["false"], "timeout": 60}, **script("echo no good; exit 3"))
    stack = contained("shop")
    done = project.run("--stack-config", stack)
    assert done.code == 5, done.output
    assert "✗ second exited with code 3 after" in done.output
    assert "no good" in done.output
    assert "first exited" not in done.output
    assert not (project.cell_dir() / "stack.log").exists()


def test_an_early_end_is_told_at_once_with_what_it_wrote(project: Project, contained: Add, beside: Beside) -> None:
    waits = {"command": ["sh", "-c", "sleep 900"], "timeout": 900}
    beside("first", ready=waits, **script("echo starting; sleep 0.3; echo out of order >&2; exit 7"))
    done = project.run("--stack-config", contained("shop"))
    assert done.code == 5, done.output
    assert "first exited with code 7 after " in done.output
    assert log(project, "first") == "starting\nout of order\n"


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (
            # Long enough for an answer on a busy machine.
            {"ready": {"command": ["sh", "-c", "exit 9"], "timeout": 10}, **script("exec sleep 900")},
            "first is not ready: `sh -c 'exit 9'` in it exited with code 9, after 10 s",
        ),
        (
            {"ready": {"command": ["sleep", "900"], "timeout": 1}, **script("exec sleep 900")},
            "first is not ready: `sleep 900` in it was not answered, after 1 s",
        ),
        ({"ready": {"timeout": 1}, **JOB, **script("exec sleep 900")}, "first has not completed after 1 s"),
        ({**JOB, **script("exit 4")}, "; it has to end with 0"),
        ({"command": ["nowhere"], **JOB}, "first exited with code 127"),
        ({"env": {"A": "{B}"}, **JOB, **script("true")}, "A of container 'first' is made of B"),
    ],
    ids=["says-no", "hangs", "goes-on", "fails", "no-command", "no-variable"],
)
def test_what_is_not_ready_says_how(
    project: Project, contained: Add, beside: Beside, spec: dict[str, object], sentence: str
) -> None:
    beside("first", **spec)
    done = project.run("--stack-config", contained("shop"))
    assert done.code in (2, 5), done.output
    assert sentence in done.output
    assert "Traceback" not in done.output


class Breaking:
    """An engine that fails at one call of a kind, before it did what it was asked or after (`lost`).

    Each container beside a stack has another in its network for a moment: the second call may be about that one.
    """

    def __init__(self, engine: Engine, step: str, *, number: int, lost: bool) -> None:
        self._engine, self._step, self._number, self._lost = engine, step, number, lost
        self.called = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._engine, name)
        if name != self._step:
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            self.called += 1
            if self.called != self._number:
                return found(*args, **kwargs)
            if self._lost:
                found(*args, **kwargs)
            raise DockerError(f"the engine broke at {name}")

        return call

    def close(self) -> None:
        """Leave the engine of the tests open."""


@pytest.mark.parametrize("lost", [False, True], ids=["not-done", "answer-lost"])
@pytest.mark.parametrize(
    ("step", "number"), [("create", 2), ("create", 3), ("start", 2), ("start", 3), ("run_inside", 2), ("state", 2)]
)
def test_an_engine_that_fails_at_any_step_leaves_nothing(  # noqa: PLR0917 - fixtures
    project: Project,
    beside: Beside,
    engine: Engine,
    place_of: PlaceOf,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    number: int,
    lost: bool,
) -> None:
    broken = Breaking(engine, step, number=number, lost=lost)
    monkeypatch.setattr(engines, "connect", lambda *_, **__: broken)
    monkeypatch.setattr(container, "_ENDING", 0.5)  # it goes on, whatever its engine says
    for name in ("first", "second"):
        beside(name, ready={"command": ["true"]}, **script("exec sleep 900"))
    known = catalog.load(project.root)
    said = ""
    try:
        with place_of() as where, ExitStack() as undo:
            started = start_beside([known.container("first"), known.container("second")], where, undo, project.root)
            assert set(started.where.hosts) == {"first", "second"}
    except StackproofError as error:
        said = error.message
    assert broken.called >= number
    # The one that asks whether it is ready asks again.
    assert said in ("", f"the engine broke at {step}"), said
    assert ours(engine) == []


@pytest.mark.parametrize(("step", "number"), [("stop", 2), ("remove", 2), ("remove", 3)])
def test_an_engine_that_fails_while_everything_is_torn_down_does_not_hide_why(  # noqa: PLR0917 - fixtures
    project: Project,
    beside: Beside,
    engine: Engine,
    place_of: PlaceOf,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    number: int,
) -> None:
    broken = Breaking(engine, step, number=number, lost=False)
    monkeypatch.setattr(engines, "connect", lambda *_, **__: broken)
    beside("first", ready={"command": ["true"]}, **script("exec sleep 900"))
    beside("second", **JOB, **script("exit 3"))
    known = catalog.load(project.root)
    with pytest.raises(StackStartError, match="second exited with code 3"), place_of() as where, ExitStack() as undo:
        start_beside([known.container("first"), known.container("second")], where, undo, project.root)
    assert broken.called >= number
    assert ours(engine) == []


def test_one_that_ends_while_the_tests_run_is_told(project: Project, contained: Add, beside: Beside) -> None:
    ends = "        if self.path == '/end':\n            print('worn out', flush=True)\n            os._exit(3)\n\n"
    command = ["python3", "-c", SERVE.replace("    def log_message", f"{ends}    def log_message")]
    beside("first", provides={"FIRST_URL": "http://{host}:{port}/end"}, **{**SERVICE, "command": command})
    project.tests(ASK + "import time\ndef test_slow():\n    assert ask('/beside/') == ''\n    time.sleep(2)\n")
    done = project.run("--stack-config", contained("shop", more=PASSED_ON))
    assert done.code == 1, done.output
    assert "first exited with code 3 while the tests ran" in done.output
    assert "worn out" in done.output


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_the_second_starts_takes_both_away(  # noqa: PLR0917 - fixtures
    project: Project, contained: Add, beside: Beside, engine: Engine, signum: int, code: int
) -> None:
    beside("first", **SERVICE)
    beside("second", needs=["first"], **JOB, **script("echo here; exec sleep 900"))
    process = project.start("--stack-config", contained("shop"))
    # Two containers and the network.
    project.wait_for("the second", lambda: len(ours(engine)) == 3 or process.poll() is not None)
    process.send_signal(signum)
    output = project.finish(process)
    assert process.returncode == code, output
    assert ours(engine) == []


def test_secrets_arrive_unchanged_and_show_nowhere(
    project: Project, contained: Add, beside: Beside, engine: Engine
) -> None:
    secret = "tk-'\"$HOME `x` " + "7f3c2a91" * 3 + "\nanother line"
    beside("first", env={"SAYS": "{TOKEN}"}, provides={"FIRST_URL": "http://{host}:{port}/"}, **SERVICE)
    project.tests(
        ASK + f"import pathlib, time\ndef test_values():\n    assert ask('/beside/') == {secret!r}{UNTIL_SEEN}"
    )
    project.environ["TOKEN"] = secret
    process = project.start("--stack-config", contained("shop", more=PASSED_ON))
    project.wait_for("the test", lambda: (project.root / "in-two").exists() or process.poll() is not None)
    found = [item for item in ours(engine) if item.labels.get(labels.SERVICE) == "first"]
    inspected = json.dumps([engine.inspected(item.id) for item in found])
    listed = subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True, check=True).stdout
    (project.root / "go-on").touch()
    output = project.finish(process)
    assert process.returncode == 0, output
    assert len(found) == 1
    for shown in (inspected, listed, output, log(project, "first")):
        assert "7f3c2a91" not in shown
    for path in project.run_dir().rglob("*"):
        assert not path.is_file() or "7f3c2a91" not in path.read_text(errors="replace"), path


def test_what_a_killed_run_left_beside_its_stack_goes_at_the_next_start(
    project: Project, contained: Add, beside: Beside, engine: Engine
) -> None:
    beside("first", **SERVICE)
    project.tests(SLOW)
    stack = contained("shop")
    process = project.start("--stack-config", stack)
    project.wait_for("test two", lambda: (project.root / "in-two").exists() or process.poll() is not None)
    assert len(ours(engine)) == 3
    # The cell's process first: it would tear down when its orchestrator is gone.
    found = subprocess.run(
        ["pgrep", "-f", f"run.cell {project.cell_dir()}"], capture_output=True, text=True, check=True
    )
    project.kill(process, *map(int, found.stdout.split()))
    assert len(ours(engine)) == 3
    project.tests("def test_passes(): pass\n")
    done = project.run("--stack-config", stack)
    assert done.code == 0, done.output
    assert "was killed; removed 2 containers and 1 network" in done.output


def test_the_database_that_comes_with_it_is_empty_and_asks_for_its_password(
    project: Project, engine: Engine, place_of: PlaceOf
) -> None:
    known = catalog.load(project.root)
    postgres = known.container("postgres")
    if engine.image(postgres.docker.base) is None:
        pytest.skip(f"needs docker and the image {postgres.docker.base} (ci/postgres-image)")
    secret = 'pw \'of "nobody" 7f3c2a91'
    given = {"POSTGRES_DB": 'a "name"', "POSTGRES_USER": "some one", "POSTGRES_PASSWORD": secret}
    with place_of() as where, ExitStack() as undo:
        started = start_beside([postgres], where, undo, project.root, variables=given)
        assert started.provided == {"POSTGRES_HOST": "postgres", "POSTGRES_PORT": "5432"}
        where_it_is = conninfo.make_conninfo(
            host=started.where.hosts["postgres"], dbname='a "name"', user="some one", connect_timeout=60
        )
        with psycopg.connect(where_it_is, password=secret) as connection:
            assert connection.execute("SELECT count(*) FROM pg_class WHERE relname = 'entry'").fetchone() == (0,)
            assert connection.execute("SHOW server_encoding").fetchone() == ("UTF8",)
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(where_it_is, password="another")
        (database,) = [item for item in ours(engine) if item.kind == "container"]
        assert "7f3c2a91" not in json.dumps(engine.inspected(database.id))
    assert "7f3c2a91" not in (project.root / "cell" / "postgres.log").read_text()


def test_a_stack_of_another_mode_says_that_it_needs_containers(
    project: Project, beside: Beside, engine: Engine
) -> None:
    beside("first", provides={"FIRST_URL": "http://{host}:{port}/"}, **SERVICE)
    done = project.run("--stack-config", "server:toy")
    assert done.code == 2, done.output
    assert "setup 'local' needs first beside the stack, which only runs in containers start: server:toy" in done.output
    assert "--env FIRST_URL=…" in done.output


def test_an_image_that_is_not_there_is_named_before_anything_starts(
    project: Project, contained: Add, beside: Beside
) -> None:
    beside("first", **SERVICE)
    beside("second", docker={"image": "nobody/has:this"}, **JOB)
    done = project.run("--stack-config", contained("shop"))
    assert done.code == 4, done.output
    assert "the image of container 'second', nobody/has:this, is not on the engine at" in done.output
    assert not (project.cell_dir() / "first.log").exists()
