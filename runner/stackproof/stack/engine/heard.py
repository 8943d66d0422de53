"""Answers of the engine that come bit by bit and may say nothing for long: whoever waits for one can be interrupted."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from docker import APIClient

Event = TypeVar("Event")

_STEP = 0.05  # seconds between two looks at whether to go on
_ENDING = 5.0  # seconds


def heard(client: APIClient, ask: Callable[[APIClient], Iterator[Event]], check: Callable[[], None]) -> Iterator[Event]:
    """What `ask` gets from the engine, event by event; read in a thread, since a read cannot be interrupted.

    client: for this answer alone. check: called while waiting, raises to end it. The answer is cut off then, as if this
    process had ended, and the engine stops what it was doing.
    """
    events: queue.SimpleQueue[Event | BaseException | None] = queue.SimpleQueue()
    answers: list[Any] = []

    def keep(answer: Any, **_: Any) -> None:
        answers.append(answer)

    def read() -> None:
        end: BaseException | None = None
        try:
            for event in ask(client):
                events.put(event)
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            end = error
        events.put(end)

    client.hooks["response"].append(keep)
    reader = threading.Thread(target=read, name="an answer of the engine", daemon=True)
    reader.start()
    try:
        while True:
            check()
            try:
                event = events.get(timeout=_STEP)
            except queue.Empty:
                continue
            if event is None:
                return
            if isinstance(event, BaseException):
                raise event
            yield event
    finally:
        for answer in answers:
            _cut(client, answer)
        reader.join(timeout=_ENDING)
        client.close()


def _cut(client: APIClient, answer: Any) -> None:
    # Closing what another thread reads from would wait for that read.
    with contextlib.suppress(OSError, AttributeError):
        raw: Any = client._get_raw_response_socket(answer)  # type: ignore[attr-defined]  # noqa: SLF001 - there is no other way to it
        getattr(raw, "_sock", raw).shutdown(socket.SHUT_RDWR)
