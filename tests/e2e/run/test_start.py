"""Stacks that do not start, in every way they do not: each is named, with exit code 5, and leaves nothing."""

from __future__ import annotations

import http.server
import json
import os
import re
import threading
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project


def test_a_stack_that_exits_is_named_at_once_with_its_code_and_its_last_words(project: Project) -> None:
    # Waited for until its time is up, the run would not end before the test has given it up.
    project.stack("toy", before="import time; time.sleep(0.2); print('no module: anthropic'); sys.exit(3)", timeout=900)
    done = project.run()
    assert done.code == 5, done.output
    assert re.search(r"✗ toy exited with code 3 after \d+\.\d s, before ", done.output)
    assert "/health answered" in done.output
    assert "no module: anthropic" in done.output
    assert "again: stackproof run" in done.output
    assert project.outcome()["exit_code"] is None


def test_a_stack_that_a_signal_ended_is_named_with_it(project: Project) -> None:
    project.stack("toy", before="import signal; os.kill(os.getpid(), signal.SIGSEGV)")
    done = project.run()
    assert done.code == 5, done.output
    assert "toy was ended by SIGSEGV after" in done.output


def test_another_status_is_not_ready_and_says_which(project: Project) -> None:
    project.stack("toy", status=404, timeout=6)  # enough for its first answer on a busy machine
    done = project.run()
    assert done.code == 5, done.output
    assert "toy is not ready: http://127.0.0.1:" in done.output
    assert "/health answered 404 after 6 s; 200 was expected" in done.output


def test_a_port_that_takes_connections_and_says_nothing_is_not_ready(project: Project) -> None:
    mute = "import socket, time; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); time.sleep(900)"
    project.stack("toy", before=mute, timeout=6)
    done = project.run()
    assert done.code == 5, done.output
    assert "took the connection but answered nothing after 6 s" in done.output


def test_a_stack_that_never_listens_is_not_ready(project: Project) -> None:
    project.stack("toy", before="import time; time.sleep(900)", timeout=1.5)
    done = project.run()
    assert done.code == 5, done.output
    assert "nothing listens there after 1.5 s" in done.output


def test_a_program_that_does_not_exist_is_named(project: Project) -> None:
    path = project.root / "stacks" / "toy" / "stack.yaml"
    path.write_text(path.read_text().replace("{python}", "no-such-program"))
    done = project.run()
    assert done.code == 5, done.output
    assert "there is no program 'no-such-program'" in done.output


def test_a_foreign_server_on_a_fixed_port_is_named_and_left_alone(project: Project) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as foreign:
        threading.Thread(target=foreign.serve_forever, daemon=True).start()
        project.stack("toy", more=f"port: {foreign.server_port}")
        # In a namespace of its own the port would be free.
        done = project.run("--seal", "never")
        foreign.shutdown()
    assert done.code == 5, done.output
    assert f"toy cannot have port {foreign.server_port}: process {os.getpid()} (" in done.output
    assert "starting" not in done.output
    assert not (project.cell_dir() / "stack.log").exists()


def test_a_server_that_left_the_family_and_answers_in_its_place_is_foreign(project: Project) -> None:
    # It gives its port to a process that wipes its environment and runs away, and waits itself.
    steal = (
        "import time\n"
        "script = 'import http.server, sys; http.server.test(port=int(sys.argv[1]), bind=\"127.0.0.1\")'\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        os.execve(sys.executable, [sys.executable, '-c', script, sys.argv[1]], {'PROOF': os.getcwd()})\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
        "time.sleep(900)\n"
    )
    project.stack("toy", before=steal)
    done = project.run()
    assert done.code == 5, done.output
    assert "toy cannot have port" in done.output


@pytest.mark.parametrize("keep_out", ["-I", "-E", "-S"])
def test_an_interpreter_that_keeps_the_recorder_out_is_named_with_the_remedy(project: Project, keep_out: str) -> None:
    path = project.root / "stacks" / "toy" / "stack.yaml"
    text = path.read_text().replace("under_exec: false", "under_exec: true")
    path.write_text(text.replace('"{python}", ', f'"{{python}}", "{keep_out}", '))
    done = project.run()
    assert done.code == 5, done.output
    assert "the recorder was not loaded in the process that answers for toy" in done.output
    assert f"`python {keep_out}` " in done.output
    assert "`recorder: edge`" in done.output


