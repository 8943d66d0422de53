"""Ids that a stack makes: the same whatever runs it, in whatever order, on however many workers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.recorder.conftest import Project

_HOOK = "id_hook: tiny_ids:set_id_override\n"
_IDS = """
import uuid

_override = None


def set_id_override(override):
    global _override
    previous, _override = _override, override
    return previous


def new_id(kind):
    def generate():
        return f"{kind}-{uuid.uuid4().hex}"

    return generate() if _override is None else _override(kind, generate)
"""
_APP = """
import asyncio
import os

import tiny_ids
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route


async def health(request):
    return JSONResponse({"status": "OK"})


async def new(request):
    kind = request.path_params["kind"]
    ids = await asyncio.gather(*(asyncio.to_thread(tiny_ids.new_id, kind) for _ in range(2)))
    return JSONResponse({"ids": ids, "pid": os.getpid()})


def create_app():
    return Starlette(routes=[Route("/v1/health", health), Route("/v1/new/{kind}", new)])
"""
# Who has accepted a connection accepts no other until another worker has one, too; and each request has its own.
_MEETING = """
    import pathlib, time

    met = pathlib.Path(os.environ["TINY_MEETING"])
    met.mkdir(exist_ok=True)
    (met / str(os.getpid())).touch()
    deadline = time.monotonic() + 5
    while len(list(met.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
"""
_TESTS = """
import json
import os
import pathlib
from concurrent.futures import ThreadPoolExecutor


@pytest.fixture
def made(http_client, request):
    def make(kind, count):
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda _: http_client.get(f"/v1/new/{kind}").json(), range(count)))
        ids = sorted(name for answer in answers for name in answer["ids"])
        assert len(set(ids)) == len(ids)
        told = pathlib.Path("told")
        told.mkdir(exist_ok=True)
        name = f"{request.node.name}-{kind}-{os.getpid()}-{len(list(told.iterdir()))}.json"
        told.joinpath(name).write_text(json.dumps([request.node.name, kind, ids, [a["pid"] for a in answers]]))
        return ids
    return make


@pytest.mark.parametrize("number", range(4))
def test_many(made, number):
    made("file", 8)
    made("vs", 2)


def test_again(made):
    made("file", 2)
    pathlib.Path("begun").exists() or (pathlib.Path("begun").touch(), pytest.fail("at first"))
"""
NODES = [f"tests/integration/test_it.py::test_many[{number}]" for number in range(4)]


@pytest.fixture
def stack(project: Project) -> Project:
    """The project, with a stack that makes ids."""
    folder = project.root / "stacks/tiny"
    (folder / "tiny_ids.py").write_text(_IDS)
    (folder / "tiny_app.py").write_text(_APP)
    (folder / "stack.yaml").write_text((folder / "stack.yaml").read_text() + _HOOK)
    project.test(_TESTS)
    return project


def told(project: Project) -> tuple[dict[str, list[str]], set[int]]:
    """What each test was given, of each kind, and which processes made it; the last run's notes are removed."""
    given: dict[str, list[str]] = {}
    processes: set[int] = set()
    for path in sorted((project.root / "told").iterdir()):
        test, kind, ids, made_by = json.loads(path.read_text())
        assert given.setdefault(f"{test} {kind}", ids) == ids, "a test that ran again got other ids"
        processes |= set(made_by)
        path.unlink()
    return given, processes


def test_ids_are_the_same_in_any_order_on_any_stack_and_on_many_workers(stack: Project) -> None:
    assert stack.pytest("replay", *NODES).code == 0
    serial, _ = told(stack)
    assert len(serial) == 8
    names = [name for ids in serial.values() for name in ids]
    assert len(set(names)) == len(names), "no two tests share one"
    assert sorted(int(name[-12:]) for name in serial["test_many[0] file"]) == list(range(1, 17))

    assert stack.pytest("replay", *reversed(NODES)).code == 0
    assert told(stack)[0] == serial

    assert stack.pytest("replay", "-n", "4", *NODES, stack="server").code == 0
    assert told(stack)[0] == serial

    assert stack.pytest("record", NODES[2], stack="server").code == 0
    alone, _ = told(stack)
    assert alone == {key: ids for key, ids in serial.items() if key.startswith("test_many[2]")}


def test_several_workers_of_a_server_count_as_one(stack: Project) -> None:
    assert stack.pytest("replay", NODES[0]).code == 0
    serial, _ = told(stack)
    path = stack.root / "stacks/tiny/stack.yaml"
    path.write_text(path.read_text().replace('"--no-access-log"', '"--no-access-log", "--workers", "3"'))
    app = stack.root / "stacks/tiny/tiny_app.py"
    head, line, rest = app.read_text().partition('    kind = request.path_params["kind"]\n')
    close = rest.replace('"pid": os.getpid()})', '"pid": os.getpid()}, headers={"connection": "close"})')
    app.write_text(head + _MEETING + line + close)
    ended = stack.pytest("replay", NODES[0], stack="server", TINY_MEETING=str(stack.root / "met"))
    assert ended.code == 0, ended.out
    given, processes = told(stack)
    assert given == serial
    assert len(processes) > 1


def test_a_test_that_runs_again_gets_the_same_ids(stack: Project) -> None:
    ended = stack.pytest("replay", "--reruns", "1", "tests/integration/test_it.py::test_again", stack="server")
    assert ended.has("1 passed, 1 rerun")
    given, _ = told(stack)
    assert sorted(int(name[-12:]) for name in given["test_again file"]) == [1, 2, 3, 4]


def test_in_live_mode_the_stack_makes_its_own(stack: Project) -> None:
    runs = []
    for _ in range(2):
        assert stack.pytest("live", NODES[0], stack="server").code == 0
        runs.append(told(stack)[0])
    assert runs[0] != runs[1]


@pytest.mark.parametrize("kind", ["library", "server"])
def test_a_function_that_is_not_there_stops_the_start_and_is_named(stack: Project, kind: str) -> None:
    path = stack.root / "stacks/tiny/stack.yaml"
    path.write_text(path.read_text().replace("set_id_override", "set_id_overide"))
    ended = stack.pytest("replay", NODES[0], stack=kind)
    assert ended.code == 5
    assert ended.has("id_hook of the stack is tiny_ids:set_id_overide, and tiny_ids has no function set_id_overide")
