"""The log of the depot is read to its end, whatever becomes of the way to it: each line once, in order."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from stackproof.errors import DockerError
from stackproof.swarm import depot_container
from stackproof.swarm.depot_container import DepotContainer

LINES = b"".join(json.dumps({"event": "sign", "piece": number}).encode() + b"\n" for number in range(6))


class Engine:
    """Tells the log from its first byte on each time it is asked, and breaks off where `breaks` says."""

    def __init__(self, breaks: list[int | None]) -> None:
        self.breaks, self.asked = breaks, 0

    def followed(self, container: str, *, silent: float, check: Callable[[], None]) -> Iterator[bytes]:
        end = self.breaks[self.asked] if self.asked < len(self.breaks) else None
        self.asked += 1
        told = LINES[:end]
        for begin in range(0, len(told), 7):
            yield told[begin : min(begin + 7, len(told))]
        if end is not None:
            raise DockerError("the connection broke off")
        while True:
            check()
            time.sleep(0.01)

    def remove(self, container: str) -> None:
        """It goes."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(depot_container, "_AGAIN", 0.01)


@pytest.mark.parametrize("breaks", [[], [40], [0, 40, 41, 20, 100], [len(LINES)]])
def test_each_line_comes_once_however_often_the_way_breaks(breaks: list[int | None]) -> None:
    engine = Engine(breaks)
    found = DepotContainer(cast("Any", engine), name="depot", image="i", python="python3", network="n")
    found._follower.start()
    events: list[dict[str, Any]] = []
    deadline = time.monotonic() + 60
    while engine.asked <= len(breaks) or len(events) < 6:
        events += found.events()
        assert time.monotonic() < deadline, events
        time.sleep(0.01)
    found.stop()
    assert not found._follower.is_alive(), "it listens on"
    events += found.events()
    assert [event["piece"] for event in events] == list(range(6))
