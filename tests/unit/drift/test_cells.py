"""A cell's observed calls beside its recordings: which belong together, what is written, and what people see."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.cli.main import main
from stackproof.drift import cell, telling
from stackproof.evidence import drift
from stackproof.evidence.drift import DriftFacts
from stackproof.recorder import recording
from stackproof.recorder.identity import digest
from stackproof.recorder.miss import form_of
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope
from stackproof.recorder.settings import Settings

if TYPE_CHECKING:
    from tests.unit.drift.conftest import Makers

Recording = dict[str, Any]
TEST = "tests/integration/base/test_chat.py::test_one"
RECORD = f"stackproof run -x --file {TEST} --inference-mode record"
SECRET = "sk-0123456789abcdefghij0123"


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What a command printed, and its exit code."""

    code: int
    out: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Desk:
    """A project with recordings, and a cell of a run that observed calls."""

    root: Path
    cell: Path
    print_out: Callable[[], str]

    def record(self, content: Recording, *, scope: str = TEST, ordinal: int = 1, at: int = 0) -> Path:
        """Lay down a recording."""
        placed = {**content, "scope": scope, "test_id": scope}
        placed["provenance"] = {**content["provenance"], "recorded_at": f"2026-01-01T00:00:{at:02d}+00:00"}
        return self._put(self.root / "recordings/gpt/base", placed, ordinal)

    def observe(self, content: Recording, *, scope: str = TEST, ordinal: int = 1, attempt: str = "1") -> Path:
        """Lay down what was observed, in the order of the calls."""
        placed = {**content, "scope": scope, "test_id": scope}
        folder = self.cell / "observed" / Scope(name=scope).digest[:12] / attempt
        path = self._put(folder, placed, ordinal)
        with (self.cell / "calls.jsonl").open("a") as file:
            file.write(json.dumps({"kind": "observed", "scope": scope, "file": str(path)}) + "\n")
        return path

    @staticmethod
    def _put(folder: Path, content: Recording, ordinal: int) -> Path:
        request = digest(form_of(content["request"]))[:20]
        suffix = "" if ordinal == 1 else f"-{ordinal}"
        path = folder / f"{Scope(name=content['scope']).digest[:12]}-{request}{suffix}.json"
        recording.write(str(path), content)
        return path

    def ran(self, *tests: str, outcome: str = "passed") -> None:
        """Say how tests ended."""
        with (self.cell / "tests.jsonl").open("a") as file:
            for test in tests or (TEST,):
                facts = {
                    "nodeid": test,
                    "outcome": outcome,
                    "duration": 0.1,
                    "reason": None,
                    "text": None,
                    "attempt": 1,
                }
                file.write(json.dumps({"event": "test", **facts}) + "\n")

    @property
    def content(self) -> dict[str, Any]:
        """What `drift.json` would hold."""
        found = cell.write(
            self.cell, self.root, {"OPENAI_API_KEY": SECRET}, root=self.root / "recordings", command="stackproof run -x"
        )
        assert found is not None
        assert json.loads((self.cell / "drift.json").read_text()) == found
        return found

    @property
    def facts(self) -> DriftFacts:
        """The same as it is read."""
        found = drift.of(self.content)
        assert found is not None
        return found

    @property
    def lines(self) -> list[str]:
        """What a person sees."""
        return list(telling.lines(self.facts, more="stackproof drift abc --all"))

    def say(self, *words: str) -> Told:
        """`stackproof drift …`."""
        code = main(["drift", *words], environ={}, project=self.root)
        return Told(code=code, out=self.print_out())


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    folder = tmp_path / ".stackproof/runs/abcdef/cells/base-gpt-library-reference"
    folder.mkdir(parents=True)
    (tmp_path / "recordings/gpt/base").mkdir(parents=True)
    settings = Settings(
        mode=Mode.VERIFY, recordings=str(tmp_path / "recordings"), setup="gpt", run_dir=str(folder), run_id="abcdef",
        project=str(tmp_path), suite="base", secrets=("OPENAI_API_KEY",), provenance={"stack": "reference"},
    )  # fmt: skip
    (folder / "recorder.json").write_text(settings.to_json())
    return Desk(root=tmp_path, cell=folder, print_out=lambda: capsys.readouterr().out)


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


def test_damaged_files_are_named_and_nothing_else_is_lost(desk: Desk, make: type[Makers]) -> None:
    desk.record(make.whole(make.chat()))
    desk.observe(make.whole(make.chat()))
    (desk.cell / "observed/0123456789ab/1").mkdir(parents=True)
    (desk.cell / "observed/0123456789ab/1/0123456789ab-01234567890123456789.json").write_text('{"format": 1')
    facts = desk.facts
    assert facts.compared == 1
    assert len(facts.damaged) == 1
    assert facts.damaged[0].startswith("observed/0123456789ab/1/")


def test_secrets_are_taken_out_wherever_they_stand(desk: Desk, make: type[Makers]) -> None:
    desk.record(make.whole(make.chat()))
    desk.observe(make.whole(make.chat() | {"echo": f"key {SECRET} of you"}))
    assert SECRET not in json.dumps(desk.content)
    assert "***" in (desk.facts.differences[0].observed or "")


