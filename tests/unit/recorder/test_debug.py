"""What is told of a call: whose it is, which file would answer it, where it was looked for, and nothing secret."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from tests.unit.recorder.conftest import ASK

from stackproof.recorder import debug, scope
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope


def told(bench: Any, run: str = "") -> str:
    """What is in the file."""
    path = Path(bench.settings.run_dir + run) / "debug.log"
    return path.read_text() if path.is_file() else ""


def test_a_look_up_names_scope_digest_file_and_each_folder(bench: Any, capsys: pytest.CaptureFixture[str]) -> None:
    bench.record((ASK, {"a": 1}))
    bench.ask(bench.brain(Mode.REPLAY, debug=True, project=str(bench.run_dir.parent)), bench.request(ASK))
    name = bench.files()[0]
    lines = told(bench).splitlines()
    assert lines[0].endswith("] replayed: POST /chat/completions of ollama, number 1")
    assert " tests] " in lines[0]
    assert lines[1] == f"    scope       {bench.owner().name}"
    assert lines[2].startswith("    request     ")
    assert lines[2].split()[1][:20] == name[13:33]
    assert lines[3] == f"    file        {name}"
    assert lines[-1] == "    looked in   recordings/ollama/base: found"
    assert capsys.readouterr() == ("", told(bench))


def test_a_second_request_tells_that_its_own_number_is_not_there(bench: Any) -> None:
    bench.record((ASK, {"a": 1}))
    brain = bench.brain(Mode.REPLAY, debug=True)
    for _ in range(2):
        bench.ask(brain, bench.request(ASK))
    second = told(bench).partition("refused (exhausted)")[2]
    assert "number 2" in second
    assert "-2.json" in second
    assert second.count("not there") == 2


def test_a_call_of_the_stack_that_is_answered_again_says_which_file_stays(bench: Any) -> None:
    stack = scope.STACK
    bench.record((ASK, {"a": 1}), owner=stack)
    brain = bench.brain(Mode.REPLAY, debug=True)
    for _ in range(2):
        bench.ask(brain, bench.request(ASK), stack)
    assert f"answered by {bench.recordings}/common/{bench.files('common')[0]}, the last recorded one" in told(
        bench
    ).replace("answered by   ", "answered by ")


def test_rules_that_acted_and_rules_that_are_active(bench: Any) -> None:
    brain = bench.brain(Mode.REPLAY, debug=True, rules=({"name": "nulls"}, {"name": "floats", "path": "top_p"}))
    bench.ask(brain, bench.request({"model": "m", "user": None}))
    assert "    rules       nulls; active: nulls, floats at top_p\n" in told(bench)


def test_a_recorded_call_goes_out_is_staged_and_promoted(bench: Any) -> None:
    brain = bench.brain(Mode.RECORD_IF_MISSING, debug=True)
    bench.play(bench.ask(brain, bench.request(ASK, url="http://user:pw@localhost:11434/v1/chat/completions")), {"a": 1})
    brain.store.promote(bench.owner(), replace=True)
    heads = [line.partition("] ")[2] for line in told(bench).splitlines() if line.startswith("stackproof ")]
    asked = "POST /chat/completions of ollama, number 1"
    assert heads == [f"goes out: {asked}", f"recorded: {asked}", "promoted"]
    assert "goes to     http://localhost:11434\n" in told(bench)
    assert "/base: not there" in told(bench)
    assert "pw" not in told(bench)


def test_what_a_failed_test_recorded_is_told_as_removed(bench: Any) -> None:
    brain = bench.brain(Mode.RECORD, debug=True)
    bench.play(bench.ask(brain, bench.request(ASK)), {"a": 1})
    brain.store.drop(bench.owner())
    assert "removed, its test did not pass" in told(bench)


def test_an_answer_that_is_not_kept_says_why(bench: Any) -> None:
    bench.play(bench.ask(bench.brain(Mode.RECORD, debug=True), bench.request(ASK)), {"error": 1}, status=401)
    assert "answer not kept (status 401 (kept with --record-errors)): POST /chat/completions" in told(bench)


def test_a_call_to_nobody_who_is_known_names_the_host_and_no_query(bench: Any) -> None:
    bench.ask(bench.brain(Mode.REPLAY, debug=True), bench.request(url="http://elsewhere.example:81/a?key=hidden"))
    assert "passed through: GET /a at http://elsewhere.example:81, which belongs to no provider" in told(bench)
    assert "hidden" not in told(bench)


def test_a_call_without_a_scope_is_told(bench: Any) -> None:
    bench.ask(bench.brain(Mode.REPLAY, debug=True), bench.request(ASK), scope.UNKNOWN)
    assert "refused (no-scope)" in told(bench)
    assert "scope       unknown" in told(bench)


def test_a_list_of_models_is_looked_for_without_a_scope(bench: Any) -> None:
    bench.ask(bench.brain(Mode.REPLAY, debug=True), bench.request(path="/models"))
    assert "/common for models-" in told(bench)


def test_a_secret_in_a_body_is_concealed_before_the_body_is_cut(bench: Any) -> None:
    long = {"say": "x" * 280 + " p4ssw0rd-of-a-tenant " + "y" * 280}
    bench.ask(bench.brain(Mode.REPLAY, debug=True), bench.request(long))
    assert "p4ss" not in told(bench)
    assert "characters)" in told(bench)


def test_a_name_with_a_line_end_stays_one_line(bench: Any) -> None:
    bench.ask(bench.brain(Mode.REPLAY, debug=True), bench.request(ASK), Scope(name="tests/a.py::t[x\nstackproof y]"))
    assert all(line.startswith(("stackproof ", "    ")) for line in told(bench).splitlines())
    assert "t[x\\nstackproof y]" in told(bench)


def test_where_nothing_can_be_written_the_call_is_decided_all_the_same(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.record((ASK, {"a": 1}))
    brain = bench.brain(Mode.REPLAY, debug=True)
    (bench.run_dir / "debug.log").mkdir(parents=True)
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr("sys.stderr", closed)
    assert bench.body(bench.ask(brain, bench.request(ASK))) == b'{"a":1}'


def test_without_debug_nothing_is_made(bench: Any, capsys: pytest.CaptureFixture[str]) -> None:
    brain = bench.brain(Mode.REPLAY)
    assert brain.store.trace is None
    bench.ask(brain, bench.request(ASK))
    assert capsys.readouterr().err == ""
    assert told(bench) == ""


def test_a_worker_of_xdist_is_named() -> None:
    assert debug.role({"PYTEST_XDIST_WORKER": "gw3"}) == "tests gw3"
    assert debug.role({}) == "tests"


def test_blocks_of_one_test_are_those_of_its_scope_and_of_the_fixtures_that_it_set_up() -> None:
    def block(role: str, *lines: str) -> str:
        return "".join(f"{line}\n" for line in (f"stackproof 1 [7 {role}] x", *(f"    {line}" for line in lines)))

    own = block("stack", "scope       a.py::t", "file        f")
    fixture = block("stack", "scope       fixture:a.py::f", "test        a.py::t")
    others = block("stack", "scope       a.py::t2"), block("tests", "scope       a.py::t")
    assert debug.of_test("".join((own, *others, fixture)), "a.py::t", "stack") == own + fixture
    assert debug.of_test("", "a.py::t", "stack") == ""
