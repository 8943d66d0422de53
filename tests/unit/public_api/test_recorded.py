"""`stackproof.recorder.recorded`: record and replay in plain Python."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest
import requests

from stackproof import recorder
from stackproof.faults import parse
from stackproof.recorder import MissedError, Mode, NetworkBlockedError, Recorded, RecordingInCIError, recorded
from stackproof.recorder import scope as scopes
from stackproof.recorder.install import active

Provider = Any
OPENAI = "https://api.openai.com/v1"
Ask = Callable[[str], str]


@pytest.fixture(name="ask")
def _ask(provider: Provider) -> Ask:
    def ask(text: str) -> str:
        answer = requests.post(f"{provider.url}/chat/completions", json=_question(text), timeout=30)
        return str(answer.json()["choices"][0]["message"]["content"])

    return ask


@pytest.fixture(name="block")
def _block(tmp_path: Path, provider: Provider) -> Callable[..., Any]:
    def block(mode: str | Mode | None = None, **more: Any) -> Any:
        given: dict[str, Any] = {"providers": {"mine": provider.url}, "environ": {}, **more}
        return recorded(tmp_path / "recordings" / "mine", scope=given.pop("scope", "greeting"), mode=mode, **given)

    return block


def _question(text: str) -> dict[str, object]:
    return {"model": "small", "messages": [{"role": "user", "content": text}]}


def within(block: AbstractContextManager[Recorded], do: Callable[[], object]) -> None:
    with block:
        do()


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "recordings").rglob("*.json"))


def test_what_is_recorded_once_is_replayed_without_the_provider(block: Any, ask: Ask, provider: Provider) -> None:
    with block("record") as first:
        assert [ask("a"), ask("a"), ask("b")] == ["Hello 1", "Hello 2", "Hello 3"]
    assert first == Recorded(recorded=3, written=3)
    with block() as second:
        assert [ask("a"), ask("a"), ask("b")] == ["Hello 1", "Hello 2", "Hello 3"]
    assert second == Recorded(replayed=3)
    assert provider.asked == 3


def test_nothing_is_left_in_the_process(block: Any, ask: Ask) -> None:
    sent = requests.adapters.HTTPAdapter.send
    with block("record"):
        ask("a")
    assert active() is None
    assert scopes.current() is None
    assert requests.adapters.HTTPAdapter.send is sent
    assert ask("a") == "Hello 2"


def test_a_miss_fails_the_block_and_says_how_the_request_differs(block: Any, ask: Ask) -> None:
    with block("record"):
        ask("hello")
    with pytest.raises(MissedError) as missed:
        within(block(), lambda: requests.post(f"{OPENAI}/chat/completions", json=_question("hallo"), timeout=30))
    assert "no recording for POST /chat/completions of openai (model small" in str(missed.value)
    assert "record it: STACKPROOF_INFERENCE_MODE=record-if-missing" in str(missed.value)


def test_an_error_of_the_block_is_its_own_and_tells_of_the_miss(block: Any, ask: Ask) -> None:
    with pytest.raises(KeyError) as raised, block():
        ask("never asked before")
    assert "no recording for POST /chat/completions of mine" in raised.value.__notes__[0]


def test_a_block_that_fails_keeps_nothing(block: Any, ask: Ask, tmp_path: Path) -> None:
    def fail() -> None:
        ask("a")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), block("record") as calls:
        fail()
    assert files(tmp_path) == []
    assert (calls.recorded, calls.dropped, calls.written) == (1, 1, 0)


def test_record_if_missing_adds_and_record_removes_what_is_not_asked_again(
    block: Any, ask: Ask, tmp_path: Path
) -> None:
    with block("record"):
        ask("a")
    with block(Mode.RECORD_IF_MISSING) as calls:
        ask("a")
        ask("b")
    assert (calls.replayed, calls.recorded, calls.written) == (1, 1, 1)
    with block("record") as calls:
        ask("b")
    assert calls.removed == 1
    assert len(files(tmp_path)) == 1


def test_an_answer_that_is_not_worth_keeping_costs_no_recording(
    block: Any, ask: Ask, provider: Provider, tmp_path: Path
) -> None:
    with block("record"):
        ask("a")
    provider.status = 429
    with block("record") as calls:
        ask("a")
    assert (calls.dropped, calls.removed) == (1, 0)
    assert len(files(tmp_path)) == 1


def test_scopes_keep_their_recordings_apart(block: Any, ask: Ask, tmp_path: Path) -> None:
    with block("record", scope="one"):
        ask("a")
    with block("record", scope="two"):
        ask("a")
    with block(scope="one"):
        assert ask("a") == "Hello 1"
    with block(scope="two"):
        assert ask("a") == "Hello 2"
    assert len(files(tmp_path)) == 2


def test_threads_and_tasks_of_a_block_belong_to_it(block: Any, ask: Ask, provider: Provider) -> None:
    async def both() -> list[int]:
        async with httpx.AsyncClient() as client:
            sent = [client.post(f"{provider.url}/chat/completions", json=_question(text)) for text in "ab"]
            return [answer.status_code for answer in await asyncio.gather(*sent)]

    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()  # its thread is older than the block
        with block("record") as calls:
            assert pool.submit(ask, "c").result() == "Hello 1"
            assert asyncio.run(both()) == [200, 200]
    assert calls.recorded == 3


def test_a_thread_that_is_older_than_the_block_belongs_to_it(block: Any, ask: Ask, tmp_path: Path) -> None:
    go, said = threading.Event(), list[str]()

    def wait_and_ask() -> None:
        go.wait(60)
        said.append(ask("a"))

    older = threading.Thread(target=wait_and_ask)
    older.start()
    with block("record"):
        go.set()
        older.join(60)
    assert said == ["Hello 1"]
    assert len(files(tmp_path)) == 1


def test_replay_lets_nothing_else_out_but_what_is_reachable(block: Any, provider: Provider) -> None:
    def connect() -> None:
        socket.create_connection(("192.0.2.1", 80), timeout=0.01)

    with pytest.raises(NetworkBlockedError, match=r"192\.0\.2\.1:80 was blocked in replay"):
        within(block(), connect)
    # What comes of it is the machine's: nobody is there, or its network has something at any address.
    try:
        within(block(reachable=["192.0.2.1"]), connect)
    except OSError as error:
        blocked: object = isinstance(error, NetworkBlockedError)
    else:
        blocked = False
    assert not blocked


def test_mode_comes_from_the_variable_and_is_checked(block: Any, ask: Ask) -> None:
    with block(environ={"STACKPROOF_INFERENCE_MODE": "record"}) as calls:
        ask("a")
    assert calls.recorded == 1
    with pytest.raises(ValueError, match=r"'recrod' is not one of: live, record, replay"), block("recrod"):
        pass


@pytest.mark.parametrize("name", ["", "stack", "fixture:tests/conftest.py::model"])
def test_a_scope_that_would_be_somebody_elses_is_refused(block: Any, name: str) -> None:
    with pytest.raises(ValueError, match="is no scope of a block"), block(scope=name):
        pass


def test_recording_under_ci_has_to_be_meant(block: Any, ask: Ask) -> None:
    with pytest.raises(RecordingInCIError, match="allow_in_ci=True"), block("record", environ={"CI": "true"}):
        pass
    with block("record", environ={"CI": "true"}, allow_in_ci=True) as calls:
        ask("a")
    assert calls.written == 1


def test_an_answer_with_a_secret_of_the_environment_is_refused(block: Any, ask: Ask, tmp_path: Path) -> None:
    given = {"secrets": ["MY_KEY"], "environ": {"MY_KEY": "correct-horse-battery"}}
    with pytest.raises(MissedError, match="the value of MY_KEY is in request"):
        within(block("record", **given), lambda: ask("say correct-horse-battery"))
    assert files(tmp_path) == []


def test_faults_are_put_into_replayed_answers(block: Any, ask: Ask, provider: Provider) -> None:
    with block("record"):
        ask("a")
    with block(faults=[parse("status:429,retry-after=2")]):
        answer = requests.post(f"{provider.url}/chat/completions", json=_question("a"), timeout=30)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "2")


def test_public_names_are_loaded_when_they_are_asked_for() -> None:
    code = (
        "import sys, stackproof.recorder as r; sys.exit(any(n.startswith('stackproof.recorder.') for n in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert {name for name in recorder.__all__ if getattr(recorder, name) is None} == set()
    with pytest.raises(AttributeError, match="no attribute 'record'"):
        _ = recorder.record  # type: ignore[attr-defined]