def test_the_file_is_bounded_and_says_how_much_it_leaves_out(desk: Desk, make: type[Makers]) -> None:
    desk.record(make.whole(make.chat()))
    desk.observe(
        make.whole(make.chat() | {f"new_{chr(97 + i % 26)}{chr(97 + i // 26)}": "x" * 9999 for i in range(50)})
    )
    for number in range(2, 8):
        extra = {f"new_{chr(97 + i % 26)}{chr(97 + i // 26)}": 1 for i in range(50)}
        desk.observe(make.whole(make.chat() | extra), attempt=str(number))
    body = make.chat()
    del body["usage"]
    desk.observe(make.whole(body), attempt="8")
    content = desk.content
    assert content["counts"] == {"breaking": 1, "additive": 350, "note": 0}
    assert [each["severity"] for each in content["differences"]] == ["breaking"] + ["additive"] * 199
    assert (len(content["differences"]), content["left_out"]["differences"]) == (200, 151)
    assert len((desk.cell / "drift.json").read_bytes()) < 250_000
    assert len(desk.lines) < 20
    assert any("more differences" in line and "stackproof drift abc --all" in line for line in desk.lines)


def test_the_same_comparison_gives_the_same_file(desk: Desk, make: type[Makers]) -> None:
    for number, word in enumerate(("One", "Two", "Three")):
        desk.record(make.whole(make.chat(), ask=word), at=number)
        desk.observe(make.whole(make.chat() | {f"new_{word}": 1}, ask=word))
    first = desk.content
    assert all(desk.content == first for _ in range(3))


def test_a_cell_of_another_mode_has_nothing_to_compare(desk: Desk, make: type[Makers]) -> None:
    settings = json.loads((desk.cell / "recorder.json").read_text())
    (desk.cell / "recorder.json").write_text(json.dumps({**settings, "mode": "replay"}))
    assert cell.write(desk.cell, desk.root, {}, root=desk.root / "recordings", command="x") is None
    assert not (desk.cell / "drift.json").exists()
    (desk.cell / "recorder.json").write_text("{")
    assert cell.write(desk.cell, desk.root, {}, root=desk.root / "recordings", command="x") is None


def test_the_worst_comes_first_and_equal_ones_are_one_line(desk: Desk, make: type[Makers]) -> None:
    for number in range(3):
        desk.record(make.whole(make.chat(), ask=f"{number}?"), at=number)
        body = make.chat(finish="length") | {"new": {"a": 1}}
        del body["usage"]["total_tokens"]
        desk.observe(make.whole(body, ask=f"{number}?"))
    assert desk.lines == [
        "drift: 3 breaking, 3 additive, 3 notes in 3 answers",
        "  breaking  gone field usage.total_tokens  3 × POST /chat/completions",
        "            recorded 5  observed nothing",
        "  additive  new field new  3 × POST /chat/completions",
        '            recorded nothing  observed {"a": 1}',
        "  note      value choices[].finish_reason  3 × POST /chat/completions",
        "            recorded stop  observed length",
        f"  record anew: {RECORD}",
    ]


def test_the_command_shows_a_finished_run(desk: Desk, make: type[Makers]) -> None:
    desk.record(make.whole(make.chat()))
    desk.observe(make.whole(make.chat() | {"new": 1}))
    alone = desk.say()  # a pytest that was called alone writes no drift.json: it is found out now
    assert alone.code == 0
    assert alone.out.startswith("drift: 1 additive in 1 answer\n")
    assert "record anew: stackproof run --suite base --setup gpt --stack-config library:reference --file" in alone.out
    assert not (desk.cell / "drift.json").exists()
    _ = desk.content
    assert desk.say("abcdef", "--strict").code == 6
    facts = json.loads(desk.say("abcdef", "--json").out)
    assert (facts["schema"], facts["counts"]["additive"], len(facts["cells"])) == (1, 1, 1)
    assert facts["cells"][0]["differences"][0]["again"].startswith("stackproof run -x ")


def test_markdown_lets_no_text_of_others_be_more_than_text(desk: Desk, make: type[Makers]) -> None:
    evil = "tests/integration/base/test_chat.py::test_[`x` <script>|@all]"
    desk.record(make.whole(make.chat()), scope=evil)
    bad = "`` </code><img src=x> @everyone [a](b)\n# head"
    desk.observe(make.whole(make.chat() | {"<b>`new`": bad}), scope=evil)
    text = desk.say("--markdown").out
    assert text.startswith("### Drift: 1 additive in 1 answer\n")
    bare = _without_code(text)
    assert "<" not in bare
    assert "@" not in bare
    assert "# head" not in bare
    assert "Record anew" in bare


def _without_code(text: str) -> str:
    """Markdown without what stands in code, as CommonMark reads it: a run of backticks ends at one of its length."""
    kept, at = [], 0
    while at < len(text):
        if text[at] != "`":
            kept.append(text[at])
            at += 1
            continue
        fence = text[at : at + len(text[at:]) - len(text[at:].lstrip("`"))]
        end = at + len(fence)
        while True:
            end = text.index(fence, end)
            longer = text[end:].startswith(fence + "`") or text[end - 1] == "`"
            if not longer:
                break
            end += len(text[end:]) - len(text[end:].lstrip("`"))
        at = end + len(fence)
    return "".join(kept)


@pytest.mark.parametrize("words", [("nope",), ("--json", "--markdown"), ("abcdef", "--bogus")])
def test_what_cannot_be_asked_is_a_sentence(desk: Desk, words: tuple[str, ...]) -> None:
    assert desk.say(*words).code == 2


def test_without_a_run_that_observed_anything_the_command_says_how_to_make_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["drift"], environ={}, project=tmp_path) == 2
    assert "--inference-mode verify" in capsys.readouterr().err
