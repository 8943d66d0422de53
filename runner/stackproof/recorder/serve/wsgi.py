"""Around a WSGI application (PEP 3333): whose request this is, in force for the call and for the body that it returns.

A server may ask for the parts of a body at any time, in another thread than the one that called the application, so
the scope is put in force for each part. The request is over when the server closes the body.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .. import client
from .. import scope as scopes
from ..brain import Brain
from .serving import BAGGAGE, PROBE, Serving, split_baggage

Environ = dict[str, Any]
Application = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]


def _key(header: str) -> str:
    return "HTTP_" + header.upper().replace("-", "_")


_PROBE, _BAGGAGE, _UPGRADE = _key(PROBE), _key(BAGGAGE), _key("upgrade")
_SOCKETS = ("gunicorn.socket", "werkzeug.socket")  # what these servers put into `environ`


class WSGIMiddleware:
    """Takes our headers out of `environ`, in place since server and application share it, and passes the rest on."""

    def __init__(self, app: Application, brain: Brain, server: str = "wsgi") -> None:
        self._app = app
        self._serving = Serving(brain, server)
        self._header = _key(self._serving.header)

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Serve one request."""
        owner = self._take_ours_out(environ)
        # A websocket takes the connection over inside of the call.
        end = self._serving.begin(owner, lasting=environ.get(_UPGRADE, "").lower() == "websocket")
        connection = next((environ[name] for name in _SOCKETS if name in environ), None)
        left = None if connection is None else functools.partial(client.closed, connection)
        try:
            with scopes.use(owner), client.use(left):
                body = self._app(environ, start_response)
                if not _is_made(body, environ):
                    return _Body(body, owner, left, end)
        except BaseException:
            end()
            raise
        end()
        return body

    def _take_ours_out(self, environ: Environ) -> scopes.Scope:
        owner: scopes.Scope | None = None
        baggage: str | None = None
        value = environ.pop(self._header, None)
        if value is not None:
            owner, left = self._serving.id_in(value)
            if left is not None:
                environ[self._header] = left
        probe = environ.pop(_PROBE, None) is not None
        value = environ.pop(_BAGGAGE, None)
        if value is not None:
            baggage, others = split_baggage(value)
            if others:
                environ[_BAGGAGE] = others
        return self._serving.received(owner, baggage, probe=probe)


def _is_made(body: Any, environ: Environ) -> bool:
    """Whether nothing of the application runs any more for `body`. Servers send these better as what they are."""
    if type(body) in (list, tuple):
        return True
    wrapper = environ.get("wsgi.file_wrapper")
    is_file = isinstance(wrapper, type) and isinstance(body, wrapper)
    return is_file and hasattr(getattr(body, "filelike", None), "fileno")


class _Body:
    """The body that an application returned. `close` ends the request; a server that forgets it drops the body."""

    __slots__ = ("_body", "_end", "_iterator", "_left", "_owner")

    def __init__(
        self, body: Iterable[bytes], owner: scopes.Scope, left: client.Left | None, end: Callable[[], None]
    ) -> None:
        self._body, self._owner, self._left, self._end = body, owner, left, end
        self._iterator: Iterator[bytes] = iter(body)

    def __iter__(self) -> _Body:
        return self

    def __next__(self) -> bytes:
        with scopes.use(self._owner), client.use(self._left):
            return next(self._iterator)

    def close(self) -> None:
        """Close what the application returned, for which it may still do something, and end the request."""
        try:
            close = getattr(self._body, "close", None)
            if close is not None:
                with scopes.use(self._owner):
                    close()
        finally:
            self._end()

    def __del__(self) -> None:
        end = getattr(self, "_end", None)
        if end is not None:
            end()
