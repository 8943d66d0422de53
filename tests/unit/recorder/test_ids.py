"""Ids of the stack: functions of scope, kind and number, whoever asks and however often a test begins anew."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import re
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackproof.recorder import install, scope
from stackproof.recorder.ids import IdHookError, new_id
from stackproof.recorder.ledger import Ledger
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope
from stackproof.recorder.settings import Settings

if TYPE_CHECKING:
    from tests.unit.recorder.conftest import Bench

OWNER = Scope(name="a.py::b", test_id="a.py::b")
OTHER = Scope(name="a.py::c", test_id="a.py::c")
LETTERS = itertools.cycle("abcdef")
CONTEXT = multiprocessing.get_context("spawn")


def _file() -> str:
    return f"file-{uuid.uuid4().hex}"


def _store() -> str:
    return f"vs_{uuid.uuid4()}"


def test_an_id_is_its_scope_its_kind_and_its_number(tmp_path: Path) -> None:
    here, there = Ledger(str(tmp_path / "one")), Ledger(str(tmp_path / "other"))
    ids = [new_id(here, OWNER, "file", _file) for _ in range(3)]
    assert ids == [new_id(there, OWNER, "file", _file) for _ in range(3)], "another run gives the same"
    assert [int(each[-12:]) for each in ids] == [1, 2, 3]
    assert len({each[:-12] for each in ids}) == 1, "one block"
    stored = new_id(here, OWNER, "vector_store", _store)
    assert stored.endswith("-000000000001"), "each kind counts for itself"
    assert new_id(here, OTHER, "file", _file)[:-12] != ids[0][:-12]
    here.close()
    there.close()


@pytest.mark.parametrize(
    ("generate", "form"),
    [
        (_file, r"file-[0-9a-f]{32}"),
        (lambda: f"call_{os.urandom(12).hex()}", r"call_[0-9a-f]{32}"),
        (lambda: f"resp_{os.urandom(24).hex()}", r"resp_[0-9a-f]{32}"),
        (_store, r"vs_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}"),
        (lambda: str(uuid.uuid4()), r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}"),
        (lambda: f"file-batch_{uuid.uuid4()}", r"file-batch_[0-9a-f]{8}-.*"),
        (lambda: f"{next(LETTERS)}_x", r"[0-9a-f]{32}"),
        (lambda: os.urandom(8).hex(), r"[0-9a-f]{32}"),
        (lambda: "", r"[0-9a-f]{32}"),
    ],
)
def test_an_id_looks_like_those_of_the_stack(tmp_path: Path, generate: Callable[[], str], form: str) -> None:
    ledger = Ledger(str(tmp_path))
    made = new_id(ledger, OWNER, "any", generate)
    assert re.fullmatch(form, made)
    if "-4" in form:
        assert uuid.UUID(made.removeprefix("vs_")).version == 4
    ledger.close()


def test_two_kinds_with_one_prefix_never_meet(tmp_path: Path) -> None:
    ledger = Ledger(str(tmp_path))
    # The second begins as the first, and is longer than what a key of the ledger keeps.
    kinds = ["vector_store_file_batch", "vector_store_file_batch_item", "batch"]
    assert len({new_id(ledger, OWNER, kind, lambda: "batch_0") for kind in kinds}) == 3
    ledger.close()


def test_a_test_that_runs_again_gets_its_ids_again(tmp_path: Path) -> None:
    ledger = Ledger(str(tmp_path))
    first = [new_id(ledger, OWNER, "file", _file) for _ in range(2)]
    again = [new_id(ledger, replace(OWNER, attempt=2), "file", _file) for _ in range(2)]
    assert first == again
    ledger.close()


def test_workers_that_set_up_one_fixture_for_one_server_get_ids_of_their_own(tmp_path: Path) -> None:
    ledger = Ledger(str(tmp_path))
    owners = [Scope(name="fixture:x::y", worker=worker) for worker in ("", "gw0", "gw1")]
    assert len({new_id(ledger, owner, "file", _file) for owner in owners}) == 3
    ledger.close()


def test_a_call_of_the_provider_takes_no_number_of_an_id(tmp_path: Path) -> None:
    ledger = Ledger(str(tmp_path))
    ledger.claim(OWNER, "file")
    ledger.claim(OWNER, "0" * 64)
    assert new_id(ledger, OWNER, "file", _file).endswith("000000000001")
    ledger.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ab"), st.sampled_from(["file", "call"])), max_size=30))
def test_any_interleaving_of_processes_gives_the_ids_of_a_serial_run(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str, str]]
) -> None:
    run_dir = str(tmp_path_factory.mktemp("run"))
    ledgers = [Ledger(run_dir) for _ in range(3)]
    made = [new_id(ledgers[who], Scope(name=name), kind, lambda: "x-0") for who, name, kind in steps]
    serial = Ledger(str(tmp_path_factory.mktemp("run")))
    assert len(set(made)) == len(made)
    expected = [new_id(serial, Scope(name=name), kind, lambda: "x-0") for _, name, kind in sorted(steps)]
    assert sorted(made) == sorted(expected)
    for ledger in (*ledgers, serial):
        ledger.close()


def _make_many(run_dir: str, barrier: str, out: str) -> None:
    while not Path(barrier).exists():
        time.sleep(0.001)
    ledger = Ledger(run_dir)
    Path(out).write_text("\n".join(new_id(ledger, OWNER, "file", _file) for _ in range(40)))
    ledger.close()


def test_workers_of_one_server_never_make_one_id_twice(tmp_path: Path) -> None:
    outs = [tmp_path / f"out{number}" for number in range(3)]
    started = [
        CONTEXT.Process(target=_make_many, args=(str(tmp_path / "run"), str(tmp_path / "go"), str(out))) for out in outs
    ]
    for process in started:
        process.start()
    (tmp_path / "go").touch()
    for process in started:
        process.join(300)
    numbers = [int(each[-12:]) for out in outs for each in out.read_text().split()]
    assert sorted(numbers) == list(range(1, 121))


# -- handing it over


STACK = """
override = None
calls = 0
def set_id_override(new):
    global override, calls
    calls += 1
    previous, override = override, new
    return previous
