"""`stackproof trace show|check|migrate`: what a person reads, what a program reads, and the exit codes."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.unit.trace.conftest import ANSWER, Scripted, Talk

from stackproof.cli import main as cli
from stackproof.errors import ExitCode
from stackproof.trace import Message, ModelRequest, RecordingModelClient, TextDelta, TraceCancelledError
from stackproof.trace.versions import MIGRATIONS

KEY = "sk-abcdefghij0123456789klmn"


@dataclass(frozen=True, kw_only=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        value = json.loads(self.out)
        assert value["schema"] == 1
        return dict(value)


Say = Callable[..., Said]


@pytest.fixture
def say(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Say:
    monkeypatch.chdir(tmp_path)

    def run(*argv: str, **environ: str) -> Said:
        capsys.readouterr()
        code = cli.main(["trace", *argv], environ=environ, project=tmp_path)
        told = capsys.readouterr()
        return Said(code=code, out=told.out, err=told.err)

    return run


@pytest.fixture
def talked(path: Path, talk: Talk, say: Say) -> str:
    """Two complete exchanges and a partial one, in the current folder."""
    client = RecordingModelClient(Scripted(), path, partial=True)
    tools = ({"type": "function", "name": "weather"}, {"type": "function", "function": {"name": "time"}})
    talk.say(client, "Oslo?", tools=tools)
    talk.say(client, "Oslo?", "Bergen?")
    with pytest.raises(TraceCancelledError):
        talk.say(client, "Oslo?", "Bergen?", "Moss?", cancel_after=1)
    return path.name


def test_show_tells_each_exchange_in_a_few_lines_of_80_columns(talked: str, say: Say) -> None:
    told = say("show", talked)
    size = Path(talked).stat().st_size
    shown = f"{size} B" if size < 1000 else f"{size / 1000:.1f} kB"
    assert re.sub("[0-9a-f]{64}", "…", told.out).splitlines() == [
        f"{talked}: version 1, 2 complete exchanges, 1 partial, {shown}",
        "",
        "line 2, step 0, model small",
        "  fingerprint  …",
        '  asked        user "Oslo?"',
        "  tools        weather, time (generation 0)",
        '  answered     "It rains."',
        '  called       weather {"city":"Oslo"}',
        "  events       2 text_delta, 1 tool_call, 1 completed",
        '  usage        {"output_tokens": 3}',
        "",
        "line 3, step 1, model small",
        "  fingerprint  …",
        '  asked        user "Bergen?" (after 1 item)',
        '  answered     "It rains."',
        '  called       weather {"city":"Oslo"}',
        "  events       2 text_delta, 1 tool_call, 1 completed",
        '  usage        {"output_tokens": 3}',
        "",
        "line 4, step 2, model small",
        "  fingerprint  …",
        '  asked        user "Moss?" (after 2 items)',
        '  answered     "It "',
        "  events       1 text_delta",
        "  partial      cancelled after 1 event: TraceCancelledError: the stream was ca…",
    ]
    assert all(len(line) <= 80 for line in told.out.splitlines())
    assert (told.code, told.err) == (0, "")


@pytest.mark.parametrize(
    ("item", "told"),
    [
        (
            {"role": "user", "content": [{"text": "Hello, "}, {"type": "text", "text": "you"}]},
            'user "Hello, you"',
        ),
        ({"role": "user", "content": [{"text": "See"}, {"image": 1}]}, 'user [{"text": "See"}, {"image": 1}]'),
        ({"role": "user", "content": []}, "user []"),
        ({"type": "reasoning", "summary": []}, 'reasoning {"type": "reasoning", "summary": []}'),
        ({"type": "function_call_output", "call_id": "c", "output": "rain"}, 'function_call_output "rain"'),
    ],
)
def test_show_says_what_the_last_item_says(
    tmp_path: Path, talk: Talk, say: Say, item: dict[str, Any], told: str
) -> None:
    class Asking(Talk):
        def request(self, *said: str, **more: Any) -> ModelRequest:
            return ModelRequest(instructions=None, history=(item,))

    Asking().say(RecordingModelClient(Scripted(), tmp_path / "t.jsonl"))
    assert f"  asked        {told}" in say("show", "t.jsonl").out.splitlines()


def test_show_of_one_line_with_its_events(talked: str, say: Say) -> None:
    told = say("show", "--line", "3", "--events", talked)
    assert told.out.splitlines()[0] == "line 3, step 1, model small"
    assert told.out.splitlines()[3:] == [
        '  text_delta   "It "',
        '  text_delta   "rains."',
        '  tool_call    call_1 weather {"city":"Oslo"}',
        '  completed    resp_1 {"output_tokens": 3}',
    ]


def test_show_of_a_line_that_is_not_there_names_those_that_are(talked: str, say: Say) -> None:
    told = say("show", "--line", "9", talked)
    assert (told.code, told.out) == (ExitCode.USAGE, "")
    assert told.err == f"✗ {talked} has no exchange at line 9\n  its lines are 2 to 4\n"


def test_show_as_json_has_everything_in_full(talked: str, say: Say) -> None:
    (trace,) = say("show", "--json", talked).json["traces"]
    assert (trace["file"], trace["version"], trace["damaged"]) == (talked, 1, [])
    first, _, last = trace["exchanges"]
    assert first["line"] == 2
    assert first["partial"] is None
    assert first["request"]["history"] == [{"role": "user", "content": "Oslo?"}]
    assert [event["type"] for event in first["events"]] == [event.type for event in ANSWER]
    assert last["partial"]["why"] == "cancelled"


def test_what_a_terminal_would_act_on_is_not_printed(tmp_path: Path, talk: Talk, say: Say) -> None:
    evil = "\x1b[31mred\x07\n\u202eback"
    client = RecordingModelClient(Scripted(answers=((Message(text=evil),),)), tmp_path / "t.jsonl", partial=True)
    talk.say(client, evil, model=evil)
    out = say("show", "t.jsonl").out + say("show", "--events", "t.jsonl").out
    assert not {"\x1b", "\x07", "\u202e"} & set(out)
    assert "red" in out


def test_check_says_what_is_only_worth_saying_and_fails_for_it_only_when_strict(talked: str, say: Say) -> None:
    told = say("check", talked)
    assert told.out.splitlines() == [
        f"– partial       {talked}, line 4",
        "    cancelled after 1 event: TraceCancelledError: the stream was cancelled: enough",
        "    next: nothing, or record the conversation anew: it is never replayed",
        f"{talked}: version 1, 2 complete exchanges: 1 partial",
    ]
    assert told.code == ExitCode.PASS
    assert say("check", "--strict", talked).code == ExitCode.RECORDINGS


def test_check_of_a_trace_in_order(tmp_path: Path, talk: Talk, say: Say) -> None:
    talk.say(RecordingModelClient(Scripted(), tmp_path / "t.jsonl"), "Oslo?")
    told = say("check", "--strict", "t.jsonl")
    assert (told.code, told.out) == (0, "t.jsonl: version 1, 1 complete exchange: nothing wrong\n")


def _kinds(told: Said) -> list[tuple[str, int | None, bool]]:
    return [(one["kind"], one["line"], one["fails"]) for one in told.json["findings"]]


def test_check_names_each_kind_of_damage_with_its_line(tmp_path: Path, talk: Talk, say: Say) -> None:
    talk.say(RecordingModelClient(Scripted(), tmp_path / "t.jsonl"), "Oslo?")
    good = (tmp_path / "t.jsonl").read_text()
    ab = "ab" * 32
    for content, expected in (
        ("", [("empty", None, True)]),
        (good.splitlines()[0] + "\n", [("empty", None, True)]),
        (good[:-20], [("torn", 2, True)]),
        (good + "{}\n", [("damaged", 3, True)]),
        (good.replace("text_delta", "text_omega"), [("unknown-event", 2, True)]),
        (good.replace("It ", f"It {KEY}"), [("secret", 2, True)]),
        (good.replace("It ", f"It {KEY[:9]}").replace("rains.", KEY[9:]), [("secret", 2, True)]),
        ('{"format":"stackproof-trace","version":2}\n', [("newer", None, True)]),
        (f'{{"fingerprint":"{ab}","events":[{{"type":"completed"}}]}}\n', [("outdated", None, False)]),
        ("\x00\x01", [("damaged", None, True)]),
    ):
        (tmp_path / "t.jsonl").write_text(content)
        told = say("check", "--json", "t.jsonl")
        assert _kinds(told) == expected
        assert told.code == told.json["exit_code"] == (6 if expected[0][2] else 0)
        assert KEY not in told.out + say("check", "t.jsonl").out
        assert (tmp_path / "t.jsonl").read_text() == content


def test_check_knows_the_secrets_of_the_setups_that_this_environment_has(tmp_path: Path, talk: Talk, say: Say) -> None:
    answer = (TextDelta(text="horse-battery-"), TextDelta(text="staple"), *ANSWER)
    talk.say(RecordingModelClient(Scripted(answers=(answer,)), tmp_path / "t.jsonl"), "Oslo?")
    assert _kinds(say("check", "--json", "t.jsonl")) == []
    told = say("check", "t.jsonl", OPENAI_API_KEY="horse-battery-staple")
    assert told.code == ExitCode.RECORDINGS
    assert "the value of OPENAI_API_KEY, at events, in several pieces of text" in told.out
    assert "staple" not in told.out


@pytest.mark.parametrize("command", ["show", "check", "migrate"])
def test_what_is_no_file_is_a_usage_error_in_two_lines(tmp_path: Path, say: Say, command: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name, what in (
        ("folder", "folder is a folder, not a trace\n  name the files in it: folder/*.jsonl"),
        ("none.jsonl", "there is no trace at none.jsonl\n  a RecordingModelClient writes one"),
        ("pipe", "pipe is no regular file\n  a trace is a file that is written at its end"),
    ):
        told = say(command, name)
        assert (told.code, told.out, told.err) == (ExitCode.USAGE, "", f"✗ {what}\n")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["folder", "pipe"]


@pytest.mark.parametrize("command", ["show", "check", "migrate"])
def test_without_zstandard_a_compressed_trace_says_how_to_get_it(
    tmp_path: Path, say: Say, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    (tmp_path / "t.jsonl.zst").touch()
    monkeypatch.setitem(sys.modules, "zstandard", None)
    told = say(command, "t.jsonl.zst")
    assert (told.code, told.out) == (ExitCode.USAGE, "")
    assert told.err == (
        "✗ t.jsonl.zst is compressed, and the package zstandard, which reads and writes it, is not installed\n"
        "  pip install zstandard, or use an uncompressed trace: t.jsonl\n"
    )


def test_migrate_says_what_it_would_do_does_it_and_then_has_nothing_to_do(tmp_path: Path, say: Say) -> None:
    old = '{"events": [{"type": "completed"}], "fingerprint": "' + "ab" * 32 + '"}\n'
    (tmp_path / "old.jsonl").write_text(old)
    step = "  version 0 → 1: adds the header, room for the request, and the mark of what did not end with `completed`\n"
    assert say("migrate", "--dry-run", "old.jsonl").out == f"old.jsonl: would be migrated, 1 exchange\n{step}"
    assert (tmp_path / "old.jsonl").read_text() == old
    assert say("migrate", "old.jsonl").out == f"old.jsonl: migrated, 1 exchange\n{step}"
    assert (tmp_path / "old.jsonl").read_text().startswith('{"format":"stackproof-trace","version":1}\n')
    assert say("migrate", "old.jsonl").out == "old.jsonl: version 1 is current, nothing to do\n"
    assert say("check", "--strict", "old.jsonl").code == ExitCode.PASS


def test_migrate_goes_on_past_a_damaged_file_which_it_leaves_alone(tmp_path: Path, say: Say) -> None:
    old = '{"events": [{"type": "completed"}], "fingerprint": "' + "ab" * 32 + '"}\n'
    (tmp_path / "bad.jsonl").write_text(old + "{}\n")
    (tmp_path / "old.jsonl").write_text(old)
    told = say("migrate", "--json", "bad.jsonl", "old.jsonl")
    assert told.code == ExitCode.RECORDINGS
    assert told.json["files"] == [
        {
            "file": "old.jsonl",
            "from": 0,
            "to": 1,
            "changed": True,
            "exchanges": 1,
            "partial": 0,
            "dropped_torn": False,
            "steps": [f"0 → 1: {MIGRATIONS[0].says}"],
        }
    ]
    (refused,) = told.json["refused"]
    assert refused["what"] == "bad.jsonl, line 2, has no fingerprint and no events"
    assert (tmp_path / "bad.jsonl").read_text() == old + "{}\n"


def test_migrate_drops_a_torn_line_when_told_to(tmp_path: Path, talk: Talk, say: Say) -> None:
    for _ in range(2):
        talk.say(RecordingModelClient(Scripted(), tmp_path / "t.jsonl"), "Oslo?")
    whole = (tmp_path / "t.jsonl").read_bytes()
    (tmp_path / "t.jsonl").write_bytes(whole[:-30])
    told = say("migrate", "t.jsonl")
    assert told.code == ExitCode.RECORDINGS
    assert "✗ t.jsonl, line 3, is cut short\n" in told.err
    assert (tmp_path / "t.jsonl").read_bytes() == whole[:-30]
    assert say("migrate", "--drop-torn", "t.jsonl").out == "t.jsonl: lost its torn last line, 1 exchange\n"
    assert whole.startswith((tmp_path / "t.jsonl").read_bytes())
    assert say("check", "t.jsonl").code == ExitCode.PASS


def test_the_group_lists_its_commands_and_names_the_nearest(say: Say) -> None:
    assert "migrate" in say("--help").out
    told = say("chek")
    assert told.code == ExitCode.USAGE
    assert "did you mean 'check'?" in told.err
