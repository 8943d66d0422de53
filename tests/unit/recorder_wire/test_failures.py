"""What a wire can make aiohttp and urllib3 raise is told in neutral words, and comes back as its class."""

from __future__ import annotations

import errno
import http.client
import json
import socket
import ssl
from types import SimpleNamespace
from typing import Any

import pytest

from stackproof.recorder.failures import Kind, kind_of

_HOST = "private-host.example"
_REFUSED = OSError(errno.ECONNREFUSED, f"Connect call failed ('{_HOST}', 80)")
_UNKNOWN = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
_UNTRUSTED = ssl.SSLCertVerificationError(1, f"certificate verify failed: not valid for '{_HOST}'")
_UNTRUSTED.reason = "CERTIFICATE_VERIFY_FAILED"
_BROKEN = ssl.SSLError(1, "wrong version number")


def _caused(error: BaseException, reason: BaseException) -> BaseException:
    error.__cause__ = reason
    return error


_AIOHTTP: dict[str, tuple[Kind, bool, Any]] = {
    "connect timeout": (Kind.CONNECT_TIMEOUT, False, lambda a, _: a.ConnectionTimeoutError(f"to host {_HOST}")),
    "read timeout": (Kind.READ_TIMEOUT, True, lambda a, _: a.SocketTimeoutError("Timeout on reading")),
    "total timeout": (Kind.TOTAL_TIMEOUT, True, lambda *_: TimeoutError()),
    "refused": (Kind.CONNECT, False, lambda a, key: a.ClientConnectorError(key, _REFUSED)),
    "unknown name": (Kind.NAME_RESOLUTION, False, lambda a, key: a.ClientConnectorDNSError(key, _UNKNOWN)),
    "untrusted": (Kind.TLS, False, lambda a, key: a.ClientConnectorCertificateError(key, _UNTRUSTED)),
    "not TLS": (Kind.TLS, False, lambda a, key: a.ClientConnectorSSLError(key, _BROKEN)),
    "proxy": (Kind.PROXY, False, lambda a, key: a.ClientProxyConnectionError(key, _REFUSED)),
    "disconnected": (Kind.REMOTE_PROTOCOL, False, lambda a, _: a.ServerDisconnectedError()),
    "reset before": (Kind.READ, False, lambda a, _: a.ClientOSError(errno.ECONNRESET, "Connection reset by peer")),
    "cut short": (Kind.REMOTE_PROTOCOL, True, lambda a, _: a.ClientPayloadError("Response payload is not completed")),
    "reset within": (Kind.READ, True, lambda a, _: a.ClientPayloadError("ConnectionResetError(104, 'reset')")),
    "undecodable": (Kind.DECODING, True, lambda a, _: a.ClientPayloadError("Can not decode content-encoding: gzip")),
}


@pytest.mark.parametrize("name", _AIOHTTP)
def test_an_exception_of_aiohttp_comes_back_as_its_class(name: str) -> None:
    aiohttp = pytest.importorskip("aiohttp", reason="aiohttp is not installed")
    from stackproof.recorder.transports.aiohttp_failures import Failures

    kind, has_head, make = _AIOHTTP[name]
    key = SimpleNamespace(host=_HOST, port=80, ssl=True, is_ssl=True)
    error = make(aiohttp, key)
    told = Failures(aiohttp).tell(error)
    assert told["kind"] == kind
    assert _HOST not in json.dumps(told)
    rebuilt = Failures(aiohttp).rebuild(
        told, SimpleNamespace(connection_key=key, url="http://there/"), has_head=has_head
    )
    assert type(rebuilt) is type(error)
    assert str(rebuilt) or kind is Kind.TOTAL_TIMEOUT
    assert getattr(rebuilt, "errno", None) == getattr(error, "errno", None)


_URLLIB3: dict[str, tuple[Kind, bool, Any]] = {
    "connect timeout": (Kind.CONNECT_TIMEOUT, False, lambda u, c: u.ConnectTimeoutError(c.conn, f"to {_HOST}")),
    "read timeout": (Kind.READ_TIMEOUT, True, lambda u, c: u.ReadTimeoutError(c.pool, None, "Read timed out.")),
    "refused": (Kind.CONNECT, False, lambda u, c: _caused(u.NewConnectionError(c.conn, "failed"), _REFUSED)),
    "unknown name": (
        Kind.NAME_RESOLUTION,
        False,
        lambda u, c: _caused(u.NameResolutionError(_HOST, c.conn, _UNKNOWN), _UNKNOWN),
    ),
    "untrusted": (Kind.TLS, False, lambda u, _: u.SSLError(_UNTRUSTED)),
    "proxy": (Kind.PROXY, False, lambda u, _: u.ProxyError("Unable to connect to proxy", _REFUSED)),
    "disconnected": (Kind.REMOTE_PROTOCOL, False, lambda *_: http.client.RemoteDisconnected("closed")),
    "reset before": (Kind.READ, False, lambda *_: ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")),
    "cut short": (Kind.REMOTE_PROTOCOL, True, lambda u, _: u.ProtocolError("Response ended prematurely")),
    "reset within": (Kind.READ, True, lambda u, _: _caused(u.ProtocolError("broken"), ConnectionResetError(104, "r"))),
    "undecodable": (Kind.DECODING, True, lambda u, _: u.DecodeError("failed to decode it")),
}


@pytest.mark.parametrize("name", _URLLIB3)
def test_an_exception_of_urllib3_comes_back_as_its_class(name: str) -> None:
    urllib3 = pytest.importorskip("urllib3", reason="urllib3 is not installed")
    from stackproof.recorder.transports.urllib3_failures import Failures

    kind, has_head, make = _URLLIB3[name]
    pool = urllib3.HTTPConnectionPool(_HOST, 80)
    call = SimpleNamespace(pool=pool, conn=pool._new_conn(), url="/x")
    error = make(urllib3.exceptions, call)
    told = Failures(urllib3).tell(error)
    assert told["kind"] == kind
    assert _HOST not in json.dumps(told)
    rebuilt = Failures(urllib3).rebuild(told, call, has_head=has_head)
    assert type(rebuilt) is type(error)
    assert str(rebuilt)


def test_a_kind_that_this_version_does_not_know_is_the_nearest() -> None:
    assert kind_of({"kind": "SomethingNew", "message": ""}, has_head=False) is Kind.CONNECT
    assert kind_of({"kind": "SomethingNew", "message": ""}, has_head=True) is Kind.READ
    assert kind_of({"kind": "ReadTimeout", "message": ""}, has_head=False) is Kind.READ_TIMEOUT
