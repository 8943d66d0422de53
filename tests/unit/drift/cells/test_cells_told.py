"""What is told of a comparison, and to whom."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stackproof.cli.main import main
from stackproof.drift import cell

if TYPE_CHECKING:
    from tests.unit.drift.conftest import Makers
from tests.unit.drift.cells.conftest import RECORD, SECRET, Desk


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
