"""How long a caller of aiohttp waits, and what it gets when a replayed answer takes longer."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from .. import pacing
from ..decision import Answer
from ..failures import Kind, tell
from .aiohttp_failures import Failures

_READ = "Timeout on reading data from socket"


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    """read: seconds for the next bytes. until: when the whole call has to be over, by time.monotonic."""

    read: float
    until: float

    async def hold(
        self,
        seconds: float,
        answer: Answer,
        failures: Failures,
        request: Any,
        failed: Callable[[BaseException], None] | None = None,
    ) -> None:
        """Let the caller wait, as long as it does; then aiohttp's exception. failed: told of one that stays."""
        left = max(0.0, self.until - time.monotonic())
        limit = min(self.read, left)
        for nap in pacing.naps(min(seconds, limit), answer.over):
            await asyncio.sleep(nap)
        if seconds <= limit:
            return
        if left <= self.read:
            raise failures.rebuild(tell(Kind.TOTAL_TIMEOUT, ""), request, has_head=True)
        error = failures.rebuild(tell(Kind.READ_TIMEOUT, _READ), request, has_head=True)
        if failed is not None:
            failed(error)
        raise error


def patience_of(module: ModuleType, session: Any, given: Any, began: float) -> Patience:
    """From a session and what one request said, `given`: its `timeout`, which may be a number."""
    limits = session._timeout if given is module.helpers.sentinel else given
    if not isinstance(limits, module.ClientTimeout):
        limits = module.ClientTimeout(total=limits)
    return Patience(
        read=math.inf if limits.sock_read is None else limits.sock_read,
        # Of nothing, and of 0, aiohttp makes no limit.
        until=began + limits.total if limits.total else math.inf,
    )
