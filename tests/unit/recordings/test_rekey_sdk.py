"""A run missed what an SDK sends now: which recordings come near, what differs, and what accepting it does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stackproof.cli import main as cli
from stackproof.errors import ExitCode
from stackproof.recorder import scope as scopes
from stackproof.recorder.brain import Brain
from stackproof.recorder.decision import Answer, Record
from stackproof.recorder.interaction import Request
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope
from stackproof.recorder.settings import Provider, Settings

URL = "http://127.0.0.1:9/v1"
TEST = "tests/integration/base/test_a.py::test_one"
OTHER = "tests/integration/base/test_a.py::test_two"
SECRET = "p4ssw0rd-of-a-tenant"


class Runs:
    """A project whose recorder records and replays, run by run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.brains: list[Brain] = []

    def brain(self, mode: Mode) -> Brain:
        """A run of its own."""
        run_id = f"00000{len(self.brains)}"
        cell = self.root / f".stackproof/runs/{run_id}/cells/base-s-library-tiny"
        cell.mkdir(parents=True)
        settings = Settings(
            mode=mode, recordings=str(self.root / "recordings"), setup="s", run_dir=str(cell), run_id=run_id,
            project=str(self.root), suite="base", secrets=("SOME_KEY",),
            providers=(Provider(name="p", variable="P_URL", prefixes=(URL,)),),
        )  # fmt: skip
        (cell / "recorder.json").write_text(settings.to_json())
        self.brains.append(Brain(settings, {"SOME_KEY": SECRET}))
        return self.brains[-1]

    def ask(self, brain: Brain, body: Any, test: str = TEST) -> str:
        """The answer to a call, or the kind of its miss; while recording it is the body."""
        raw = json.dumps(body).encode()
        with scopes.use(Scope(name=test, test_id=test)):
            head = {"content-type": "application/json"}
            decision = brain.ask(Request(method="POST", url=f"{URL}/answers", headers=head, body=raw))
        if isinstance(decision, Record):
            decision.take.start(200, head, head)
            decision.take.feed(
                json.dumps({"said": body["say"], "n": len(brain.store.staged(Scope(name=test)))}).encode()
            )
            decision.take.end()
            return ""
        assert isinstance(decision, Answer)
        told = json.loads(b"".join(decision.chunks))
        return f"{told['said']} {told['n']}" if decision.status == 200 else str(told["error"]["code"])

    def record(self, *bodies: Any, test: str = TEST) -> None:
        """A test that asks this passes."""
        brain = self.brain(Mode.RECORD)
        for body in bodies:
            self.ask(brain, body, test)
        brain.store.promote(Scope(name=test, test_id=test), replace=True)

    def replay(self, *bodies: Any, test: str = TEST) -> list[str]:
        """What a test is told that asks this."""
        brain = self.brain(Mode.REPLAY)
        return [self.ask(brain, body, test) for body in bodies]

    def rekey(self, *argv: str) -> int:
        """The command's exit code."""
        return cli.main(["recordings", "rekey", "--run", "last", *argv], environ={}, project=self.root)

    def files(self) -> dict[str, bytes]:
        """Every recording."""
        return {path.name: path.read_bytes() for path in (self.root / "recordings").rglob("*.json")}


@pytest.fixture(name="runs")
def _runs(tmp_path: Path) -> Iterator[Runs]:
    made = Runs(tmp_path)
    yield made
    for brain in made.brains:
        brain.ledger.close()


def old(say: str) -> dict[str, Any]:
    """What the SDK sent."""
    return {"say": say, "messages": [{"content": say, "x": 1}]}


def new(say: str) -> dict[str, Any]:
    """What it sends now."""
    return {"say": say, "max": 100, "messages": [{"content": say}]}


