"""pytest-asyncio, anyio, threads and executors: whose call it is stays known wherever a test or a server makes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.recorder.conftest import Probe, Project

_DIRECT = """
import asyncio, functools, os, threading
from concurrent.futures import ThreadPoolExecutor
import httpx2

def body(say):
    return {"url": os.environ["PROBE_URL"] + "/answers", "json": {"say": say}}

async def direct(say):
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as client:
        return (await client.post(**body(say))).json()["text"]

def blocking(say):
    return httpx2.post(**body(say), trust_env=False, timeout=60).json()["text"]
"""
_ASYNCIO = (
    _DIRECT
    + """
import pytest_asyncio

LASTING = ThreadPoolExecutor(1)
MARK = pytest.mark.asyncio

@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def session_wide():
    yield await direct("session up")
    await direct("session down")

@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def module_wide(session_wide):
    text = await asyncio.create_task(direct("module up"))
    yield text
    await asyncio.to_thread(blocking, "module down")

@pytest_asyncio.fixture
async def narrow():
    yield await direct("narrow up")
    await direct("narrow down")

@MARK
async def test_function_loop(narrow, session_wide):
    assert session_wide.endswith("to session up")
    loop = asyncio.get_running_loop()
    texts = await asyncio.gather(
        direct("a"),
        asyncio.create_task(direct("b")),
        asyncio.to_thread(blocking, "c"),
        loop.run_in_executor(None, blocking, "d"),
        loop.run_in_executor(LASTING, functools.partial(blocking, "e")),
    )
    assert [text[-1] for text in texts] == list("abcde")

@MARK
async def test_another_one_with_the_same_pool(narrow):
    # The pool's thread was started by the test before.
    assert (await asyncio.get_running_loop().run_in_executor(LASTING, blocking, "e")).endswith("e")

@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("n", [1, 2])
async def test_session_loop(session_wide, n):
    assert (await asyncio.create_task(direct(f"s {n}"))).endswith(f"s {n}")

@pytest.mark.asyncio(loop_scope="module")
class TestModuleLoop:
    async def test_first(self, module_wide):
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(direct("same")) for _ in range(3)]
        assert len({task.result() for task in tasks}) == 3

    async def test_second(self, module_wide):
        assert (await direct("same")).endswith("same")
"""
)
_OWN = {
    "fixture:test_it.py::session_wide": ["session down", "session up"],
    "fixture:test_it.py::module_wide": ["module down", "module up"],
    "test_it.py::test_function_loop": ["a", "b", "c", "d", "e", "narrow down", "narrow up"],
    "test_it.py::test_another_one_with_the_same_pool": ["e", "narrow down", "narrow up"],
    "test_it.py::test_session_loop[1]": ["s 1"],
    "test_it.py::test_session_loop[2]": ["s 2"],
    "test_it.py::TestModuleLoop::test_first": ["same", "same", "same"],
    "test_it.py::TestModuleLoop::test_second": ["same"],
}


def _questions(project: Project) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in project.files():
        data = json.loads(path.read_text())
        found.setdefault(data["scope"].replace("tests/integration/", ""), []).append(
            data["request"]["body"]["json"]["say"]
        )
    return {scope: sorted(says) for scope, says in found.items()}


def _recorded_and_replayed(project: Project, probe: Probe, *plugins: str, stack: str = "library") -> None:
    recorded = project.pytest("record", "tests/integration", *plugins, stack=stack)
    assert recorded.code == 0, recorded.out
    assert recorded.has("0 missed")
    asked = len(probe.asked)
    replayed = project.pytest("replay", "tests/integration", *plugins, stack=stack)
    assert replayed.code == 0, replayed.out
    assert replayed.has("0 recorded, 0 missed, 0 unused")
    assert len(probe.asked) == asked


@pytest.fixture(autouse=True)
def _plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of asyncio and anyio, too, which other tests start pytest without."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-pno:langsmith_plugin -pno:hypothesispytest")


def test_every_loop_of_pytest_asyncio_keeps_the_scope(project: Project, probe: Probe) -> None:
    (project.root / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    project.test(_ASYNCIO)
    _recorded_and_replayed(project, probe, "-pasyncio")
    assert _questions(project) == _OWN
    # In auto mode without a mark, picked, and by several workers: the same files.
    project.test(_ASYNCIO.replace("\n@MARK\n", "\n"))
    arguments = ("-pasyncio", "--asyncio-mode=auto", "-n", "2", "-k", "second or pool or session")
    ended = project.pytest("replay", "tests/integration", *arguments)
    assert ended.code == 0, ended.out
    assert ended.has("0 recorded, 0 missed, 0 unused")


def test_anyio_on_asyncio_and_trio_keeps_the_scope(project: Project, probe: Probe) -> None:
    project.test(
        _DIRECT
        + """
