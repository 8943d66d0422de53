"""Several xdist workers, server workers, threads and tasks: each call finds its own answer, whoever recorded it."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.e2e.recorder.conftest import Probe, Project

_CONFTEST = """
@pytest.fixture(scope="session")
def session_wide(ask):
    yield ask("session up").json()["text"]
    ask("session down")

@pytest.fixture(scope="package")
def package_wide(ask, session_wide):
    yield ask("package up").json()["text"]
    ask("package down")

@pytest.fixture(scope="module", params=["p", "q"])
def module_wide(ask, request):
    yield ask(f"module up {request.param}").json()["text"]
    ask(f"module down {request.param}")

@pytest.fixture(scope="class")
def class_wide(ask):
    # Twice the same: the second one gets the second answer, in every worker.
    texts = [ask("class up").json()["text"] for _ in range(2)]
    yield texts
    ask("class down")
"""
_TESTS = """
class TestOne:
    def test_a(self, package_wide, module_wide, class_wide, ask):
        assert package_wide.endswith("to package up")
        assert module_wide[-1] in "pq"
        assert class_wide[0] != class_wide[1]
        assert ask("own").status_code == 200

    def test_b(self, class_wide, session_wide):
        assert session_wide.endswith("to session up")

class TestTwo:
    @pytest.mark.parametrize("n", range(3))
    def test_c(self, package_wide, class_wide, ask, n):
        assert ask("own").json()["text"] != ask("own").json()["text"]
"""


def _widths(project: Project) -> None:
    project.test(_CONFTEST, "pack/conftest.py")
    (project.root / "tests/integration/pack/__init__.py").write_text("")
    project.test(_TESTS, "pack/test_one.py")
    project.test(_TESTS, "pack/test_two.py")


def _questions(project: Project) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for path in project.files():
        data = json.loads(path.read_text())
        found[data["scope"].removeprefix("tests/integration/"), data["request"]["body"]["json"]["say"]] += 1
    return found


def _record_anew(project: Project, probe: Probe, *order: str, stack: str = "library") -> Counter[tuple[str, str]]:
    for file in project.files():
        file.unlink()
    probe.asked.clear()
    recorded = project.pytest("record", "tests/integration", *order, stack=stack)
    assert recorded.code == 0, recorded.out
    assert probe.said.count("session up") == 1, "the first answer in a run wins"
    return _questions(project)


def _replays(project: Project, probe: Probe, *arguments: str, stack: str = "library") -> None:
    asked = len(probe.asked)
    ended = project.pytest("replay", "tests/integration", *arguments, stack=stack)
    assert ended.code == 0, ended.out
    assert ended.has("0 recorded, 0 missed, 0 unused")
    assert len(probe.asked) == asked


_FIXTURES = {
    "session_wide": {("session up", 1), ("session down", 1)},
    "package_wide": {("package up", 1), ("package down", 1)},
    "module_wide[p]": {("module up p", 1), ("module down p", 1)},
    "module_wide[q]": {("module up q", 1), ("module down q", 1)},
    "class_wide": {("class up", 2), ("class down", 1)},
}


def test_fixtures_of_every_width_serve_any_number_of_workers(project: Project, probe: Probe) -> None:
    _widths(project)
    by_three = _record_anew(project, probe, "-n", "3")
    fixtures: dict[str, set[tuple[str, int]]] = {}
    for (name, say), count in by_three.items():
        if name.startswith("fixture:"):
            fixtures.setdefault(name.removeprefix("fixture:tests/integration/pack::"), set()).add((say, count))
    assert fixtures == _FIXTURES
    _replays(project, probe)
    assert _record_anew(project, probe) == by_three
    _replays(project, probe, "-n", "3")


_AT_ONCE = """
import asyncio, os, threading
from concurrent.futures import ThreadPoolExecutor
import httpx2

async def direct(say):
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as client:
        return (await client.post(os.environ["PROBE_URL"] + "/answers", json={"say": say})).json()["text"]

@pytest.mark.parametrize("n", range(2))
class TestAtOnce:
    def test_threads_of_a_pool(self, ask, n):
        with ThreadPoolExecutor(6) as pool:
            texts = list(pool.map(lambda _: ask("same").json()["text"], range(6)))
        assert len(set(texts)) == 6, texts

    def test_threads(self, ask, n):
        texts = []
        threads = [threading.Thread(target=lambda: texts.append(ask("same").json()["text"])) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(set(texts)) == 5, texts

    def test_tasks_of_the_test_itself(self, ask, n):
        async def at_once():
            apart = asyncio.to_thread(asyncio.run, direct("same"))
            return await asyncio.gather(*(direct("same") for _ in range(5)), apart)

        texts = asyncio.run(at_once())
        assert len(set(texts)) == 6, texts
"""


def _with_workers(project: Project, workers: int) -> None:
    stack = project.root / "stacks/tiny/stack.yaml"
    stack.write_text(stack.read_text().replace('"--no-access-log"', f'"--no-access-log", "--workers", "{workers}"'))


def test_workers_on_both_sides_of_a_server_share_one_count(project: Project, probe: Probe) -> None:
    _with_workers(project, 2)
    _widths(project)
    _record_anew(project, probe, "-n", "4", stack="server")
    _replays(project, probe, "-n", "2", "-k", "test_two and (test_a and q or test_c and 1)", stack="server")


def test_equal_requests_at_once_get_each_answer_once(project: Project, probe: Probe) -> None:
    _with_workers(project, 3)
    project.test(_AT_ONCE)
    for mode, stack, counts in (
        ("record", "server", "0 replayed, 34 recorded"),
        ("replay", "library", "34 replayed, 0 recorded"),
    ):
        ended = project.pytest(mode, "tests/integration", "-n", "4", stack=stack)
        assert ended.code == 0, ended.out
        assert ended.has(counts, "0 missed, 0 unused")
        assert len(probe.asked) == 34


def test_two_sessions_record_the_same_at_once_and_leave_one_valid_set(project: Project) -> None:
    project.test("""
@pytest.fixture(scope="module")
def wide(ask):
    return ask("wide")

@pytest.mark.parametrize("n", range(12))
def test_it(ask, wide, n):
    ask("same"), ask("same")
""")

    def record(_: int) -> tuple[int, str]:
        command, environment = project.command(), project.environment("record", "library")
        ended = subprocess.run(
            command, cwd=project.root, env=environment, capture_output=True, text=True, timeout=240, check=False
        )
        return ended.returncode, ended.stdout + ended.stderr

    with ThreadPoolExecutor(2) as pool:
        for code, out in pool.map(record, range(2)):
            assert code == 0, out
    assert len(project.files()) == 25
    replayed = project.pytest("replay")
    assert replayed.code == 0, replayed.out
    assert replayed.has("25 replayed", "0 missed, 0 unused")
