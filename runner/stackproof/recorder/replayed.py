"""A recorded answer as its caller gets it in replay."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from . import encodings, pacing, recording
from .decision import Answer
from .settings import Settings
from .take import Response

# What an SDK waits after, beside every answer that says itself how long.
_WAITED_FOR = (408, 409, 429)


def answer_of(response: Response, settings: Settings, *, key: str, n: int, read_on: Callable[[], str]) -> Answer:
    """key: of the request. n: which of the equal requests it answers. read_on: told where the recorded caller left."""
    left_early = not response["complete"] and not response["is_exception"]
    return Answer(
        status=response["status"],
        headers=without_wait(response["status"], headers_of(response)),
        chunks=pacing.recut(recording.chunks_of(response), settings.chunk_fuzz, key),
        waits=() if settings.chunk_fuzz else pacing.waits_of(response, settings.pace),
        exception=response["exception"],
        read_on=read_on if left_early else None,
        n=n,
    )


def without_wait(status: int | None, headers: Mapping[str, str]) -> dict[str, str]:
    """The SDK acts as it did, without the wait."""
    if "retry-after" in headers or status in _WAITED_FOR or (status or 0) >= 500:
        return {**headers, "retry-after-ms": "1"}
    return dict(headers)


def headers_of(response: Response) -> dict[str, str]:
    """Recorded headers as they fit the recorded body."""
    return {key: value for key, value in response["headers"].items() if not encodings.is_undone(key, value)}