def make(kind):
    return override(kind, lambda: "random-1") if override else "random-1"
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a stack's module that was not imported yet."""
    name = f"stack_of_{uuid.uuid4().hex}"
    (tmp_path / f"{name}.py").write_text(STACK)
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    sys.modules.pop(name, None)


def _settings(bench: Bench, module: str, mode: Mode = Mode.REPLAY, function: str = "set_id_override") -> Settings:
    return replace(bench.settings, mode=mode, id_hook=f"{module}:{function}")


def _import(name: str) -> Any:
    return __import__(name)


@pytest.mark.parametrize("mode", [Mode.REPLAY, Mode.RECORD, Mode.RECORD_IF_MISSING])
def test_the_override_is_given_when_the_module_comes_and_taken_back_at_the_end(
    bench: Bench, module: str, mode: Mode
) -> None:
    with install.installed(_settings(bench, module, mode)):
        assert module not in sys.modules, "it is not imported by us"
        stack = _import(module)
        assert stack.calls == 1
        with scope.use(OWNER):
            assert re.fullmatch(r"random-[0-9a-f]{20}000000000001", stack.make("call"))
    assert stack.override is None
    assert stack.make("call") == "random-1"


def test_a_module_that_is_there_already_gets_it_at_once(bench: Bench, module: str) -> None:
    stack = _import(module)
    with install.installed(_settings(bench, module)), scope.use(OWNER):
        assert stack.make("call") != "random-1"
        assert stack.calls == 1


def test_what_the_stack_had_before_is_put_back(bench: Bench, module: str) -> None:
    stack = _import(module)
    stack.set_id_override(lambda kind, _: f"own-{kind}")
    with install.installed(_settings(bench, module)), install.installed(_settings(bench, module)):
        pass
    assert stack.make("call") == "own-call"


def test_in_live_mode_nothing_is_given(bench: Bench, module: str) -> None:
    with install.installed(_settings(bench, module, Mode.LIVE)), scope.use(OWNER):
        stack = _import(module)
        assert (stack.calls, stack.make("call")) == (0, "random-1")


@pytest.mark.parametrize("owner", [None, scope.UNKNOWN])
def test_what_belongs_to_nobody_and_what_is_suspended_keeps_the_stacks_own_ids(
    bench: Bench, module: str, owner: Scope | None
) -> None:
    with install.installed(_settings(bench, module)):
        stack = _import(module)
        with scope.use(owner):
            assert stack.make("call") == "random-1"
        with scope.use(OWNER), install.suspended():
            assert stack.make("call") == "random-1"


def test_a_function_that_is_not_there_is_named_and_nothing_stays(bench: Bench, module: str) -> None:
    sentence = f"id_hook of the stack is {module}:nothing, and {module} has no function nothing"
    with install.installed(_settings(bench, module, function="nothing")), pytest.raises(IdHookError, match=sentence):
        _import(module)
    _import(module)
    finders = list(sys.meta_path)
    with pytest.raises(IdHookError), install.installed(_settings(bench, module, function="nothing")):
        pass
    assert install.active() is None
    assert sys.meta_path == finders


def test_the_setting_reaches_other_processes(bench: Bench, module: str) -> None:
    told = _settings(bench, module)
    assert Settings.from_json(told.to_json()) == told
