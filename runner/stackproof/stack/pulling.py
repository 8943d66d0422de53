"""How far a download is, in one line now and then: layers of an image, or the parts of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_APART = 5.0  # seconds


class Progress:
    """Adds events up. name: what is fetched, as a person knows it."""

    def __init__(self, name: str, *, clock: Callable[[], float]) -> None:
        self._name, self._clock = name, clock
        self._said_at = clock()
        self._parts: dict[str, tuple[int, int]] = {}

    def line(self, event: Mapping[str, Any]) -> str | None:
        """What to say after this event; None when something was said a moment ago, or nothing is known yet.

        event: of Docker ({"id", "status": "Downloading", "progressDetail": {"current", "total"}}), or of Ollama's
        /api/pull ({"digest", "completed", "total"}); sizes in bytes.
        """
        detail = event.get("progressDetail") if event.get("status") == "Downloading" else event
        part, total = event.get("id") or event.get("digest"), (detail or {}).get("total")
        if not part or not isinstance(total, int):
            return None
        done = (detail or {}).get("current") or (detail or {}).get("completed") or 0
        self._parts[str(part)] = (int(done), total)
        now = self._clock()
        if now - self._said_at < _APART:
            return None
        self._said_at = now
        got, whole = (sum(sizes) / 1e6 for sizes in zip(*self._parts.values(), strict=True))
        return f"pulling {self._name}: {got:.0f} of {whole:.0f} MB"
