"""What a run may spend: the call beyond it never leaves, whichever of its processes makes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.unit.recorder.conftest import ASK

from stackproof.recorder.budget import Budget, Limits
from stackproof.recorder.decision import Answer, Later, Record
from stackproof.recorder.ledger import Ledger
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope
from stackproof.recorder.usage import Tokens

USED = {"object": "chat.completion", "usage": {"prompt_tokens": 6, "completion_tokens": 4}}


def other(number: int) -> dict[str, Any]:
    """A request like no other."""
    return {**ASK, "n": number}


def kinds(bench: Any) -> list[str]:
    """What became of the calls, in order."""
    return [entry["kind"] for entry in Ledger(str(bench.run_dir)).read("calls")[0]]


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


# -- requests


@pytest.mark.parametrize("mode", [Mode.VERIFY, Mode.RECORD, Mode.RECORD_IF_MISSING])
def test_the_request_beyond_the_limit_is_refused_and_says_why(bench: Any, mode: Mode) -> None:
    brain = bench.brain(mode, max_requests=2)
    for number in range(2):
        bench.play(bench.ask(brain, bench.request(other(number))), {"a": 1})
    kind, text = bench.refusal(bench.ask(brain, bench.request(other(2))))
    assert kind == "budget"
    assert text.splitlines() == [
        "the budget of this run is used up: 2 of 2 requests",
        "  POST /chat/completions of ollama did not go out",
    ]
    assert kinds(bench)[-1] == "budget"
    assert not (bench.run_dir / "misses.jsonl").exists()  # no recording is missed


def test_every_attempt_counts_whether_it_is_answered_or_not(bench: Any) -> None:
    brain = bench.brain(Mode.VERIFY, max_requests=3)
    bench.play(bench.ask(brain, bench.request(ASK)), {"error": 1}, status=500)
    bench.ask(brain, bench.request(ASK)).take.fail({"kind": "ConnectError", "message": "no"})
    assert isinstance(bench.ask(brain, bench.request(ASK)), Record)  # under way
    assert isinstance(bench.ask(brain, bench.request(ASK)), Answer)
    assert brain.budget.facts()["requests"] == [3, 3]


def test_what_a_file_answers_costs_nothing(bench: Any) -> None:
    bench.record((ASK, {"a": 1}))
    brain = bench.brain(Mode.RECORD_IF_MISSING, max_requests=1)
    assert isinstance(bench.ask(brain, bench.request(ASK)), Answer)
    assert isinstance(bench.ask(brain, bench.request(other(1))), Record)
    assert kinds(bench) == ["replayed"]


def test_what_another_process_was_told_costs_nothing(bench: Any) -> None:
    fixture = "fixture:tests/integration/base::client"
    one, two = (bench.brain(Mode.VERIFY, max_requests=1) for _ in range(2))
    first = bench.ask(one, bench.request(ASK), Scope(name=fixture, worker="gw0"))
    waits = bench.ask(two, bench.request(ASK), Scope(name=fixture, worker="gw1"))
    assert isinstance(waits, Later)
    bench.play(first, {"a": 1})
    answer = waits.poll()
    assert isinstance(answer, Answer)
    assert answer.status == 200


def test_a_refused_call_leaves_nothing_in_flight(bench: Any) -> None:
    fixture = Scope(name="fixture:tests/integration/base::client", worker="gw0")
    brain = bench.brain(Mode.VERIFY, max_requests=1)
    bench.play(bench.ask(brain, bench.request(other(1)), fixture), {"a": 1})
    bench.refusal(bench.ask(brain, bench.request(ASK), fixture))
    assert brain.ledger.calls_in_flight(fixture) == 0
    assert brain.ledger.first(fixture, "0" * 64, 1)
    assert not brain.has_open(fixture)


_ASKS = """
import sys, threading
from stackproof.recorder.budget import Budget, Limits
from stackproof.recorder.ledger import Ledger
spent = Budget(Limits(requests=int(sys.argv[2])), Ledger(sys.argv[1]))
sent = []
def ask():
    for _ in range(40):
        if spent.spend() is None:
            sent.append(1)
