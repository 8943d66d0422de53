"""Whether the client of the request that is served here has gone. The adapter of a server that can tell says how.

Where a recorded stream was left early, replay gives what there is at once, and a server notices that its client has
left only when it writes again. Whoever reads on meanwhile is not to blame.
"""

from __future__ import annotations

import contextlib
import select
import socket
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

Left = Callable[[], bool]

WAIT = 2.0  # seconds, as async readers have
_STEP = 0.02
_left: ContextVar[Left | None] = ContextVar("stackproof_client_left", default=None)


@contextlib.contextmanager
def use(left: Left | None) -> Iterator[None]:
    """Ask `left` in the block, and in what it starts, whether the client has gone. It may wait, where all is sync."""
    token = _left.set(left)
    try:
        yield
    finally:
        _left.reset(token)


def has_left() -> bool:
    """Whether the client is known to have gone; False where there is none, or nobody can tell."""
    left = _left.get()
    return left is not None and left()


def closed(connection: Any, seconds: float = WAIT) -> bool:
    """Whether the other side closes the socket `connection` within `seconds`; False for what is no plain socket.

    Seconds of looking: on a busy machine, where nobody has a turn for a while, it is looked as often as on an idle one.
    """
    try:
        for _ in range(max(1, round(seconds / _STEP))):
            readable, _, _ = select.select([connection], [], [], _STEP)
            if readable:
                return not connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except ConnectionError:
        return True
    except (AttributeError, OSError, TypeError, ValueError):
        pass
    return False
