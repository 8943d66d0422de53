"""One HTTP request with a deadline over all of it, through `requests`, which the client of Docker brings along.

No redirect is followed: whoever answers elsewhere would get the key. Nothing is read from ~/.netrc, which would replace
the key. Proxies and certificates are those that the SDKs of providers take from the environment.
"""

from __future__ import annotations

import queue
import threading
import time
import urllib.request
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import requests
import requests.adapters
import urllib3.exceptions as below

from stackproof import __version__

_CONNECT = 10.0  # seconds
_LONGEST = 4 << 20  # bytes of an answer; lists of models are of some hundred kilobytes
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One request. headers: they hold the key, so that they are never shown. body: sent as JSON."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What came back. headers: by lower-case name. body: decoded as its content-encoding says."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class NoAnswer:
    """Nothing came back. why: the end of a sentence. hint: what to do."""

    why: str
    hint: str


def ask(question: Question, *, environ: Mapping[str, str], deadline: float) -> Answer | NoAnswer:
    """Ask, and be back by `deadline` (of time.monotonic), whatever happens: looking up a name may take longer."""
    outcome: queue.SimpleQueue[Answer | NoAnswer] = queue.SimpleQueue()
    threading.Thread(
        target=lambda: outcome.put(_asked(question, environ, deadline)), name="stackproof-preflight", daemon=True
    ).start()
    seconds = max(0.0, deadline - time.monotonic())
    try:
        return outcome.get(timeout=seconds)
    except queue.Empty:
        return _late(seconds)


def _asked(question: Question, environ: Mapping[str, str], deadline: float) -> Answer | NoAnswer:
    left = max(0.1, deadline - time.monotonic())
    try:
        prepared = requests.Request(
            question.method,
            question.url,
            headers={"user-agent": f"stackproof/{__version__}", "accept": "application/json", **question.headers},
            json=question.body,
        ).prepare()
        with closing(requests.adapters.HTTPAdapter(max_retries=0)) as adapter:
            response = adapter.send(
                prepared,
                stream=True,
                timeout=(min(_CONNECT, left), left),
                verify=_certificates(environ),
                proxies=proxies(question.url, environ),
            )
            with response:
                return _read(response, deadline, left)
    except (requests.RequestException, below.HTTPError, OSError, ValueError) as error:
        return _explained(error, question.url, left)


def _read(response: requests.Response, deadline: float, seconds: float) -> Answer | NoAnswer:
    body = bytearray()
    for piece in response.iter_content(16 << 10):
        body += piece
        if time.monotonic() > deadline:
            return _late(seconds)
        if len(body) > _LONGEST:
            break
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answer(status=response.status_code, headers=headers, body=bytes(body[:_LONGEST]))


def proxies(url: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The proxies by scheme, as `requests` takes them; none for this machine and for what NO_PROXY names."""
    given = {name.lower(): value for name, value in environ.items() if name.lower().endswith("_proxy") and value}
    host = urlsplit(url).hostname or ""
    by_name = {"no": given.get("no_proxy", "")}
    if host in _LOOPBACK or urllib.request.proxy_bypass_environment(host, by_name):  # type: ignore[attr-defined]
        return {}
    return {scheme: given[f"{scheme}_proxy"] for scheme in ("http", "https", "all") if f"{scheme}_proxy" in given}


def _certificates(environ: Mapping[str, str]) -> str | bool:
    names = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR")
    return next((environ[name] for name in names if environ.get(name)), True)


_AWAY = "is the address right, and the provider up? A proxy is taken from HTTPS_PROXY, and NO_PROXY takes hosts out"


def _late(seconds: float) -> NoAnswer:
    return NoAnswer(why=f"there was no whole answer within {seconds:.0f} s", hint=_AWAY)


def _explained(error: BaseException, url: str, seconds: float) -> NoAnswer:
    """The error in words of ours: those of the libraries may hold headers, and so the key."""
    parts = urlsplit(url)
    host, place = parts.hostname or url, parts.netloc.rpartition("@")[2]
    here = NoAnswer(why="the certificates that the environment names cannot be read", hint="SSL_CERT_FILE names them")
    rows: tuple[tuple[tuple[type[BaseException], ...], NoAnswer], ...] = (
        (
            (below.SSLError, requests.exceptions.SSLError),
            NoAnswer(
                why=f"the certificate of {host} is not accepted, or it speaks no TLS",
                hint="a certificate authority of your own is named by SSL_CERT_FILE",
            ),
        ),
        (
            (below.ProxyError, requests.exceptions.ProxyError),
            NoAnswer(why="the proxy that the environment names does not let the call through", hint=_AWAY),
        ),
        ((below.NameResolutionError,), NoAnswer(why=f"the name {host} is not found", hint=_AWAY)),
        # Before the timeouts: urllib3 has it as a kind of them.
        (
            (below.NewConnectionError, ConnectionRefusedError),
            NoAnswer(why=f"nothing accepts a connection at {place}", hint=_AWAY),
        ),
        ((below.ConnectTimeoutError, below.ReadTimeoutError, requests.Timeout, TimeoutError), _late(seconds)),
        (
            (below.ProtocolError, requests.ConnectionError, ConnectionError),
            NoAnswer(why="the connection broke off", hint=_AWAY),
        ),
        (
            (requests.exceptions.InvalidURL, requests.exceptions.MissingSchema, requests.exceptions.InvalidSchema),
            NoAnswer(why="its address is no URL of http or https", hint="write http:// or https:// and a host"),
        ),
    )
    for each in _chain(error):
        if type(each) is OSError and "certificate" in str(each):
            return here
    chain = _chain(error)
    for kinds, told in rows:
        if any(isinstance(each, kinds) for each in chain):
            return told
    return NoAnswer(why=f"the call failed ({type(error).__name__})", hint=_AWAY)


def _chain(error: BaseException | None) -> list[BaseException]:
    """The error and what it was made from: `requests` hands on those of urllib3, which hand on those of the system."""
    found: list[BaseException] = []
    while isinstance(error, BaseException) and error not in found and len(found) < 10:
        found.append(error)
        inner = getattr(error, "reason", None) or next(
            (item for item in error.args if isinstance(item, BaseException)), None
        )
        error = inner if isinstance(inner, BaseException) else error.__cause__ or error.__context__
    return found