threads = [threading.Thread(target=ask) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(sent))
"""


def test_processes_and_threads_together_get_exactly_the_limit(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _ASKS, str(tmp_path), "100"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    sent = [int(process.communicate(timeout=300)[0]) for process in running]
    assert sum(sent) == 100
    facts = Budget(Limits(requests=100), Ledger(str(tmp_path))).facts()
    assert (facts["requests"], facts["refused"], facts["ended_by"]) == ([100, 100], 380, "requests")


def test_a_forked_child_spends_from_the_same_account(tmp_path: Path) -> None:
    spent = Budget(Limits(requests=2), Ledger(str(tmp_path)))
    assert spent.spend() is None
    child = os.fork()
    if not child:
        os._exit(0 if spent.spend() is None else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert spent.spend() is not None


# -- tokens


def test_the_call_after_the_limit_of_tokens_is_refused(bench: Any) -> None:
    brain = bench.brain(Mode.VERIFY, max_tokens=15)
    for number in range(2):  # the second goes over it, and nobody could know
        bench.play(bench.ask(brain, bench.request(other(number))), USED)
    kind, text = bench.refusal(bench.ask(brain, bench.request(other(2))))
    assert kind == "budget"
    assert text.startswith("the budget of this run is used up: 20 of 15 tokens")
    lines = Ledger(str(bench.run_dir)).read("calls")[0]
    assert [line.get("tokens") for line in lines] == [{"input": 6, "output": 4}] * 2 + [None]


def test_exactly_the_limit_is_the_limit(bench: Any) -> None:
    brain = bench.brain(Mode.VERIFY, max_tokens=10)
    bench.play(bench.ask(brain, bench.request(other(1))), USED)
    assert isinstance(bench.ask(brain, bench.request(other(2))), Answer)


def test_tokens_of_another_process_count(bench: Any) -> None:
    one, two = (bench.brain(Mode.VERIFY, max_tokens=10) for _ in range(2))
    bench.play(bench.ask(one, bench.request(other(1))), USED)
    assert isinstance(bench.ask(two, bench.request(other(2))), Answer)


def test_an_answer_that_does_not_say_is_counted_as_unknown(bench: Any) -> None:
    brain = bench.brain(Mode.VERIFY, max_tokens=10)
    bench.play(bench.ask(brain, bench.request(other(1))), {"results": []})
    bench.play(bench.ask(brain, bench.request(other(2))), {"error": "no"}, status=429)  # has cost nothing
    bench.play(bench.ask(brain, bench.request(path="/models")), {"object": "list", "data": []})  # costs nothing
    assert brain.budget.facts()["unknown"] == 1
    assert brain.budget.facts()["tokens"] == [0, 10]


def test_an_answer_that_is_only_fetched_again_costs_nothing(bench: Any) -> None:
    brain = bench.brain(Mode.VERIFY, max_tokens=10)
    bench.play(bench.ask(brain, bench.request(path="/responses/resp_1")), USED)
    assert brain.budget.facts()["tokens"] == [0, 10]
    assert brain.budget.facts()["unknown"] == 0


def test_a_stream_counts_when_its_caller_has_it(bench: Any) -> None:
    brain = bench.brain(Mode.VERIFY, max_tokens=10)
    raw = b'data: {"usage":{"prompt_tokens":6,"completion_tokens":4}}\n\ndata: [DONE]\n\n'
    bench.play(bench.ask(brain, bench.request(other(1))), raw, content_type="text/event-stream")
    assert brain.budget.facts()["tokens"] == [10, 10]
    assert isinstance(bench.ask(brain, bench.request(other(2))), Answer)


def test_a_stream_that_is_ended_while_the_account_is_open_waits_for_nobody(tmp_path: Path) -> None:
    """The garbage collector may end one at any moment, in the thread that has the lock."""
    spent = Budget(Limits(requests=5), Ledger(str(tmp_path)))

    def within() -> None:
        with spent._account():
            spent.add(Tokens(input=1, output=1))

    thread = threading.Thread(target=within, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert spent.facts()["tokens"] == [2, None]


# -- seconds


def test_seconds_count_from_the_first_test_on(tmp_path: Path) -> None:
    clock = Clock()
    spent = Budget(Limits(seconds=60), Ledger(str(tmp_path)), clock)
    clock.now += 100  # a stack that starts
    assert spent.spend() is None
    spent.begin()
    clock.now += 59
    spent.begin()
    assert spent.ended(before_test=True) is None
    assert spent.spend() is None
    clock.now += 1
    assert spent.ended() is None  # nothing was refused yet
    assert spent.ended(before_test=True) == "the budget of this run is used up: 60 seconds are over"
    assert spent.spend() is not None


def test_a_call_after_the_time_is_refused(tmp_path: Path) -> None:
    clock = Clock()
    spent = Budget(Limits(seconds=0.5), Ledger(str(tmp_path)), clock)
    spent.begin()
    clock.now += 0.5
    assert spent.spend() == "the budget of this run is used up: 0.5 seconds are over"
    assert spent.ended() is not None
    spent.stop()
    clock.now += 100
    assert spent.facts()["seconds"] == [0.5, 0.5]


def test_a_clock_that_is_set_back_counts_as_none(tmp_path: Path) -> None:
    clock = Clock()
    spent = Budget(Limits(seconds=60), Ledger(str(tmp_path)), clock)
    spent.begin()
    clock.now -= 500
    assert spent.facts()["seconds"] == [0.0, 60]


# -- facts


def test_without_limits_it_is_counted_all_the_same(bench: Any) -> None:
    brain = bench.brain(Mode.RECORD)
    bench.play(bench.ask(brain, bench.request(other(1))), USED)
    assert brain.budget.facts() == {
        "requests": [1, None],
        "tokens": [10, None],
        "seconds": [0.0, None],
        "ended_by": None,
        "why": None,
        "refused": 0,
        "input": 6,
        "output": 4,
        "unknown": 0,
    }
    assert brain.budget.ended() is None


def test_what_was_used_to_the_last_has_not_ended_the_run(tmp_path: Path) -> None:
    spent = Budget(Limits(requests=1), Ledger(str(tmp_path)))
    assert spent.spend() is None
    assert spent.ended(before_test=True) is None
    assert spent.facts()["ended_by"] is None


def test_the_account_is_one_readable_line(tmp_path: Path) -> None:
    spent = Budget(Limits(requests=1), Ledger(str(tmp_path)))
    spent.spend()
    spent.facts()
    (line,) = (tmp_path / "budget").read_text().splitlines()
    assert json.loads(line)["requests"] == 1
