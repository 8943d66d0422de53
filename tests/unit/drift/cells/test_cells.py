"""A cell's observed calls beside its recordings: which belong together, what is written, and what people see."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from stackproof.evidence.drift import DriftFacts
from stackproof.recorder import recording
from stackproof.recorder.identity import digest
from stackproof.recorder.miss import form_of

if TYPE_CHECKING:
    from tests.unit.drift.conftest import Makers
from tests.unit.drift.cells.conftest import RECORD, TEST, Desk, Recording


def test_an_equal_request_belongs_to_its_recording(desk: Desk, make: type[Makers]) -> None:
    desk.record(make.whole(make.chat()))
    desk.observe(make.whole(make.chat(finish="length")))
    facts = desk.facts
    assert (facts.compared, facts.note, facts.unrecorded, facts.not_asked) == (1, 1, 0, 0)
    (found,) = facts.differences
    assert (found.kind, found.where, found.asked) == ("value", "choices[].finish_reason", "POST /chat/completions")
    assert (desk.root / found.recording).is_file()
    assert (desk.cell / found.observed_file).is_file()
    assert found.again == RECORD


def test_the_nth_of_equal_requests_belongs_to_the_nth_recording(desk: Desk, make: type[Makers]) -> None:
    one, other = make.whole({"status": "queued"}), make.whole({"status": "done", "result": {"text": "x"}})
    for number, content in enumerate((one, other), start=1):
        desk.record(content, ordinal=number)
        desk.observe(content, ordinal=number)
    assert desk.facts == DriftFacts(compared=2)


def test_an_answer_is_told_beside_the_recording_of_its_number(desk: Desk, make: type[Makers]) -> None:
    for number in (1, 2, 3):
        desk.record(make.whole({"status": "queued"}), ordinal=number)
        desk.observe(make.whole({"status": "queued", f"new_{'abc'[number - 1]}": 1}), ordinal=number)
    found = {each.where: each.recording.rpartition("-")[2] for each in desk.facts.differences}
    assert (found["new_b"], found["new_c"]) == ("2.json", "3.json")


def test_a_request_that_holds_a_live_answer_belongs_to_the_turn_in_its_place(desk: Desk, make: type[Makers]) -> None:
    for number, word in enumerate(("One", "Two", "Three")):
        desk.record(make.whole(make.chat(), ask=f"{word}, as recorded"), at=number)
    for word in ("One", "Two", "Three"):
        desk.observe(make.whole(make.chat(), ask=f"{word}, as it went today"))
    content = desk.content
    assert (content["compared"], content["unrecorded"], content["not_asked"]) == (3, [], [])


def test_another_endpoint_or_model_is_no_partner(desk: Desk, make: type[Makers]) -> None:
    desk.ran()
    desk.record(make.whole(make.chat()))
    desk.observe(make.whole(make.chat(), ask="Other?", model="gpt-5"))
    desk.observe(make.whole(make.chat(), path="/responses"))
    content = desk.content
    assert content["compared"] == 0
    assert [each["request"]["model"] for each in content["unrecorded"]] == ["gpt-5", "gpt-4o"]
    assert [each["why"] for each in content["not_asked"]] == ["its test passed and did not make this call"]
    assert content["totals"] == {"unrecorded": 2, "not_asked": 1, "refused": 0}


def test_a_scope_of_which_nothing_is_recorded_is_said_once(desk: Desk, make: type[Makers]) -> None:
    for number in range(5):
        desk.observe(make.whole(make.chat(), ask=f"{number}?"))
    content = desk.content
    (alone,) = content["unrecorded"]
    assert (alone["calls"], alone["why"]) == (5, "nothing is recorded for it")
    assert desk.lines == [
        "drift: nothing was compared; 5 calls not recorded",
        f"  not recorded: 5 calls of {TEST} (nothing is recorded for it)",
        f"  record anew: {RECORD}",
    ]


def test_of_a_test_that_failed_nobody_knows_what_it_would_have_asked(desk: Desk, make: type[Makers]) -> None:
    desk.ran(outcome="failed")
    desk.record(make.whole(make.chat()))
    assert desk.facts == DriftFacts(compared=0)


def test_what_another_stack_recorded_is_not_missed(desk: Desk, make: type[Makers]) -> None:
    desk.ran()
    content = make.whole(make.chat())
    content["provenance"]["stack"] = "another"
    desk.record(content)
    assert desk.facts == DriftFacts(compared=0)
    content["provenance"]["stack"] = "reference"
    content["provenance"]["server"] = "anew"
    desk.record(make.whole(make.chat(), ask="More?") | {"provenance": content["provenance"]})
    assert desk.facts.not_asked == 1


def test_a_call_that_was_refused_and_whose_test_passed_was_asked_for(desk: Desk, make: type[Makers]) -> None:
    desk.record(make.whole(make.chat()))
    desk.observe(make.made(status=500, body={"json": {"error": {"message": "boom"}}}))
    desk.ran()
    facts = desk.facts
    assert (facts.compared, facts.refused, facts.not_asked) == (0, 1, 0)


def test_a_run_that_was_killed_before_its_first_call_has_nothing_to_show(desk: Desk) -> None:
    empty = dict.fromkeys(("unrecorded", "not_asked", "refused"), 0)
    content = {
        "schema": 1, "kind": "drift", "compared": 0, "differences": [], "unrecorded": [], "not_asked": [],
        "refused": [], "damaged": [], "counts": {"breaking": 0, "additive": 0, "note": 0}, "totals": empty,
    }  # fmt: skip
    (desk.cell / "drift.json").write_text(json.dumps(content))
    assert desk.say("--strict").code == 2


def test_a_call_that_was_refused_takes_no_recording_away(desk: Desk, make: type[Makers]) -> None:
    desk.record(make.whole(make.chat()))
    desk.observe(make.made(status=429, body={"json": {"error": {"message": "slow down"}}}), ordinal=1)
    desk.observe(make.whole(make.chat()), ordinal=2)
    facts = desk.facts
    assert (facts.compared, facts.differences, facts.refused, facts.unrecorded) == (1, (), 1, 0)
    assert facts.refused_calls[0].status == 429


def test_a_recorded_refusal_is_compared(desk: Desk, make: type[Makers]) -> None:
    refused = make.made(status=429, body={"json": {"error": {"message": "slow down"}}})
    desk.record(refused)
    desk.observe(refused)
    assert desk.facts == DriftFacts(compared=1)


def test_each_attempt_of_a_test_is_compared_anew(desk: Desk, make: type[Makers]) -> None:
    desk.ran()
    desk.record(make.whole(make.chat()))
    desk.observe(make.whole(make.chat()), attempt="1")
    desk.observe(make.whole(make.chat() | {"new": 1}), attempt="2")
    facts = desk.facts
    assert (facts.compared, facts.additive, facts.unrecorded, facts.not_asked) == (2, 1, 0, 0)


def test_what_another_test_was_answered_to_such_a_request_is_accepted_too(desk: Desk, make: type[Makers]) -> None:
    other = "tests/integration/base/test_chat.py::test_other"
    desk.record(make.whole(make.chat()))
    desk.record(make.whole(make.chat() | {"new": 1}, ask="Else?"), scope=other)
    desk.observe(make.whole(make.chat() | {"new": 1}))
    assert desk.facts == DriftFacts(compared=1)
    desk.observe(make.whole(make.chat() | {"newer": 1}), attempt="2")
    assert [each.where for each in desk.facts.differences] == ["newer"]


def test_lists_of_models_are_compared_with_any_of_their_request(desk: Desk, make: type[Makers]) -> None:
    def models(*names: str, **more: Any) -> Recording:
        listed = {"object": "list", "data": [{"id": name, "object": "model", **more} for name in names]}
        content = make.whole(listed, path="/models")
        content["request"] |= {"method": "GET", "body": None, "model": None}
        return content

    request = digest(form_of(models("a")["request"]))[:20]
    for folder, content in (
        (desk.root / "recordings/gpt/common", models("a", "b")),
        (desk.cell / "observed/models", models("c")),
    ):
        ids = sha256(str(content).encode()).hexdigest()[:12]
        recording.write(str(folder / f"models-{request}-{ids}.json"), content)
    assert desk.facts == DriftFacts(compared=1)
    recording.write(str(desk.cell / f"observed/models/models-{request}-{'0' * 12}.json"), models("d", owner="x"))
    assert [(each.kind, each.where) for each in desk.facts.differences] == [("new-field", "data[].owner")]
