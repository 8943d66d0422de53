"""`recordings explain`: how a file came by its name, and why a call of a test found none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stackproof.recordings import folding, proposing
from stackproof.recordings.proposing import Look

TEST = "tests/integration/base/test_chat.py::test_it"
SEARCH = "tests/integration/search/test_find.py::test_it"
HELLO = {"model": "m", "say": "hello"}


def rewrite(book: Any, file: str, change: Any) -> None:
    """Edit a recording by hand."""
    path = book.root / file
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def test_a_sound_file_is_told_step_by_step(book: Any) -> None:
    book.record(TEST, HELLO, HELLO)
    first, second = sorted(book.files(), key=len)
    said = book.say("explain", second)
    assert said.code == 0, said
    name = Path(second).name
    for line in (
        f"scope   {TEST}",
        f"        sha256 {name[:12]} ",
        "request provider  ollama",
        "        path      /chat/completions",
        "        query     none",
        f"        sha256 {name[13:33]} ",
        "number  2 among equal requests of its scope; of the same request there is also 1",
        f"name    {name}",
        "        as the file is called",
        "rules   none in force",
        "        none acted when it was recorded",
        "masked  nothing",
        "looked  for in recordings/ollama/base   it lies here",
        "        then in recordings/ollama/common",
    ):
        assert f"\n{line}" in said.out, (line, said.out)
    assert "✗" not in said.out
    assert book.say("explain", Path(first).name).code == 0


def test_what_was_edited_no_longer_agrees_with_the_name(book: Any) -> None:
    book.record(TEST, HELLO)
    file = book.files()[0]
    rewrite(book, file, lambda content: content["request"]["body"]["json"].update(say="goodbye"))
    said = book.say("explain", file)
    assert said.code == 6
    assert f"but the file is called {Path(file).name}" in said.out
    assert "✗ its name is " in said.out
    assert "`stackproof recordings rekey`" in said.out
    told = book.say("explain", file, "--json").json["recording"]
    assert told["agrees"] is False
    assert told["computed"] != Path(file).name


def test_a_file_in_another_folder_than_its_scopes(book: Any) -> None:
    book.record(TEST, HELLO)
    lies = book.root / book.files()[0]
    attic = lies.parent.parent / "attic" / lies.name
    attic.parent.mkdir()
    lies.rename(attic)
    said = book.say("explain", f"recordings/ollama/attic/{attic.name}")
    assert said.code == 6
    assert "✗ it lies in attic/, where no call of its scope looks\n  move it to recordings/ollama/base\n" in said.out


def test_a_number_without_the_one_before_it(book: Any) -> None:
    book.record(TEST, HELLO, HELLO)
    first, second = sorted(book.files(), key=len)
    (book.root / first).unlink()
    said = book.say("explain", second)
    assert said.code == 6
    assert "✗ it is number 2, and number 1 is not there" in said.out


def test_rules_that_acted_show_where_and_what_the_digest_was_before(book: Any) -> None:
    body = {"messages": [{"role": "tool", "content": "[1] document_id: file-1, score: 0.25 **bold**"}]}
    book.record(SEARCH, body, rules=[{"name": "file_search"}])
    said = book.say("explain", book.files()[0])
    assert said.code == 0, said
    assert "rules   {name: file_search}   suite search\n" in said.out
    assert "acted when it was recorded: file_search\n          * at body.json.messages[0].content\n" in said.out
    assert "the request before that had " in said.out
    told = book.say("explain", book.files()[0], "--json").json["recording"]["rules"]
    assert told["folded_at"] == ["body.json.messages[0].content"]
    assert len(told["unfolded"]) == 64


def test_a_rule_that_came_after_the_recording(book: Any) -> None:
    body = {"messages": [{"role": "tool", "content": "document_id: file-1"}]}
    book.record(SEARCH, body)
    said = book.say("explain", book.files()[0])
    assert said.code == 6
    assert "✗ rule file_search, in force now, would change its request: a run asks for " in said.out


def test_a_rule_that_is_gone(book: Any) -> None:
    book.record(TEST, {"t": 0.12345678}, rules=[{"name": "floats"}])
    said = book.say("explain", book.files()[0])
    assert said.code == 6
    assert "✗ rule floats changed its request when it was recorded, and is not in force any more" in said.out


def test_what_was_masked_is_named_by_its_place(book: Any) -> None:
    book.record(TEST, {"model": "m", "tools": [{"authorization": "abcdefgh"}]}, path="/chat/completions?key=abcdefgh")
    said = book.say("explain", book.files()[0])
    assert "masked  *** at query[key]\n        *** at body.json.tools[0].authorization\n" in said.out
    assert "query     key=***\n" in said.out


def test_a_long_body_is_cut_unless_all_of_it_is_asked_for(book: Any) -> None:
    book.record(TEST, {f"field{number:02}": "x" * 200 for number in range(40)})
    file = book.files()[0]
    assert "18 more lines; --full shows all" in book.say("explain", file).out
    full = book.say("explain", file, "--full").out
    assert "field39" in full
    assert "x" * 200 in full


def test_a_list_of_models_has_no_scope(book: Any) -> None:
    book.record("stack", None, path="/models")
    file = book.files()[0]
    said = book.say("explain", file)
    assert said.code == 0, said
    assert "scope   none: a list of models" in said.out
    rewrite(book, file, lambda content: content["response"]["body"]["json"]["data"].append({"id": "another"}))
    assert book.say("explain", file).code == 6


def test_a_damaged_file_and_a_file_that_is_not_there_are_one_sentence(book: Any) -> None:
    book.record(TEST, HELLO)
    file = book.files()[0]
    (book.root / file).write_text("<<<<<<< HEAD")
    said = book.say("explain", file)
    assert (said.code, said.out) == (2, "")
    assert "cannot be read as a recording" in said.err
    assert book.say("explain", "nothing.json").code == 2
    for what in (" ", "recordings/ollama"):
        said = book.say("explain", what)
        assert (said.code, said.out) == (2, ""), said


def test_a_file_that_does_not_lie_among_the_recordings(book: Any) -> None:
    book.record(TEST, HELLO)
    (book.root / "copy.json").write_bytes((book.root / book.files()[0]).read_bytes())
    said = book.say("explain", "copy.json")
    assert (said.code, said.out) == (2, "")
    assert "copy.json does not lie below recordings/" in said.err


# -- tests


def test_the_recordings_of_a_test_in_the_order_in_which_it_asked_for_them(book: Any) -> None:
    bodies = [{"say": word} for word in ("one", "two", "three")]
    book.record(TEST, *bodies)
    book.replay(TEST, bodies[2], bodies[0])
    told = book.say("explain", TEST, "--json").json
    used = {item["used"]: item["file"] for item in told["recordings"]}
    asked = [json.loads((book.root / used[place]).read_text())["request"]["body"]["json"]["say"] for place in (1, 2)]
    assert asked == ["three", "one"]
    said = book.say("explain", TEST)
    assert said.code == 0, said
    assert "3 recordings of setup ollama, in the order of run bbbbbb" in said.out
    assert "–  not asked for in that run" in said.out
    assert "newest run of it: bbbbbb, base-ollama-server-reference: 2 calls answered, nothing missed" in said.out


def test_a_miss_is_told_beside_the_nearest_recording_with_the_rule_that_folds_it(book: Any) -> None:
    book.record(TEST, {"model": "m", "score": 0.1234561})
    book.replay(TEST, {"model": "m", "score": 0.1234562}, {"model": "m", "score": 0.1234562})
    said = book.say("explain", TEST)
    assert said.code == 6
    file = book.files()[0]
    for text in (
        "2 calls missed",
        "✗ no recording for POST /chat/completions of ollama (model m, call 1 of this request)",
        f"nearest  {file}, differs in\n    body.json.score\n      recorded 0.1234561\n      sent     0.1234562\n",
        "rules: [{name: floats, path: score}]",
        "record it: stackproof run --suite base --setup ollama --file tests/integration/base/test_chat.py --pattern",
    ):
        assert text in said.out, (text, said.out)
    miss = book.say("explain", TEST, "--json").json["misses"][0]
    assert miss["nearest"] == file
    assert miss["differences"] == [{"path": "body.json.score", "recorded": 0.1234561, "sent": 0.1234562}]
    assert miss["rules"] == [{"name": "floats", "path": "score"}]
    assert miss["rules_suffice"] is True
    # What the command proposes does what it says: with the rule, the recording made anew answers both.
    rules = miss["rules"]
    book.record(TEST, {"model": "m", "score": 0.1234561}, rules=rules, run="dddddd")
    book.replay(TEST, {"model": "m", "score": 0.1234562}, run="eeeeee", rules=rules)
    assert book.say("explain", TEST, "--json").json["misses"] == []


def test_a_change_that_is_meant_and_an_id_that_is_new_each_time(book: Any) -> None:
    book.record(TEST, {"say": "hello"})
    book.replay(TEST, {"say": "goodbye"})
    assert "no rule folds this: if the change is meant, record it" in book.say("explain", TEST).out
    book.record(TEST, {"file": "file-0123456789abcdef"}, run="cccccc")
    book.replay(TEST, {"file": "file-fedcba9876543210"}, run="dddddd")
    assert "looks like an id that is new in every run" in book.say("explain", TEST).out


def test_a_renamed_test_is_told_the_command_that_moves_its_recordings(book: Any) -> None:
    new = TEST.replace("test_it", "test_new")
    book.record(TEST, HELLO)
    book.replay(new, HELLO)
    said = book.say("explain", new)
    assert said.code == 6
    assert f"  if it was renamed: stackproof recordings rename {TEST} {new}\n" in said.out
    assert book.say("explain", new, "--json").json["misses"][0]["same_request"] == TEST


def test_a_miss_that_was_recorded_since_is_none_any_more(book: Any) -> None:
    book.record(TEST, HELLO)
    other = {"say": "goodbye"}
    book.replay(TEST, HELLO, HELLO, other)
    assert book.say("explain", TEST).code == 6
    book.record(TEST, HELLO, HELLO, other, run="aaaaaa2")
    (book.root / ".stackproof/runs/aaaaaa2").rename(book.root / "elsewhere")
    said = book.say("explain", TEST)
    assert said.code == 0, said
    assert said.out.count("there is one since: recordings/ollama/base/") == 2
    assert "record it" not in said.out


def test_other_kinds_of_misses_are_told_as_the_run_told_them(book: Any) -> None:
    book.record(TEST, HELLO)
    book.replay(TEST, HELLO, HELLO)
    said = book.say("explain", TEST)
    assert said.code == 6
    assert "✗ recordings exhausted for POST /chat/completions of ollama: recorded 1, asked for number 2" in said.out
    assert said.out.count("record it:") == 1


def test_what_was_asked_for_real_is_told_beside_the_recordings(book: Any) -> None:
    book.record(TEST, {"say": "one"}, {"say": "two"})
    book.verify(TEST, ({"say": "two"}, 200), ({"say": "one"}, 200))
    said = book.say("explain", TEST)
    assert said.code == 0, said
    assert "2 recordings of setup ollama, in the order of run bbbbbb" in said.out
    assert "not asked for in that run" not in said.out
    assert "newest run of it: bbbbbb, base-ollama-server-reference: 2 calls observed, nothing missed\n" in said.out
    assert "  2 calls have a recording beside them; `stackproof drift` compares them\n" in said.out
    assert "●" not in said.out
    told = book.say("explain", TEST, "--json").json
    (run,) = told["runs"]
    assert [one["status"] for one in run["observed"]] == [200, 200]
    used = {item["used"]: item["file"] for item in told["recordings"]}
    assert [one["recording"] for one in run["observed"]] == [used[1], used[2]]
    assert all((book.root / one["file"]).is_file() for one in run["observed"])


def test_a_refused_call_and_one_without_a_recording_are_told_by_themselves(book: Any) -> None:
    book.record(TEST, {"say": "one"})
    book.verify(TEST, ({"say": "one"}, 429), ({"say": "one"}, 200), ({"say": "new"}, 200))
    said = book.say("explain", TEST)
    assert said.code == 0, said
    first, last = said.out.partition("3 calls observed, nothing missed\n")[2].split("● ")[1:]
    assert first.startswith("POST /chat/completions of ollama was answered with 429\n  observed in .stackproof/runs/")
    assert f"\n  beside it: {book.files()[0]}\n" in first
    assert last.startswith("POST /chat/completions of ollama was answered with 200\n")
    assert "  beside it: no recording of it is there\n" in last
    # What came of the retry is compared with the recording that the refused call would have been.
    assert last.endswith("  of the others 1 call has a recording beside it; `stackproof drift` compares them\n")
    again = book.say("explain", TEST, "--json").json["runs"][0]["observed"]
    assert [(one["retry"], one["recording"]) for one in again] == [
        (False, book.files()[0]),
        (True, book.files()[0]),
        (False, None),
    ]


def test_fixtures_that_may_serve_the_test_are_counted(book: Any) -> None:
    book.record(TEST, HELLO)
    book.record("fixture:tests/integration/base::client", HELLO, {"say": "two"}, run="cccccc")
    book.record("fixture:tests/integration/search::client", HELLO, run="dddddd")
    said = book.say("explain", TEST)
    assert "fixture:tests/integration/base::client: 2 recordings, of a fixture that may serve it" in said.out
    assert "integration/search" not in said.out


def test_a_file_and_a_pattern_tell_several_tests(book: Any) -> None:
    other = TEST.replace("test_it", "test_other")
    book.record(TEST, HELLO)
    book.record(other, HELLO, run="cccccc")
    for what in ("tests/integration/base/test_chat.py", "*::test_*"):
        said = book.say("explain", what)
        assert said.code == 0, said
        assert f"  {TEST}\n" in said.out
        assert f"  {other}\n" in said.out


def test_a_test_of_which_nothing_is_known(book: Any) -> None:
    book.record(TEST, HELLO)
    said = book.say("explain", TEST.replace("test_it", "test_its"))
    assert said.code == 6
    assert f"nothing is recorded for it, did you mean '{TEST}'?" in said.out
    assert "no run is left that ran it" in said.out


# -- rules that are proposed


def form(body: Any) -> dict[str, Any]:
    """A request with this JSON."""
    return {"provider": "p", "method": "POST", "path": "/x", "query": [], "body": {"json": body}}


@pytest.mark.parametrize(
    ("recorded", "sent", "rules"),
    [
        ({"e": [0.5, 0.12345678]}, {"e": [0.5, 0.12345679]}, [{"name": "floats", "path": "e"}]),
        (
            {"messages": [{"role": "user", "content": "at 0.12345678"}]},
            {"messages": [{"role": "user", "content": "at 0.12345679"}]},
            [{"name": "long_decimals", "path": "messages[role=user].content"}],
        ),
        (
            {"messages": [{"role": "tool", "content": "document_id: a"}]},
            {"messages": [{"role": "tool", "content": "document_id: b"}]},
            [{"name": "file_search"}],
        ),
        ({"a": {"b": None, "c": 1}}, {"a": {"c": 1}}, [{"name": "nulls", "path": "a"}]),
        ({"b": None, "c": 1}, {"c": 1}, [{"name": "nulls", "path": "."}]),
        ({"stream_options": {"x": 1}}, {}, [{"name": "bedrock"}]),
        ({"extra_body": {"project_id": "1"}}, {"extra_body": {"project_id": "2"}}, [{"name": "project_id"}]),
        (
            {"a": 0.12345678, "b": None},
            {"a": 0.12345679},
            [{"name": "floats", "path": "a"}, {"name": "nulls", "path": "."}],
        ),
    ],
)
def test_rules_that_make_two_requests_equal(recorded: Any, sent: Any, rules: list[dict[str, str]]) -> None:
    proposal = proposing.compare(form(recorded), form(sent))
    assert list(proposal.rules) == rules
    assert proposal.complete


@pytest.mark.parametrize(
    ("recorded", "sent", "look"),
    [
        ("file-0123456789abcdef", "file-fedcba9876543210", Look.ID),
        ("6f9619ff-8b86-d011-b42d-00cf4fc964ff", "7f9619ff-8b86-d011-b42d-00cf4fc964ff", Look.ID),
        ("today is 2026-01-01", "today is 2026-01-02", Look.TIME),
        (1764400000, 1764400001, Look.TIME),
        ("hello", "goodbye", Look.OTHER),
        (1, 2, Look.OTHER),
    ],
)
def test_what_no_rule_folds_is_said_to_look_like_something(recorded: Any, sent: Any, look: Look) -> None:
    proposal = proposing.compare(form({"x": recorded}), form({"x": sent}))
    assert proposal.rules == ()
    assert [one.look for one in proposal.left] == [look]


def test_a_rule_is_shown_as_yaml_has_it() -> None:
    assert folding.shown({"name": "floats", "path": "messages[].x"}) == '{name: floats, path: "messages[].x"}'
    assert folding.shown({"name": "poll", "endpoint": "GET /b/*"}) == '{name: poll, endpoint: "GET /b/*"}'
