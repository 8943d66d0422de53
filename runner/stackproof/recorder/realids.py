"""Put real ids back on the way to the provider: it knows what it made up, not what a recording shows."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass

from .ledger import Ledger
from .normalise import WRITTEN

_JOURNAL = "ids"
# Where a provider must know the id; in other places (tool_call_id, items sent back in full) it is only an echo.
_MUST_BE_KNOWN = ("previous_response_id", "response_id")


@dataclass(frozen=True, kw_only=True, slots=True)
class Outgoing:
    """`url` and `body` to send, None where nothing changed; `stale`: an id whose real one this run never saw."""

    url: str | None
    body: bytes | None
    stale: str | None = None


class RealIds:
    """Written id → real id, shared by the run's processes through its folder."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._known: dict[str, str] = {}
        self._offset = 0
        self._lock = threading.Lock()

    def learn(self, written: Mapping[str, str]) -> None:
        """Remember the ids of an answer (real → written)."""
        if written:
            self._ledger.note(_JOURNAL, {new: real for real, new in written.items()})

    def put_back(self, url: str, body: bytes) -> Outgoing:
        """The request as the real provider has to see it."""
        if "rec-" not in url and b"rec-" not in body:
            return Outgoing(url=None, body=None)
        text = body.decode("utf-8", "surrogateescape")
        named = set(WRITTEN.findall(url)) | set(WRITTEN.findall(text))
        self._refresh(named)
        stale = next((name for name in sorted(named) if name not in self._known and _needed(name, url, text)), None)
        if stale is not None:
            return Outgoing(url=None, body=None, stale=stale)
        new_url, new_text = url, text
        for name in sorted(named & self._known.keys(), key=len, reverse=True):
            new_url = new_url.replace(name, self._known[name])
            new_text = new_text.replace(name, self._known[name])
        return Outgoing(
            url=new_url if new_url != url else None,
            body=new_text.encode("utf-8", "surrogateescape") if new_text != text else None,
        )

    def _refresh(self, names: set[str]) -> None:
        with self._lock:
            if names <= self._known.keys():
                return
            entries, self._offset = self._ledger.read(_JOURNAL, self._offset)
            for entry in entries:
                self._known.update(entry)


def _needed(name: str, url: str, text: str) -> bool:
    if name in url:
        return True
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, dict) and any(value.get(key) == name for key in _MUST_BE_KNOWN)
