"""Secrets are taken out of what is written and of what is compared, in the same way, and never out of what is yielded.

So a request that holds a secret fits its trace where the secret has another value, and where nobody knows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stackproof.recorder import redact
from stackproof.recorder.canonical import NotPlainJson, compact, parse
from stackproof.trace.events import JsonObject, TextDelta


def known_secrets(secrets: Mapping[str, str]) -> dict[str, str]:
    """Those of the named values that are long and real enough to be searched for: 8 characters, no `EMPTY`."""
    return redact.known_values(secrets, secrets)


def hidden(value: Any, secrets: Mapping[str, str]) -> Any:
    """A JSON value without known secrets, texts shaped like keys, and strings under names like `api_key`."""
    return redact.conceal(redact.response(_within_arguments(value)), secrets)


def hidden_events(events: list[JsonObject], secrets: Mapping[str, str]) -> list[JsonObject]:
    """Events without secrets, also without one that several pieces of text hold together.

    A piece of text that was nothing but a part of such a secret goes; all other events stay, in their order.
    """
    places = [index for index, event in enumerate(events) if event["type"] == TextDelta.type]
    texts = [events[index]["text"] for index in places]
    whole = "".join(texts)
    shown = redact.conceal(whole, secrets)
    if shown != whole:
        pieces = dict(zip(places, _recut(texts, whole, shown), strict=True))
        events = [
            {**event, "text": pieces[index]} if index in pieces else event
            for index, event in enumerate(events)
            if pieces.get(index, "") is not None
        ]
    return [hidden(event, secrets) for event in events]


def found_in(value: Any, secrets: Mapping[str, str]) -> tuple[str, str] | None:
    """(what, JSON path) of the first secret in a line of a trace; the value itself is never told."""
    found = redact.find(value, secrets)
    if found is not None or not isinstance(value, dict) or not isinstance(value.get("events"), list):
        return found
    pieces = [event.get("text") for event in value["events"] if isinstance(event, dict)]
    apart = redact.find("".join(text for text in pieces if isinstance(text, str)), secrets)
    return None if apart is None else (apart[0], "events, in several pieces of text")


def _recut(texts: list[str], whole: str, shown: str) -> list[str | None]:
    """The pieces of `shown`, cut as those of `whole` are where both begin and end alike.

    What replaces the rest stands in the first piece that it touches; None stands for a piece of which nothing is left.
    """
    head = alike(whole, shown)
    tail = min(alike(whole[::-1], shown[::-1]), len(whole) - head, len(shown) - head)
    first, last = head, len(whole) - tail  # what differs, in the old text
    pieces: list[str | None] = []
    start, merged = 0, False
    for text in texts:
        end = start + len(text)
        if end <= first or start >= last:
            pieces.append(text)
        else:
            before, behind = whole[start:first] if start < first else "", whole[last:end] if end > last else ""
            middle = "" if merged else shown[head : len(shown) - tail]
            piece = before + middle + behind
            pieces.append(piece if not merged or piece else None)
            merged = True
        start = end
    return pieces


def alike(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _within_arguments(value: Any) -> Any:
    """What a tool is called with is JSON within a string: its fields of secret names are masked as well."""
    if isinstance(value, dict):
        return {
            key: _masked(item) if key == "arguments" and isinstance(item, str) else _within_arguments(item)
            for key, item in value.items()
        }
    return [_within_arguments(item) for item in value] if isinstance(value, list) else value


def _masked(text: str) -> str:
    try:
        found = parse(text)
    except NotPlainJson:
        return text
    masked = redact.response(found)
    return text if masked == found else compact(masked).decode("utf-8")