def test_nothing_changes_before_every_difference_is_accepted(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    runs.record(old("one"), old("two"), old("unasked"))
    assert runs.replay(new("two"), new("one")) == ["recording_no-match"] * 2
    before = runs.files()
    assert runs.rekey() == ExitCode.RECORDINGS
    assert runs.rekey("--accept", "body.json.max") == ExitCode.RECORDINGS
    assert runs.files() == before
    assert capsys.readouterr().out.split("Summary")[0] == (
        "what run 000001 missed comes near 2 files that it did not use; the requests differ in\n"
        "  body.json.messages[].x  1 → nothing, 2 files\n"
        "  body.json.max           nothing → 100, 2 files\n"
        "accept a path where the provider would still give the same answer, and the files are re-keyed:\n"
        "  stackproof recordings rekey --run last --accept 'body.json.messages[].x' --accept body.json.max\n"
    )


def test_what_is_accepted_replays_and_the_rest_stays(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    runs.record(old("one"), old("two"), old("unasked"))
    assert runs.replay(new("two"), new("one")) == ["recording_no-match"] * 2
    before = runs.files()
    accept = ("--accept", "body.json.max", "--accept", "body.json.messages[].x")
    assert runs.rekey(*accept, "--dry-run") == ExitCode.PASS
    assert runs.files() == before
    assert runs.rekey(*accept) == ExitCode.PASS
    assert capsys.readouterr().out == "Summary: 2 files would be re-keyed\nSummary: 2 files re-keyed\n"
    once = runs.files()
    assert len({*once} & {*before}) == 1
    assert runs.rekey(*accept) == ExitCode.PASS
    assert runs.files() == once
    assert runs.replay(new("one"), new("two"), old("unasked")) == ["one 0", "two 1", "unasked 2"]


def test_equal_requests_move_together_and_keep_their_order(runs: Runs) -> None:
    runs.record(old("poll"), old("poll"), old("poll"))
    # The test ends with its first miss: the SDK raises.
    assert runs.replay(new("poll")) == ["recording_no-match"]
    assert runs.rekey("--accept", "body.json.*") == ExitCode.PASS
    assert runs.replay(*[new("poll")] * 4) == ["poll 0", "poll 1", "poll 2", "recording_exhausted"]


def test_a_request_of_which_some_are_there_is_filled_up(runs: Runs) -> None:
    runs.record(new("poll"), old("poll"))
    assert runs.replay(new("poll"), new("poll")) == ["poll 0", "recording_exhausted"]
    assert runs.rekey("--accept", "body.json.*") == ExitCode.PASS
    assert runs.replay(new("poll"), new("poll")) == ["poll 0", "poll 1"]


def test_what_the_run_used_and_what_is_of_another_test_is_left(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    runs.record(old("one"))
    runs.record(old("one"), test=OTHER)
    assert runs.replay(old("one"), new("one")) == ["one 0", "recording_no-match"]
    before = runs.files()
    assert runs.rekey("--accept", "*") == ExitCode.RECORDINGS
    assert f"✗ {TEST}: nothing that is unused comes near" in capsys.readouterr().out
    assert runs.files() == before


def test_a_request_that_holds_a_secret_is_not_keyed_by_its_mask(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    runs.record(old("one"), {"say": "stars", "text": "***bold***"})
    assert runs.replay({**old("one"), "user": SECRET}) == ["recording_no-match"]
    before = runs.files()
    assert runs.rekey("--accept", "*") == ExitCode.RECORDINGS
    assert f"✗ a request of {TEST} holds a secret" in capsys.readouterr().out
    assert runs.files() == before
    assert SECRET.encode() not in b"".join(runs.files().values())
    assert runs.replay({"say": "stars", "text": "***bold***", "api_key": SECRET}) == ["recording_no-match"]
    assert runs.rekey("--accept", "*") == ExitCode.PASS, "what is masked on both sides of a key is part of it"
    assert runs.replay({"say": "stars", "text": "***bold***", "api_key": SECRET}) == ["stars 1"]


def test_a_path_in_which_nothing_differs_names_the_nearest(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    runs.record(old("one"))
    runs.replay(new("one"))
    assert runs.rekey("--accept", "body.json.mxa") == ExitCode.USAGE
    assert "did you mean 'body.json.max'?" in capsys.readouterr().err


def test_json_tells_pairs_and_values(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    runs.record(old("one"))
    runs.replay(new("one"))
    assert runs.rekey("--json") == ExitCode.RECORDINGS
    told = json.loads(capsys.readouterr().out)
    (pair,) = told["pairs"]
    assert (told["schema"], told["run"], pair["scope"], pair["accepted"]) == (1, "000001", TEST, False)
    assert pair["differing"] == [
        {"path": "body.json.messages[].x", "recorded": 1},
        {"path": "body.json.max", "sent": 100},
    ]


def test_a_run_that_is_not_there_is_said(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    runs.record(old("one"))
    assert runs.rekey() == ExitCode.USAGE
    assert "no run replayed these recordings" in capsys.readouterr().err