import anyio

@pytest.fixture(scope="module", params=["asyncio", "trio"])
def anyio_backend(request):
    return request.param

@pytest.fixture(scope="module")
async def module_wide(anyio_backend):
    yield await direct("module up")
    await anyio.to_thread.run_sync(blocking, "module down")

@pytest.fixture
async def narrow(anyio_backend):
    yield await direct("narrow up")
    await direct("narrow down")

@pytest.mark.anyio
async def test_tasks(narrow, module_wide):
    texts = []

    async def note(say):
        texts.append(await direct(say))

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(note, "same")
    assert len(set(texts)) == 3
    assert (await anyio.to_thread.run_sync(blocking, "thread")).endswith("thread")

@pytest.mark.anyio
async def test_other(module_wide):
    assert (await direct("same")).endswith("same")
"""
    )
    _recorded_and_replayed(project, probe, "-panyio")
    questions = _questions(project)
    for backend in ("asyncio", "trio"):
        assert questions.pop(f"test_it.py::test_tasks[{backend}]") == [
            "narrow down",
            "narrow up",
            "same",
            "same",
            "same",
            "thread",
        ]
        assert questions.pop(f"test_it.py::test_other[{backend}]") == ["same"]
    # A fixture has no parameter of its own here: both times the same questions, each time a set-up of its own.
    assert questions == {"fixture:test_it.py::module_wide": ["module down", "module up"]}


_THREADED = """

import asyncio, threading
from concurrent.futures import ThreadPoolExecutor

LASTING = ThreadPoolExecutor(1)


def blocking(body):
    return httpx2.post(url() + "/answers", json=body, timeout=60, trust_env=False).json()["text"]


async def executors(request):
    body, loop = await request.json(), asyncio.get_running_loop()
    answers = []
    thread = threading.Thread(target=lambda: answers.append(blocking(body)))
    thread.start()
    await asyncio.to_thread(thread.join)
    answers.append(await asyncio.to_thread(blocking, body))
    answers.append(await loop.run_in_executor(LASTING, blocking, body))
    answers.append(await loop.run_in_executor(None, blocking, body))

    async def task():
        await asyncio.sleep(0.01)
        return await asyncio.to_thread(blocking, body)

    answers.append(await asyncio.create_task(task()))
    return JSONResponse({"text": " ".join(answers), "different": len(set(answers))})
"""


def test_threads_and_executors_of_a_server_know_whose_call_it_is(project: Project, probe: Probe) -> None:
    app = project.root / "stacks/tiny/tiny_app.py"
    app.write_text(app.read_text().replace("later, queued)", "later, queued, executors)") + _THREADED)
    project.test("""
from concurrent.futures import ThreadPoolExecutor

@pytest.mark.parametrize("n", range(3))
def test_it(ask, n):
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda say: ask(say, to="executors").json(), ["same", "same"]))
    texts = " ".join(answer["text"] for answer in answers).split("answer ")
    assert len(set(texts)) == 11, answers
""")
    _recorded_and_replayed(project, probe, "-n", "2", stack="server")
    assert _questions(project) == {f"test_it.py::test_it[{n}]": ["same"] * 10 for n in range(3)}
