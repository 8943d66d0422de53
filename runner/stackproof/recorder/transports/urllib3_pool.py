"""urllib3, and with it requests and botocore: one question for each attempt, below `urlopen`'s own retries.

Above `urlopen` an attempt that was repeated would look like one call, and its last answer would be seen for each.
"""

from __future__ import annotations

import functools
import math
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from types import ModuleType
from typing import Any

from .. import announce, pacing
from ..brain import Brain
from ..decision import Answer, Decision, Later, PassThrough, Record
from ..encodings import is_signed
from ..failures import Kind, tell
from ..interaction import Request
from ..patching import MARK, require_own, require_version
from ..redact import RESPONSE_HEADERS
from . import backoff
from .urllib3_body import Body, make_response
from .urllib3_failures import Failures

LOWEST = (2, 0)
_POLL = 0.02
_PIECE = 65536
# What the standard library can undo; "identity" is what http.client says where the caller says nothing.
_ENCODINGS = frozenset({"gzip", "x-gzip", "deflate", "identity"})
# On a connection: a proxy still has to be asked for a tunnel before anything is sent.
_TUNNEL = "__stackproof_tunnel__"


def install(module: ModuleType, active: Callable[[], Brain | None]) -> Callable[[], None]:
    """Put the interception into `urllib3`; returns the undo. Asks `active()` on each call.

    UnsupportedVersionError and ForeignPatchError say why not.
    """
    require_version(module, LOWEST)
    pool_class, secure_class = module.connectionpool.HTTPConnectionPool, module.connectionpool.HTTPSConnectionPool
    make_request, prepare_proxy = pool_class._make_request, secure_class._prepare_proxy
    require_own(make_request, "urllib3's HTTPConnectionPool._make_request", "urllib3")
    if hasattr(make_request, MARK):  # ours, put back by a tool that had wrapped it: it is in force again
        return _nothing
    wire = _Wire(module)

    @functools.wraps(make_request)
    def _make_request(  # noqa: PLR0917 - urllib3's signature
        self: Any, conn: Any, method: str, url: str, body: Any = None, headers: Any = None, **options: Any
    ) -> Any:
        brain = active()
        if brain is None:
            backoff.note(replayed=False)
            open_tunnel(self, conn)
            return make_request(self, conn, method, url, body=body, headers=headers, **options)
        full = _full_url(self, url)
        if brain.providers.match(full) is not None:
            body = _whole(body)
        asked = Request(method=method, url=full, headers=_lower(headers), body=body if isinstance(body, bytes) else b"")
        decision: Decision = brain.ask(asked)
        while isinstance(decision, Later):
            time.sleep(_POLL)
            decision = decision.poll() or decision
        call = _Call(pool=self, conn=conn, method=method, url=url, body=body, headers=headers, options=options)
        return wire.carry_out(decision, call, send)

    @functools.wraps(prepare_proxy)
    def _prepare_proxy(self: Any, conn: Any) -> Any:
        if active() is None:
            return prepare_proxy(self, conn)
        setattr(conn, _TUNNEL, True)  # the call is asked about only afterwards, and one that is replayed needs none
        return None

    def open_tunnel(pool: Any, conn: Any) -> None:
        if getattr(conn, _TUNNEL, False):
            setattr(conn, _TUNNEL, False)
            prepare_proxy(pool, conn)

    def send(pool: Any, conn: Any, *args: Any, **options: Any) -> Any:
        open_tunnel(pool, conn)
        return make_request(pool, conn, *args, **options)

    setattr(_make_request, MARK, True)
    pool_class._make_request = _make_request
    secure_class._prepare_proxy = _prepare_proxy
    undo_waits = backoff.leave_out(module)

    def undo() -> None:
        # What another tool has put around ours since then is not ours to remove: through it, ours lets all calls pass.
        if pool_class._make_request is _make_request:
            pool_class._make_request = make_request
        if secure_class._prepare_proxy is _prepare_proxy:
            secure_class._prepare_proxy = prepare_proxy
        undo_waits()

    return undo


def _nothing() -> None:
    """The undo of an installation that changed nothing."""


class _Call:
    """The arguments of one `_make_request`."""

    def __init__(
        self, *, pool: Any, conn: Any, method: str, url: str, body: Any, headers: Any, options: dict[str, Any]
    ) -> None:
        self.pool, self.conn, self.method, self.url = pool, conn, method, url
        self.body, self.headers, self.options = body, headers, options

    def send(self, make_request: Callable[..., Any], **changed: Any) -> Any:
        """Let urllib3 do it."""
        with announce.announced():
            return make_request(
                self.pool, self.conn, self.method, self.url, body=self.body, headers=self.headers,
                **{**self.options, **changed},
            )  # fmt: skip

    def read_limit(self) -> float:
        """Seconds that the caller waits for the next bytes."""
        limits = self.pool._get_timeout(self.options.get("timeout"))
        limits.start_connect()
        limit = limits.read_timeout
        if not isinstance(limit, int | float):  # None, or urllib3's mark for what the socket module says
            limit = socket.getdefaulttimeout() if limit is not None else None
        return math.inf if limit is None else float(limit)


