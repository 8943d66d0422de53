"""One request with the events of its answer, and the line of a trace that says so."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from stackproof.recorder.canonical import NotPlainJson, compact, parse
from stackproof.trace.events import (
    Completed,
    JsonObject,
    MalformedEventError,
    ModelEvent,
    UnknownTypeError,
    decode,
    encode,
)
from stackproof.trace.fingerprint import FIELDS, fingerprint_of

_FINGERPRINT = re.compile(r"[0-9a-f]{64}")


class Why(StrEnum):
    """Why an exchange was recorded only in part."""

    BROKEN = "broken"  # the client raised
    CANCELLED = "cancelled"
    LEFT = "left-early"  # the caller stopped reading
    UNFINISHED = "ended-without-completion"


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """A line of a trace. `request`: the compared form; None where the version that wrote it kept none.

    why: None for a complete exchange; else why it ended before its answer did, and `error` says how, in words.
    """

    fingerprint: str
    request: JsonObject | None
    events: tuple[ModelEvent, ...]
    conversation: str = ""
    model: str = ""
    why: Why | None = None
    error: str = ""


class LineError(ValueError):
    """A line that is no exchange; the message goes on after "line 3,"."""


class LineEventError(LineError):
    """A line with an event of an unknown type."""


def to_json(exchange: Exchange) -> JsonObject:
    """The object of a line. Keys stand in the order in which a person reads them."""
    made: JsonObject = {"fingerprint": exchange.fingerprint}
    if exchange.conversation:
        made["conversation"] = exchange.conversation
    if exchange.model:
        made["model"] = exchange.model
    made["request"] = exchange.request
    made["events"] = [encode(event) for event in exchange.events]
    if exchange.why is not None:
        made["partial"] = {"why": exchange.why.value, "error": exchange.error}
    return made


def to_line(value: JsonObject) -> bytes:
    """An object as one line, UTF-8, with its line feed."""
    return compact(value) + b"\n"


def read_line(line: bytes) -> JsonObject:
    """The object of a line. LineError."""
    try:
        value = parse(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise LineError("is no text in UTF-8") from None
    except NotPlainJson as error:
        raise LineError(f"is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise LineError(f"is JSON, but no object: {type(value).__name__}")
    return value


def from_json(value: JsonObject) -> Exchange:
    """The exchange that an object of the current version says. LineError, LineEventError."""
    lacking = [name for name in ("fingerprint", "request", "events") if name not in value]
    if lacking:
        raise LineError(f"has no {' and no '.join(lacking)}")
    if more := value.keys() - {"fingerprint", "conversation", "model", "request", "events", "partial"}:
        raise LineError(f"has {', '.join(sorted(more))}, which belongs to no exchange")
    if _FINGERPRINT.fullmatch(_text(value, "fingerprint")) is None:
        raise LineError("has a fingerprint that is no SHA-256 in 64 hexadecimal digits")
    events = _events(value["events"])
    why, error = _partial(value.get("partial"))
    if why is None and not _is_complete(events):
        raise LineError("is not marked partial, yet its events do not end with the one `completed`")
    return Exchange(
        fingerprint=value["fingerprint"],
        request=_request(value),
        events=events,
        conversation=_text(value, "conversation"),
        model=_text(value, "model"),
        why=why,
        error=error,
    )


def _is_complete(events: tuple[ModelEvent, ...]) -> bool:
    return [index for index, event in enumerate(events) if isinstance(event, Completed)] == [len(events) - 1]


def _request(value: JsonObject) -> JsonObject | None:
    request = value["request"]
    if request is None:
        return None
    if not isinstance(request, dict) or set(request) != set(FIELDS):
        raise LineError(f"has a request that is not made of {', '.join(FIELDS)}")
    if fingerprint_of(request) != value["fingerprint"]:
        raise LineError("has a request to which its fingerprint does not belong: one of them was changed by hand")
    return request


def _events(value: Any) -> tuple[ModelEvent, ...]:
    if not isinstance(value, list):
        raise LineError("has events that are no list")
    try:
        return tuple(decode(event) for event in value)
    except UnknownTypeError as error:
        raise LineEventError(f"has {error}") from None
    except MalformedEventError as error:
        raise LineError(f"has {error}") from None


def _partial(value: Any) -> tuple[Why | None, str]:
    if value is None:
        return None, ""
    if not isinstance(value, dict) or set(value) != {"why", "error"} or not isinstance(value["error"], str):
        raise LineError("is marked partial, but not with why and error")
    if value["why"] not in list(Why):
        raise LineError(f"is partial for an unknown reason: {value['why']!r}")
    return Why(value["why"]), value["error"]


def _text(value: JsonObject, name: str) -> str:
    found = value.get(name, "")
    if not isinstance(found, str):
        raise LineError(f"has a {name} that is no text")
    return found