def test_under_exec_the_recorder_is_loaded_and_the_process_stays_the_same(project: Project) -> None:
    path = project.root / "stacks" / "toy" / "stack.yaml"
    path.write_text(path.read_text().replace("under_exec: false", "under_exec: true"))
    done = project.run()
    assert done.code == 0, done.output
    assert list((project.cell_dir() / "marks").glob("*.json"))
    assert "ids: not seen by the stack, whose server is unknown" in done.output


def test_nothing_is_said_of_ids_where_the_server_is_known(project: Project) -> None:
    path = project.root / "stacks" / "toy" / "stack.yaml"
    path.write_text(path.read_text().replace("under_exec: false", "under_exec: true"))
    (path.parent / "server.py").write_text(
        "import sys\n"
        "from wsgiref.simple_server import demo_app, make_server\n"
        "make_server('127.0.0.1', int(sys.argv[1]), demo_app).serve_forever()\n"
    )
    done = project.run()
    assert done.code == 0, done.output
    marks = [json.loads(path.read_text()) for path in (project.cell_dir() / "marks").glob("*.json")]
    assert "wsgiref" in {mark.get("server") for mark in marks}
    assert "ids:" not in done.output


def test_a_proxy_of_the_caller_is_not_asked_about_readiness(project: Project) -> None:
    project.environ.update(http_proxy="http://192.0.2.1:9", HTTP_PROXY="http://192.0.2.1:9")
    assert project.run().code == 0


LIBRARY = """
description: an app in the process of its tests
modes: [library]
python_path: ["."]
app: toy_app:create
"""

APP = """
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"ok"})

def create():
    return app
"""


def library(project: Project, app: str) -> None:
    folder = project.root / "stacks" / "lib"
    folder.mkdir()
    (folder / "stack.yaml").write_text(LIBRARY)
    (folder / "toy_app.py").write_text(app)
    project.tests("def test_answers(http_client):\n    assert http_client.get('/x').text == 'ok'\n")


def test_a_library_stack_runs_in_the_process_of_the_tests(project: Project) -> None:
    library(project, APP)
    done = project.run("--stack-config", "library:lib")
    assert done.code == 0, done.output
    assert not (project.cell_dir() / "stack.log").exists()


def test_a_library_stack_that_cannot_be_made_is_named_and_is_no_suite_without_tests(project: Project) -> None:
    library(project, "def create():\n    raise RuntimeError('no weights')\n")
    done = project.run("--stack-config", "library:lib")
    assert done.code == 5, done.output
    assert "✗ lib could not be made from toy_app:create: RuntimeError: no weights" in done.output


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ('"env", "-i", ', "STACKPROOF_RECORDER did not arrive in it: `env -i`, or a program"),
        ('"env", "PYTHONPATH=/nowhere", ', "PYTHONPATH was replaced on the way"),
    ],
    ids=["env -i", "PYTHONPATH"],
)
def test_an_environment_that_keeps_the_recorder_out_is_named_at_once(project: Project, before: str, said: str) -> None:
    path = project.root / "stacks" / "toy" / "stack.yaml"
    text = path.read_text().replace("under_exec: false", "under_exec: true")
    path.write_text(text.replace('["{python}", ', f'[{before}"{{python}}", '))
    done = project.run()
    assert done.code == 5, done.output
    assert "the recorder was not loaded in the process that answers for toy" in done.output
    assert said in done.output
    assert "`recorder: edge`" in done.output


def test_a_program_with_the_recorder_that_becomes_one_without_it_is_noticed(project: Project) -> None:
    project.stack(
        "toy",
        before="if not sys.flags.isolated: os.execv(sys.executable, [sys.executable, '-I', *sys.argv])",
    )
    path = project.root / "stacks" / "toy" / "stack.yaml"
    path.write_text(path.read_text().replace("under_exec: false", "under_exec: true"))
    done = project.run()
    assert done.code == 5, done.output
    assert "the recorder was not loaded in the process that answers for toy" in done.output
    assert "drop -I from the command" in done.output
