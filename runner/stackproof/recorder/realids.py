"""Put real ids back on the way to the provider: it knows what it made up, not what a recording shows."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from .ledger import Ledger
from .normalise import WRITTEN
from .scope import Scope

_JOURNAL = "ids"
# Where a provider must know the id; in other places (tool_call_id, items sent back in full) it is only an echo.
_MUST_BE_KNOWN = ("previous_response_id", "response_id")


@dataclass(frozen=True, kw_only=True, slots=True)
class Outgoing:
    """`url` and `body` to send, None where nothing changed; `stale`: an id whose real one this run never saw.

    `known` is real → written for the ids that the answer may speak of again: those of the scope and those sent.
    """

    url: str | None = None
    body: bytes | None = None
    stale: str | None = None
    known: Mapping[str, str] = field(default_factory=dict)


class RealIds:
    """Written id → real id, shared by the run's processes through its folder.

    Kept by scope: two tests with an equal request have the same written ids for different real ones.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._by_scope: dict[str, dict[str, str]] = {}
        self._shared: dict[str, str] = {}
        self._anywhere: dict[str, str] = {}
        self._offset = 0
        self._lock = threading.Lock()

    def learn(self, scope: Scope, written: Mapping[str, str]) -> None:
        """Remember the ids of an answer (real → written)."""
        if written:
            ids = {new: real for real, new in written.items()}
            self._ledger.note(_JOURNAL, {"scope": scope.name, "shared": scope.is_shared, "ids": ids})

    def put_back(self, scope: Scope, url: str, body: bytes) -> Outgoing:
        """The request as the real provider has to see it."""
        self._refresh()
        own = self._by_scope.get(scope.name, {})
        known = {real: written for ids in (self._shared, own) for written, real in ids.items()}
        if "rec-" not in url and b"rec-" not in body:
            return Outgoing(known=known)
        text = body.decode("utf-8", "surrogateescape")
        in_url, in_text = set(WRITTEN.findall(url)), set(WRITTEN.findall(text))
        real = {
            name: found
            for name in in_url | in_text
            if (found := own.get(name) or self._shared.get(name) or self._anywhere.get(name)) is not None
        }
        needed = in_url | (in_text & _needed(text) if in_text else set())
        stale = next((name for name in sorted(needed) if name not in real), None)
        if stale is not None:
            return Outgoing(stale=stale)
        # One pass: a written id may be part of a longer one.
        new_url = WRITTEN.sub(lambda match: quote(real.get(match[0], match[0]), safe=""), url)
        new_text = WRITTEN.sub(lambda match: real.get(match[0], match[0]), text)
        return Outgoing(
            url=new_url if new_url != url else None,
            body=new_text.encode("utf-8", "surrogateescape") if new_text != text else None,
            known={**known, **{found: name for name, found in real.items()}},
        )

    def after_fork(self) -> None:
        """In a child: a thread that it does not have may hold its copy of the lock, in the middle of reading."""
        self._lock, self._offset = threading.Lock(), 0

    def _refresh(self) -> None:
        with self._lock:
            entries, self._offset = self._ledger.read(_JOURNAL, self._offset)
            for entry in entries:
                ids = entry["ids"]
                (self._shared if entry["shared"] else self._by_scope.setdefault(entry["scope"], {})).update(ids)
                self._anywhere.update(ids)


def _needed(text: str) -> set[str]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return set()
    return {str(value.get(key)) for key in _MUST_BE_KNOWN} if isinstance(value, dict) else set()
