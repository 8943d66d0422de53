"""Whose calls a plan is for, how its calls are counted by several processes, and how it gets to where the stack is."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.faults import grammar
from stackproof.recorder import elsewhere, scope
from stackproof.recorder.brain import Brain
from stackproof.recorder.inject import plan
from stackproof.recorder.mode import Mode
from stackproof.recorder.pacing import naps
from stackproof.recorder.scope import STACK, Scope
from stackproof.recorder.settings import Settings
from stackproof.stack.mirror import Mirror
from stackproof.stack.received import Received

if TYPE_CHECKING:
    from tests.unit.recorder_wire.conftest import Bench

NODE = "tests/integration/probe/test_it.py::test_it"
TEST = Scope(name=NODE, test_id=NODE)
FIXTURE = Scope(name="fixture:tests/integration::wide", test_id=NODE)
ONCE = grammar.parse("status:500,times=1", where="")


def _statuses(bench: Bench, owner: Scope | None, number: int = 2, **settings: Any) -> list[int]:
    import httpx2

    with bench.run(Mode.REPLAY, owner, **settings) as brain, httpx2.Client() as client:
        plan.write(brain.settings.run_dir, TEST, [ONCE])
        return [client.post(f"{bench.provider.url}/x", json={}).status_code for _ in range(number)]


def test_a_plan_is_for_its_own_test_and_for_no_fixture_and_not_for_the_stack(bench: Bench) -> None:
    other = Scope(name=f"{NODE}_too", test_id=f"{NODE}_too")
    assert _statuses(bench, TEST) == [500, 424]
    for owner in (other, FIXTURE, STACK, None):
        assert _statuses(bench, owner) == [424, 424]


def test_what_is_for_all_tests_is_for_no_fixture_either(bench: Bench) -> None:
    for_all = (grammar.parse("status:503,times=1", where="").to_data(),)
    other = Scope(name=f"{NODE}_too", test_id=f"{NODE}_too")
    # Each counts for itself, and what a test has of its own comes after.
    assert _statuses(bench, TEST, 3, faults=for_all) == [503, 500, 424]
    assert _statuses(bench, other, faults=for_all) == [503, 424]
    assert _statuses(bench, FIXTURE, faults=for_all) == [424, 424]


def test_another_attempt_meets_it_again(bench: Bench, tmp_path: Path) -> None:
    settings = bench.settings(Mode.REPLAY)
    import httpx2

    from stackproof.recorder import install

    plan.write(settings.run_dir, TEST, [ONCE])
    seen = []
    for attempt in (1, 2):
        with install.installed(settings, {}), scope.use(replace(TEST, attempt=attempt)), httpx2.Client() as client:
            seen += [client.post(f"{bench.provider.url}/x", json={}).status_code for _ in range(2)]
    assert seen == [500, 424, 500, 424]


_CHILD = """
import sys
from stackproof.recorder.brain import Brain
from stackproof.recorder.settings import Settings
from stackproof.recorder.scope import Scope
brain = Brain(Settings.from_json(sys.argv[1]), {})
owner = Scope(name=sys.argv[2], test_id=sys.argv[2])
print([brain.ledger.claim_fault(owner, "test.0") for _ in range(25)])
"""


def test_processes_that_answer_for_one_test_count_its_calls_together(bench: Bench) -> None:
    settings = bench.settings(Mode.REPLAY)
    command = [sys.executable, "-c", _CHILD, settings.to_json(), NODE]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    told = [json.loads(child.communicate(timeout=120)[0]) for child in children]
    assert sorted(told[0] + told[1]) == list(range(1, 51))


def test_nothing_is_looked_up_or_loaded_where_nothing_is_planned(bench: Bench) -> None:
    brain = Brain(bench.settings(Mode.REPLAY), {})
    brain.ledger.close()
    assert brain._injector is None
    recording = Brain(bench.settings(Mode.RECORD), {})
    assert recording._plans is None
    recording.ledger.close()
    code = "import sys, stackproof.recorder.install; print([n for n in sys.modules if 'inject' in n])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert told.stdout.strip() == "[]"


def test_settings_carry_what_is_for_all_tests(bench: Bench) -> None:
    settings = bench.settings(Mode.REPLAY, faults=(ONCE.to_data(),))
    assert Settings.from_json(settings.to_json()) == settings
    older = json.loads(settings.to_json())
    del older["faults"]
    assert Settings.from_json(json.dumps(older)).faults == ()


@pytest.mark.parametrize("how", ["the test ends", "nobody ends it"])
def test_a_wait_ends_with_its_test_or_with_its_time(tmp_path: Path, how: str) -> None:
    run_dir = str(tmp_path)
    seconds = 30.0 if how == "the test ends" else 0.2
    began, slept = time.monotonic(), 0
    for nap in naps(seconds, lambda: plan.is_over(run_dir, TEST)):
        assert nap <= 0.05
        time.sleep(nap)
        slept += 1
        if how == "the test ends" and slept == 2:
            plan.end(run_dir, replace(TEST, attempt=2))
            assert not plan.is_over(run_dir, TEST)
            plan.end(run_dir, TEST)
    took = time.monotonic() - began
    assert took < 20
    assert slept == 2 or how == "nobody ends it"
    assert took >= 0.2 or how == "the test ends"


def test_a_plan_is_on_the_stacks_side_before_the_test_begins(tmp_path: Path) -> None:
    mirror_tests = _mirror_tests()
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    engine = mirror_tests.Engine(inside)
    mirror = Mirror(outside, Received(outside))
    mirror.start(engine, "container", "python", Path("mirror_inside.py"))
    try:
        assert (outside / elsewhere.FOLDER).is_dir()
        plan.write(str(outside), TEST, [ONCE])
        assert plan.read(str(inside), TEST) == plan.Plan(faults=(ONCE,))
        plan.end(str(outside), TEST)
        elsewhere.fetch(str(outside))
        assert plan.is_over(str(inside), TEST)
    finally:
        mirror.close()
        engine.end()


def _mirror_tests() -> Any:
    import importlib.util

    path = Path(__file__).parents[1] / "stack" / "test_mirror.py"
    spec = importlib.util.spec_from_file_location("stackproof_faults_mirror", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("ends", ["the test", "the run"])
def test_a_caller_without_a_timeout_is_let_go_at_the_end(bench: Bench, ends: str) -> None:
    import httpx2

    heard: list[bytes] = []
    bench.provider.script = lambda wire: wire.events({"n": 1}, {"n": 2})
    with bench.record(), httpx2.Client() as client:
        client.post(f"{bench.provider.url}/x", json={})

    def ask() -> None:
        with httpx2.Client(timeout=None) as client, client.stream("POST", f"{bench.provider.url}/x", json={}) as answer:
            heard.extend(answer.iter_bytes())

    with bench.replay() as brain:
        plan.write(brain.settings.run_dir, TEST, [grammar.parse("stall:1,600", where="")])
        thread = threading.Thread(target=ask)
        thread.start()
        deadline = time.monotonic() + 60
        while not heard and time.monotonic() < deadline:
            time.sleep(0.01)
        assert thread.is_alive()
        if ends == "the test":
            plan.end(brain.settings.run_dir, TEST)
            thread.join(60)
            assert not thread.is_alive()
    thread.join(60)
    assert not thread.is_alive()
    assert b"".join(heard).endswith(b"data: [DONE]\n\n")


def test_a_miss_stays_a_miss_and_is_no_call_that_the_fault_can_happen_to(bench: Bench) -> None:
    import httpx2

    bench.provider.script = lambda wire: wire.json({"ok": True})
    with bench.record(), httpx2.Client() as client:
        client.post(f"{bench.provider.url}/x", json={"a": 1})
    with bench.replay() as brain, httpx2.Client() as client:
        plan.write(brain.settings.run_dir, TEST, [grammar.parse("content-type:text/html,call=1", where="")])
        missed, given = (client.post(f"{bench.provider.url}/x", json={"a": a}) for a in (2, 1))
    assert (missed.status_code, missed.headers["content-type"]) == (424, "application/json")
    assert (given.status_code, given.headers["content-type"]) == (200, "text/html")