class _Wire:
    """Carries out decisions with urllib3's classes."""

    def __init__(self, module: ModuleType) -> None:
        self._failures = Failures(module)
        self._response = make_response(module)
        self._header_dict = module.HTTPHeaderDict

    def carry_out(self, decision: Decision, call: _Call, make_request: Callable[..., Any]) -> Any:
        """Answer, send and listen, or send."""
        backoff.note(replayed=isinstance(decision, Answer))
        match decision:
            case Answer():
                return self._answer(decision, call)
            case Record():
                return self._record(decision, call, make_request)
            case PassThrough():
                if decision.headers:
                    call.headers = _with(call.headers, decision.headers)
                return call.send(make_request)
            case Later():
                raise AssertionError("polled before")

    def _record(self, record: Record, call: _Call, make_request: Callable[..., Any]) -> Any:
        take = record.take
        _make_outgoing(record, call)
        try:
            live = call.send(make_request, preload_content=False)
        except Exception as error:
            take.fail(self._failures.tell(error))
            raise
        except BaseException:
            take.close()
            raise
        headers = {key.lower(): value for key, value in live.headers.items()}
        kept = {key: value for key, value in headers.items() if key in RESPONSE_HEADERS}
        passed = take.start(live.status, headers, kept)
        fields = self._header_dict([(key, value) for key, value in live.headers.iteritems() if key.lower() in passed])
        is_whole = not hasattr(live, "_fp")  # HTTP/2: all of it is here, and nothing gives the connection back
        body = Body(self._teed(live, take), take.close, None if is_whole else live)
        return self._build(body, fields, live.status, call, owns_connection=is_whole)

    def _teed(self, live: Any, take: Any) -> Iterator[bytes]:
        """A live body on its way to the caller, with the take listening."""
        try:
            for chunk in self._failures.pieces_of(live, _PIECE):
                yield from take.feed(chunk)
        except GeneratorExit:
            raise  # the caller left: closing tells that
        except Exception as error:
            take.fail(self._failures.tell(error))
            failed = self._failures.undecodable(error)
            raise failed from error
        except BaseException:
            take.close()
            raise
        yield from take.end()

    def _answer(self, answer: Answer, call: _Call) -> Any:
        if answer.delay:
            self._hold(answer.delay, answer, call)
        if answer.status is None:
            raise self._failures.rebuild(answer.exception, call, has_head=False)
        body = Body(self._replayed(answer, call), lambda: None, None)
        return self._build(body, self._header_dict(answer.headers), answer.status, call, owns_connection=True)

    def _replayed(self, answer: Answer, call: _Call) -> Iterator[bytes]:
        for wait, chunk in answer.paced():
            if wait:
                self._hold(wait, answer, call)
            yield chunk
        if answer.exception is not None:
            raise self._failures.rebuild(answer.exception, call, has_head=True)
        if answer.read_on is not None:
            raise self._failures.incomplete(answer.read_on())

    def _hold(self, seconds: float, answer: Answer, call: _Call) -> None:
        """Let the caller wait, as long as its own read timeout lets it; then urllib3's exception."""
        limit = call.read_limit()
        for nap in pacing.naps(min(seconds, limit), answer.over):
            time.sleep(nap)
        if seconds > limit:
            raise self._failures.rebuild(tell(Kind.READ_TIMEOUT, "Read timed out."), call, has_head=True)

    def _build(self, body: Body, headers: Any, status: int, call: _Call, *, owns_connection: bool) -> Any:
        options = call.options
        return self._response(
            body=body,
            headers=headers,
            status=status,
            version=11,
            # Recordings hold no reason phrase, so the caller gets the standard's in both.
            reason=HTTPStatus(status).phrase if status in set(HTTPStatus) else "",
            preload_content=options.get("preload_content", True),
            decode_content=options.get("decode_content", True),
            retries=options.get("retries"),
            pool=call.pool,
            connection=options.get("response_conn") if owns_connection else None,
            request_method=call.method,
            request_url=call.url,
        )


def _make_outgoing(record: Record, call: _Call) -> None:
    changed: dict[str, str] = {}
    if record.url is not None:
        call.url = record.url if "://" in call.url else _target_of(record.url)
    if record.body is not None:
        call.body = record.body
        changed["Content-Length"] = str(len(record.body))
    told = _lower(call.headers)
    asked = [name.partition(";")[0].strip().lower() for name in told.get("accept-encoding", "").split(",")]
    if not _ENCODINGS.issuperset(filter(None, asked)) and not is_signed(told.get("authorization")):
        changed["Accept-Encoding"] = "gzip, deflate"
    if changed:
        call.headers = _with(call.headers, changed)


def _target_of(url: str) -> str:
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    return parts.path + (f"?{parts.query}" if parts.query else "")


def _full_url(pool: Any, url: str) -> str:
    if not url.startswith("/"):
        return url  # an absolute one, as for a proxy
    host = f"[{pool.host}]" if ":" in pool.host else pool.host
    return f"{pool.scheme}://{host}{f':{pool.port}' if pool.port else ''}{url}"


def _text(value: Any) -> str:
    return bytes(value).decode("latin-1") if isinstance(value, bytes | bytearray) else str(value)


def _lower(headers: Any) -> dict[str, str]:
    return {_text(key).lower(): _text(value) for key, value in headers.items()} if headers else {}


def _with(headers: Any, changed: Mapping[str, str]) -> dict[Any, Any]:
    """A copy with these headers set: the caller's own go out again with a retry, or elsewhere with a redirect."""
    names = {name.lower() for name in changed}
    kept = {key: value for key, value in (headers or {}).items() if _text(key).lower() not in names}
    return {**kept, **changed}


def _whole(body: Any) -> bytes:
    """A body as bytes, encoded as urllib3 would."""
    match body:
        case None:
            return b""
        case bytes():
            return body
        case str():
            return body.encode("utf-8")
        case bytearray() | memoryview():
            return bytes(body)
        case _ if hasattr(body, "read"):
            return _whole(body.read())
        case _:
            return b"".join(_whole(piece) for piece in body)
