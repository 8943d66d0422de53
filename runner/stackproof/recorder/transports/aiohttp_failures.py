"""aiohttp's exceptions in the words of recordings, and back."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
import zlib
from types import ModuleType
from typing import Any, assert_never

from ..failures import UNTRUSTED, Kind, Told, kind_of, os_error, os_message, tell, tls_message


class Failures:
    """Both ways, with the classes of the module that was given."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def tell(self, error: Any) -> dict[str, str]:
        """`{kind, message}` of an exception that aiohttp raised."""
        kind = self._kind(error)
        if kind is Kind.TLS:
            message = tls_message(getattr(error, "certificate_error", None) or error.os_error)
        elif isinstance(error, self._module.ClientConnectorError):
            reason = error.os_error
            message = str(reason.strerror) if isinstance(reason, socket.gaierror) else os_message(reason)
        elif isinstance(error, self._module.ConnectionTimeoutError):
            message = ""  # names the host
        elif isinstance(error, OSError) and not isinstance(error, asyncio.TimeoutError):
            message = os_message(error)
        else:
            message = str(error)
        return tell(kind, message or type(error).__name__ if kind is Kind.READ else message)

    def _kind(self, error: BaseException) -> Kind:  # noqa: PLR0911, PLR0912 - a table
        module = self._module
        match error:
            case module.ConnectionTimeoutError():
                return Kind.CONNECT_TIMEOUT
            case module.ServerTimeoutError():
                return Kind.READ_TIMEOUT
            case asyncio.TimeoutError():
                return Kind.TOTAL_TIMEOUT
            case module.ClientConnectorDNSError():
                return Kind.NAME_RESOLUTION
            case module.ClientConnectorCertificateError() | module.ClientSSLError():
                return Kind.TLS
            case module.ClientProxyConnectionError() | module.ClientHttpProxyError():
                return Kind.PROXY
            case module.ClientConnectorError():
                return Kind.CONNECT
            case module.ServerDisconnectedError():
                return Kind.REMOTE_PROTOCOL
            case module.ClientPayloadError():
                if "content-encoding" in str(error):
                    return Kind.DECODING
                # It tells only in words what cut the body short.
                return Kind.READ if "ConnectionResetError" in str(error) else Kind.REMOTE_PROTOCOL
            case module.ClientResponseError():
                return Kind.REMOTE_PROTOCOL
            case zlib.error():
                return Kind.DECODING
            case _:
                return Kind.READ

    def undecodable(self, error: Exception) -> Exception:
        """What the caller gets: aiohttp's own class, also where it was not aiohttp that decompressed."""
        if isinstance(error, zlib.error):
            failed: Exception = self._module.ClientPayloadError(str(error))
            return failed
        return error

    def rebuild(self, told: Told | None, request: Any, *, has_head: bool) -> Exception:
        """The exception that a recording tells of, as aiohttp raises it for `request`."""
        error: Exception = self._build(
            kind_of(told, has_head=has_head), (told or {}).get("message", ""), request, has_head
        )
        return error

    def _build(self, kind: Kind, message: str, request: Any, has_head: bool) -> Any:  # noqa: PLR0911, PLR0912 - a table
        module, key = self._module, request.connection_key
        match kind:
            case Kind.CONNECT_TIMEOUT | Kind.POOL_TIMEOUT:
                return module.ConnectionTimeoutError(message or f"Connection timeout to host {request.url}")
            case Kind.READ_TIMEOUT | Kind.WRITE_TIMEOUT:
                return module.SocketTimeoutError(message)
            case Kind.TOTAL_TIMEOUT:
                return TimeoutError()
            case Kind.CONNECT:
                return module.ClientConnectorError(key, os_error(message, otherwise=errno.ECONNREFUSED))
            case Kind.NAME_RESOLUTION:
                return module.ClientConnectorDNSError(key, socket.gaierror(socket.EAI_NONAME, message))
            case Kind.TLS:
                if message == UNTRUSTED:
                    return module.ClientConnectorCertificateError(key, ssl.SSLCertVerificationError(1, message))
                return module.ClientConnectorSSLError(key, ssl.SSLError(1, message))
            case Kind.PROXY:
                return module.ClientProxyConnectionError(key, os_error(message, otherwise=errno.ECONNREFUSED))
            case Kind.DECODING:
                return module.ClientPayloadError(message)
            case Kind.READ | Kind.WRITE | Kind.CLOSE:
                if has_head:
                    return module.ClientPayloadError(message)
                reason = os_error(message, otherwise=errno.ECONNRESET)
                return module.ClientOSError(reason.errno, reason.strerror)
            case Kind.REMOTE_PROTOCOL:
                return module.ClientPayloadError(message) if has_head else module.ServerDisconnectedError()
            case Kind.LOCAL_PROTOCOL | Kind.UNSUPPORTED_PROTOCOL:
                return module.ClientConnectionError(message)
        assert_never(kind)
