"""Two who write one large recording, or one who writes and one who removes it: where they meet, it is whole or gone."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from stackproof.recorder import recording, sidefile
from stackproof.recorder.recording import encode_body

ONE, OTHER = b"\xff\x01" * 40_000, b"\xff\x02" * 40_000
# How long the second may run beside the first that stands still: one that waits for the first to go on takes longer.
_BESIDE = 0.15


def _made(content: bytes) -> dict[str, Any]:
    request: dict[str, Any] = {"provider": "p", "method": "GET", "path": "/audio", "query": [], "body": None}
    head = {"status": 200, "headers": {}, "is_streaming": False, "complete": True, "is_exception": False}
    response = {**head, "exception": None, "body": encode_body("audio/mpeg", content)}
    return {"format": 1, "test_id": "t", "scope": "t", "request": request, "response": response, "rules": []}


@contextmanager
def _standing_still(step: int, act: Callable[[], object]) -> Iterator[list[int]]:
    """Let `act` run in a thread of its own before change number `step` that this thread makes; yields the steps."""
    steps: list[int] = []
    me, threads = threading.get_ident(), []

    def guarded(change: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*args: Any, **more: Any) -> Any:
            if threading.get_ident() == me:
                steps.append(len(steps) + 1)
                if len(steps) == step:
                    threads.append(threading.Thread(target=act))
                    threads[0].start()
                    threads[0].join(_BESIDE)
            return change(*args, **more)

        return changed

    with ExitStack() as undo:
        for name in ("replace", "unlink", "listdir"):
            undo.enter_context(mock.patch.object(os, name, guarded(getattr(os, name))))
        yield steps
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()


def _write(path: Path, content: bytes) -> Callable[[], object]:
    return lambda: recording.write(str(path), _made(content))


def _remove(path: Path) -> Callable[[], object]:
    return lambda: recording.remove(str(path))


_SMALL = b"\xff"


@pytest.mark.parametrize(
    ("there", "first", "second"),
    [
        (None, ONE, OTHER),
        (ONE, ONE, OTHER),
        (ONE, OTHER, ONE),
        (ONE, OTHER, None),
        (ONE, None, OTHER),
        (ONE, OTHER, _SMALL),
        (ONE, _SMALL, OTHER),
    ],
    ids=["both anew", "equal", "back", "write, remove", "remove, write", "write, small", "small, write"],
)
def test_writers_of_one_recording_leave_one_that_is_whole_wherever_they_meet(
    tmp_path: Path, there: bytes | None, first: bytes | None, second: bytes | None
) -> None:
    path, step, ended = tmp_path / "a.json", 0, False
    while not ended:
        step += 1
        recording.remove(str(path))
        if there is not None:
            recording.write(str(path), _made(there))
        acts = [_remove(path) if content is None else _write(path, content) for content in (first, second)]
        with _standing_still(step, acts[1]) as steps:
            acts[0]()
        ended = len(steps) < step
        found = recording.read(str(path))  # raises where it is damaged
        body = None if found is None else b"".join(recording.chunks_of(found["response"]))
        assert body in ((first, second) if not ended else (first,)), f"step {step}"
        beside = sorted(item.name for item in tmp_path.iterdir() if item.name != "a.json")
        assert len(beside) == (body is not None and len(body) > sidefile.LIMIT), f"step {step}: {beside}"
    assert step > 1


def test_a_reader_between_two_contents_gets_one_of_them(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    recording.write(str(path), _made(ONE))
    take_in = sidefile.take_in

    def late(place: str, found: dict[str, Any]) -> None:
        if b"\xff\x01" in (tmp_path / found["response"]["body"]["file"]).read_bytes()[:2]:
            recording.write(place, _made(OTHER))  # after the recording was read, and before what lies beside it is
        take_in(place, found)

    with mock.patch.object(sidefile, "take_in", late):
        found = recording.read(str(path))
    assert found is not None
    assert b"".join(recording.chunks_of(found["response"])) == OTHER
