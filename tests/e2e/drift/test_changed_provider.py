"""A provider that changed: what a run in `verify` says of it."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.drift.conftest import Frames, Project

CHAT = "test_a_question_is_answered or test_a_seed_is_accepted or test_chunks_make_up"


def _told(drift: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {(each["severity"], each["kind"], each["where"]) for each in drift["differences"]}


def _changed(_: str, body: Any) -> Any:
    """A field less, a field renamed, another model behind the name."""
    if isinstance(body, dict) and body.get("object") == "chat.completion":
        body["model"] = f"{body['model']}-2026-11-20"
        del body["usage"]["total_tokens"]
        body["usage"]["prompt_details"] = body["usage"].pop("prompt_tokens_details")
    return body


def _frames(path: str, frames: Frames) -> Frames:
    """An event more in chat; the last two of a message the other way round."""
    if path.endswith("/chat/completions"):
        more = json.loads(frames[0].removeprefix("data: "))
        return [
            *frames[:-1],
            "data: " + json.dumps({**more, "object": "chat.completion.bill", "choices": []}),
            frames[-1],
        ]
    if path.endswith("/messages"):
        at = max(i for i, frame in enumerate(frames) if "content_block_stop" in frame)
        frames[at], frames[at + 1] = frames[at + 1], frames[at]
    return frames


def _billed(_: str, body: Any) -> Any:
    """A field more, which no client has to know."""
    return {**body, "billing": {"cents": 1}} if body.get("object") == "chat.completion" else body


def _reworded(_: str, body: Any) -> Any:
    """Another text, so that a second turn asks another question."""
    for choice in body.get("choices", ()) if isinstance(body, dict) else ():
        choice["message"]["content"] += " Indeed."
    return body


@pytest.mark.parametrize("stack", ["library:reference", "server:reference"])
def test_a_provider_that_answers_as_ever_is_one_line(project: Project, stack: str) -> None:
    ended = project.verify(CHAT, "--strict", stack=stack)
    assert ended.code == 0, ended.out
    lines = [line for line in ended.out.splitlines() if "drift" in line]
    assert lines == ["drift: none; 4 answers have the shapes of their recordings"]
    assert project.drift["compared"] == 4
    assert project.drift["differences"] == []


def test_what_changed_is_told_with_examples_and_how_to_record_it_anew(project: Project) -> None:
    project.change(whole=_changed, frames=_frames)
    ended = project.verify(f"{CHAT} or test_a_streamed_message_has_its_events_in_order")
    assert ended.code == 1, ended.out  # this suite looks at these fields itself
    assert _told(project.drift) == {
        ("breaking", "gone-field", "usage.total_tokens"),
        ("breaking", "gone-field", "usage.prompt_tokens_details"),
        ("breaking", "event-order", "content_block_stop before message_delta"),
        ("additive", "new-field", "usage.prompt_details"),
        ("additive", "new-event", "chat.completion.bill"),
        ("additive", "model", "behind smollm2:135m"),
    }
    start = ended.out.index("drift: ")
    told = ended.out[start : ended.out.index("\nspent:", start)].splitlines()
    assert told[0] == "drift: 7 breaking, 7 additive in 5 answers"
    assert told[1:3] == [
        "  breaking  gone field usage.prompt_tokens_details  3 × POST /chat/completions",
        '            recorded {"cached_tokens": 0}  observed nothing',
    ]
    commands = [line for line in told if "record anew: " in line]
    assert commands[0].endswith(
        "stackproof run --suite base --setup ollama --stack-config library:reference "
        "--file tests/integration/base/test_chat.py::test_a_question_is_answered --inference-mode record"
    )
    assert len(told) < 20
    for each in project.drift["differences"]:
        assert (project.root / each["recording"]).is_file()
        assert each["again"].endswith(" --inference-mode record")


def test_drift_is_a_warning_and_with_strict_the_recordings_are_at_fault(project: Project) -> None:
    project.change(whole=_billed)
    ended = project.verify("test_a_seed_is_accepted")
    assert ended.code == 0, ended.out
    assert "PASS" in ended.out
    assert "  additive  new field billing  1 × POST /chat/completions" in ended.out
    strict = project.verify("test_a_seed_is_accepted", "--strict")
    assert strict.code == 6, strict.out
    assert "answers drifted from the recordings: 1 additive (--strict)" in strict.out
    for words, code in (((), 0), (("--strict",), 6), (("--all",), 0), (("--markdown",), 0)):
        shown = project.stackproof("drift", *words)
        assert shown.code == code, shown.out
        assert "billing" in shown.out
    facts = json.loads(project.stackproof("drift", "--json").out)
    (again,) = {each["again"] for each in project.drift["differences"]}
    assert project.stackproof(*shlex.split(again)[1:]).code == 0
    anew = project.verify("test_a_seed_is_accepted", "--strict")
    assert anew.code == 0, anew.out
    assert "drift: none; 1 answer has the shape of its recording" in anew.out
    assert facts["counts"] == {"breaking": 0, "additive": 1, "note": 0}
    assert [cell["cell"] for cell in facts["cells"]] == ["base-ollama-library-reference"]


def test_a_second_turn_that_holds_another_answer_is_compared_all_the_same(project: Project) -> None:
    project.change(whole=_reworded)
    project.verify("test_conversation")
    assert project.drift["compared"] >= 2
    assert project.drift["unrecorded"] == []
    assert [each for each in project.drift["differences"] if each["severity"] != "note"] == []


def test_what_has_no_partner_is_told(project: Project) -> None:
    test = project.root / "tests/integration/base/test_new.py"
    test.write_text(
        "def test_new(openai_client, text_model):\n"
        "    for word in ('bird', 'fish'):\n"
        "        ask = [{'role': 'user', 'content': f'Name a {word}.'}]\n"
        "        openai_client.chat.completions.create(model=text_model, messages=ask, max_tokens=4)\n"
    )
    seeded = project.root / "tests/integration/base/test_chat.py"
    text = seeded.read_text()
    at = text.index("def test_a_seed_is_accepted")
    seeded.write_text(f"{text[:at]}def test_a_seed_is_accepted() -> None:\n    assert True\n")
    ended = project.verify("test_new or test_a_seed_is_accepted")
    assert ended.code == 0, ended.out
    drift = project.drift
    (unknown,) = drift["unrecorded"]
    assert (unknown["test_id"], unknown["calls"]) == ("tests/integration/base/test_new.py::test_new", 2)
    assert {each["test_id"] for each in drift["not_asked"]} == {
        "tests/integration/base/test_chat.py::test_a_seed_is_accepted"
    }
    assert "drift: nothing was compared; 2 calls not recorded" in ended.out
    assert "not recorded: 2 calls of tests/integration/base/test_new.py::test_new" in ended.out
    strict = project.stackproof("drift", "--strict")
    assert strict.code == 7, strict.out
    assert "nothing was compared; 2 calls not recorded" in strict.out.splitlines()[-2]


def test_a_call_that_was_refused_and_tried_again_takes_no_recording_away(project: Project) -> None:
    file = project.root / "tests/integration/base/test_chat.py"
    file.write_text(file.read_text().replace("openai_client.chat", "openai_client.with_options(max_retries=2).chat"))
    first = iter([(429, "application/json")])
    project.change(head=lambda _, status, kind: next(first, (status, kind)))
    ended = project.verify("test_a_seed_is_accepted")
    assert ended.code == 0, ended.out
    drift = project.drift
    assert (drift["compared"], drift["differences"], drift["unrecorded"]) == (1, [], [])
    assert [each["status"] for each in drift["refused"]] == [429]
    assert "; 1 call refused" in ended.out
