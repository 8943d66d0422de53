"""The books of a run: numbers, journals and calls in flight, over threads and processes."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackproof.recorder.claims import Claims
from stackproof.recorder.ledger import Ledger
from stackproof.recorder.scope import Scope

OWNER = Scope(name="a.py::b", test_id="a.py::b")
SHARED = Scope(name="fixture:x::y")
REQUEST, OTHER = "1a" * 32, "2b" * 32
CONTEXT = multiprocessing.get_context("spawn")
FORK = multiprocessing.get_context("fork")


def _take_many(run_dir: str, count: int, barrier_file: str, out: str) -> None:
    while not os.path.exists(barrier_file):  # noqa: PTH110 - all begin at once
        time.sleep(0.001)
    ledger = Ledger(run_dir)
    numbers = [ledger.claim(OWNER, REQUEST) for _ in range(count)]
    firsts = [ledger.first(SHARED, REQUEST, number) for number in range(1, 21)]
    for number in numbers:
        ledger.note("calls", {"n": number, "text": "ü" * 3000})
    Path(out).write_text(",".join(map(str, numbers)) + ";" + ",".join(str(int(each)) for each in firsts))
    ledger.close()


def test_processes_never_take_one_number_twice(tmp_path: Path) -> None:
    started = [
        CONTEXT.Process(
            target=_take_many, args=(str(tmp_path / "run"), 50, str(tmp_path / "go"), str(tmp_path / f"out{number}"))
        )
        for number in range(4)
    ]
    for process in started:
        process.start()
    (tmp_path / "go").touch()
    for process in started:
        process.join(300)
    assert [process.exitcode for process in started] == [0] * 4
    told = [(tmp_path / f"out{number}").read_text().split(";") for number in range(4)]
    numbers = [int(number) for numbers, _ in told for number in numbers.split(",")]
    assert sorted(numbers) == list(range(1, 201))
    # Of every number of a shared scope, exactly one process is the first.
    assert [sum(each) for each in zip(*([int(x) for x in firsts.split(",")] for _, firsts in told), strict=True)] == [
        1
    ] * 20
    entries, _ = Ledger(str(tmp_path / "run")).read("calls")
    assert sorted(entry["n"] for entry in entries) == list(range(1, 201))


def test_threads_never_take_one_number_twice(tmp_path: Path) -> None:
    ledger = Ledger(str(tmp_path))
    numbers: list[int] = []
    threads = [
        threading.Thread(target=lambda: numbers.extend(ledger.claim(OWNER, REQUEST) for _ in range(100)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    ledger.close()
    assert sorted(numbers) == list(range(1, 801))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ab"), st.integers(1, 2), st.booleans()), max_size=40))
def test_any_interleaving_gives_every_key_its_own_row_of_numbers(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str, int, bool]]
) -> None:
    run_dir = str(tmp_path_factory.mktemp("run"))
    ledgers = [Ledger(run_dir) for _ in range(3)]
    given_out: dict[tuple[str, int, str], list[int]] = {}
    for who, name, attempt, is_other in steps:
        request = OTHER if is_other else REQUEST
        number = ledgers[who].claim(Scope(name=name, attempt=attempt), request)
        given_out.setdefault((name, attempt, request), []).append(number)
        if number % 5 == 0:
            ledgers[who].close()
    for ledger in ledgers:
        ledger.close()
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in given_out.values())


def test_worker_and_attempt_count_for_themselves(tmp_path: Path) -> None:
    ledger = Ledger(str(tmp_path))
    owners = [OWNER, Scope(name=OWNER.name, attempt=2), Scope(name=OWNER.name, worker="gw1"), Scope(name="c.py::d")]
    assert [ledger.claim(owner, REQUEST) for owner in owners for _ in range(2)] == [1, 2] * 4
    ledger.close()


def _claim_in_child(claims: Claims, out: str) -> None:
    Path(out).write_text(str(claims.take("k")))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_attempts_are_counted_for_all_processes(tmp_path: Path) -> None:
    one, other = Ledger(str(tmp_path)), Ledger(str(tmp_path))
    assert [one.attempt("a.py::t"), other.attempt("a.py::t"), other.attempt("a.py::u"), one.attempt("a.py::t")] == [
        1,
        2,
        1,
        3,
    ]
    one.close()
    other.close()


def test_a_forked_child_goes_on_counting(tmp_path: Path) -> None:
    claims = Claims(str(tmp_path / "run" / "claims"))
    assert claims.take("k") == 1
    child = FORK.Process(target=_claim_in_child, args=(claims, str(tmp_path / "out")))
    child.start()
    child.join(120)
    assert (tmp_path / "out").read_text() == "2"
    assert claims.take("k") == 3
    claims.close()


def test_a_line_that_a_killed_process_left_unfinished_harms_nobody(tmp_path: Path) -> None:
    claims = Claims(str(tmp_path / "claims"))
    assert claims.take("k") == 1
    with (tmp_path / "claims").open("ab") as file:
        file.write(b"k")
    taken = claims.take("k")
    assert taken > 1
    other = Claims(str(tmp_path / "claims"))
    assert other.take("k") == taken + 1
    claims.close()
    other.close()


# -- journals


def test_a_journal_is_read_on_from_where_one_was(tmp_path: Path) -> None:
    ledger = Ledger(str(tmp_path / "run"))
    assert ledger.read("calls") == ([], 0)
    ledger.note("calls", {"n": 1, "text": "zeile\u2028\n"})
    entries, offset = ledger.read("calls")
    assert entries == [{"n": 1, "text": "zeile\u2028\n"}]
    ledger.note("calls", {"n": 2})
    assert ledger.read("calls", offset)[0] == [{"n": 2}]
    ledger.close()
    ledger.note("calls", {"n": 3})
    assert len(ledger.read("calls")[0]) == 3
    ledger.close()


def test_half_a_line_waits_and_a_broken_one_is_passed_over(tmp_path: Path) -> None:
    ledger = Ledger(str(tmp_path))
    (tmp_path / "calls.jsonl").write_bytes(b'{"n":1}\n{"n":\n[2]\n{"n":3}\n{"n":')
    entries, offset = ledger.read("calls")
    assert entries == [{"n": 1}, {"n": 3}]
    with (tmp_path / "calls.jsonl").open("ab") as file:
        file.write(b"4}\n")
    assert ledger.read("calls", offset)[0] == [{"n": 4}]


# -- in flight


def test_calls_in_flight_are_seen_by_every_process(tmp_path: Path) -> None:
    here, there = Ledger(str(tmp_path)), Ledger(str(tmp_path))
    tokens = [here.begin(OWNER), here.begin(OWNER), there.begin(OWNER)]
    assert there.calls_in_flight(OWNER) == 3
    assert there.calls_in_flight(SHARED) == 0
    for token in tokens:
        here.done(token)
        here.done(token)
    assert there.calls_in_flight(OWNER) == 0


def test_waiting_ends_with_the_call_or_with_the_time(tmp_path: Path) -> None:
    ledger = Ledger(str(tmp_path))
    token = ledger.begin(OWNER)
    started = time.monotonic()
    assert ledger.wait_for_calls(OWNER, 0.05) == 1
    threading.Timer(0.05, ledger.done, (token,)).start()
    assert ledger.wait_for_calls(OWNER, 120) == 0
    assert time.monotonic() - started < 60
    assert ledger.wait_for_calls(SHARED, 120) == 0


def test_a_number_that_was_given_up_is_another_s(tmp_path: Path) -> None:
    ledger = Ledger(str(tmp_path))
    assert ledger.first(SHARED, REQUEST, 1)
    assert not ledger.first(SHARED, REQUEST, 1)
    assert ledger.first(SHARED, REQUEST, 2)
    ledger.give_up(SHARED, REQUEST, 1)
    ledger.give_up(SHARED, REQUEST, 1)
    assert ledger.first(SHARED, REQUEST, 1)


def test_an_attempt_ends_for_itself(tmp_path: Path) -> None:
    ledger = Ledger(str(tmp_path))
    assert not ledger.has_ended(OWNER)
    ledger.end(OWNER)
    ledger.end(OWNER)
    assert Ledger(str(tmp_path)).has_ended(OWNER)
    assert not ledger.has_ended(Scope(name=OWNER.name, attempt=2))


def test_all_processes_agree_on_which_request_was_folded_first(tmp_path: Path) -> None:
    here, there = Ledger(str(tmp_path)), Ledger(str(tmp_path))
    assert here.unfolded(OWNER, REQUEST, "plain-1", ["floats"]) is None
    assert there.unfolded(OWNER, REQUEST, "plain-1", ["floats"]) is None
    assert there.unfolded(OWNER, REQUEST, "plain-2", []) == ["floats"]
    assert here.unfolded(OWNER, REQUEST, "plain-1", ["floats"]) is None
    assert here.unfolded(Scope(name="c"), REQUEST, "plain-2", []) is None
    here.close()
    there.close()
