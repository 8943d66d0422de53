"""One interaction of a cassette as data: the request as it was sent, the answer as it came, and what is lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from stackproof.recorder import events, recording, redact
from stackproof.recordings.importing import vcr_body
from stackproof.recordings.importing.imported import ImportedAnswer, RefusedSource

# Headers that every server sends and no client of a provider acts on: nobody misses them.
_EXPECTED = frozenset(
    {"accept-ranges", "age", "alt-svc", "cache-control", "connection", "content-length", "date", "etag", "expires",
     "keep-alive", "pragma", "server", "strict-transport-security", "transfer-encoding", "vary", "via"}
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """headers: of the request, lower-case. recorded_at: ISO 8601 to the second, where the answer has a date.

    lost: what of it cannot be carried over though it is imported, each a phrase that is counted.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    is_rewritten: bool
    answer: ImportedAnswer
    recorded_at: str | None
    lost: tuple[str, ...]


def read(raw: Any) -> Exchange:
    """An interaction as vcrpy writes it, in any of its versions from 1.0 on; RefusedSource when it is none."""
    request, response = (_mapping(raw, key) for key in ("request", "response"))
    method, url = request.get("method"), request.get("uri")
    if not isinstance(method, str) or not method or not isinstance(url, str) or not url:
        raise RefusedSource("its request has no method or no uri")
    if _host(url) is None:
        raise RefusedSource("its URL cannot be read")
    headers = _headers(request.get("headers"))
    is_rewritten = "parsed_body" in request and not request.get("body")
    if is_rewritten:
        body = vcr_body.parsed(request["parsed_body"], "request")
    else:
        body = vcr_body.bytes_of(request.get("body"), "request")
    answered = _headers(response.get("headers"))
    answer, lost = _answer(response, answered, method)
    lost += ("the request's body, as it was written: a serializer of its own wrote it anew",) if is_rewritten else ()
    return Exchange(
        method=method,
        url=url,
        headers=headers,
        body=body,
        is_rewritten=is_rewritten,
        answer=answer,
        recorded_at=_date(answered.get("date")),
        lost=(*lost, *_left_out(answered, url)),
    )


def _mapping(raw: Any, key: str) -> dict[str, Any]:
    value = raw.get(key) if isinstance(raw, dict) else None
    if not isinstance(value, dict):
        raise RefusedSource(f"it has no {key}")
    return value


def _headers(raw: Any) -> dict[str, str]:
    """Lower-case name → value; of a list of values all, as RFC 9110 5.2 joins them."""
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        raise RefusedSource("its headers are no mapping")
    found: dict[str, str] = {}
    for name, value in raw.items():
        texts = [_text(item) for item in (value if isinstance(value, list) else [value])]
        found[str(name).lower()] = ", ".join(text for text in texts if text is not None)
    return found


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None


def _answer(response: dict[str, Any], headers: dict[str, str], method: str) -> tuple[ImportedAnswer, tuple[str, ...]]:
    status = _status(response)
    is_parsed = "parsed_body" in response and not response.get("body")
    if is_parsed:
        raw = vcr_body.parsed(response["parsed_body"], "answer")
    elif "body" not in response and "content" not in response:
        raise RefusedSource("its answer has no body")
    else:
        # `content` and `status_code` are what vcrpy wrote for httpx before 6.0.
        raw = vcr_body.bytes_of(response.get("body", response.get("content")), "answer")
    encoding = headers.get("content-encoding", "").strip().lower()
    lost: list[str] = []
    body = raw
    if encoding not in ("", "identity"):
        undone = raw if is_parsed else vcr_body.decoded(encoding, raw)
        if undone is None:
            lost.append(f"a body in {encoding}, which is kept encoded: no package here undoes it")
        else:
            body = undone
            headers.pop("content-encoding")
    if _is_short(raw, headers) and not (encoding or is_parsed or method == "HEAD" or status == 304):
        if not _is_whole_json(raw, headers):
            raise RefusedSource("its answer is shorter than its content-length says: it was cut short or filtered")
        lost.append("an answer as it was sent: its length is another one, so a filter changed it")
    if events.framing_of(headers.get("content-type", "")) is not None:
        lost.append("where the network cut a stream: a cassette holds it whole, so each event comes by itself")
    return ImportedAnswer(status=status, headers=headers, body=body), tuple(lost)


def _status(response: dict[str, Any]) -> int:
    status = response.get("status", response.get("status_code"))
    code = status.get("code") if isinstance(status, dict) else status
    if isinstance(code, bool) or not isinstance(code, int) or not 100 <= code <= 599:
        raise RefusedSource("its answer has no status")
    return code


def _is_short(raw: bytes, headers: Mapping[str, str]) -> bool:
    told = headers.get("content-length", "").strip()
    return told.isdecimal() and len(raw) < int(told)


def _is_whole_json(raw: bytes, headers: Mapping[str, str]) -> bool:
    kept = recording.encode_body(headers.get("content-type", ""), raw)
    return kept is not None and "json" in kept


def _left_out(headers: Mapping[str, str], url: str) -> tuple[str, ...]:
    lost = []
    if "set-cookie" in headers:
        lost.append("set-cookie: cookies are never kept")
    others = set(headers) - redact.RESPONSE_HEADERS - _EXPECTED - {"set-cookie"}
    if others:
        lost.append("headers off the list of those that recordings keep (x-request-id, rate limits, …)")
    host = _host(headers.get("location", ""))
    if host and host == _host(url):
        lost.append("a redirect that names the host of that day: in replay it leads to a provider at that host only")
    return tuple(lost)


def _host(url: str) -> str | None:
    """Host and port as a URL has them; empty in a relative one, None where it is no URL."""
    try:
        return urlsplit(url).netloc
    except ValueError:
        return None


def _date(value: str | None) -> str | None:
    try:
        return None if value is None else parsedate_to_datetime(value).isoformat(timespec="seconds")
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
