"""urllib3's exceptions in the words of recordings, and back."""

from __future__ import annotations

import errno
import http.client
import socket
import ssl
import zlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any, assert_never

from ..failures import Kind, Told, kind_of, os_error, os_message, tell, tls_message

_DROPPED = "Remote end closed connection without response"


class Failures:
    """Both ways, with the classes of the module that was given."""

    def __init__(self, module: ModuleType) -> None:
        self._classes = module.exceptions

    def tell(self, error: BaseException) -> dict[str, str]:
        """`{kind, message}` of an exception that came out of `_make_request` or out of reading a body."""
        return tell(self._kind(error), self._message(error))

    def _kind(self, error: BaseException) -> Kind:  # noqa: PLR0911 - a table
        classes = self._classes
        match error:
            case classes.NameResolutionError():
                return Kind.NAME_RESOLUTION
            case classes.NewConnectionError():
                return Kind.CONNECT
            case classes.ConnectTimeoutError():
                return Kind.CONNECT_TIMEOUT
            case classes.ReadTimeoutError():
                return Kind.READ_TIMEOUT
            case classes.SSLError() | ssl.SSLError():
                return Kind.TLS
            case classes.ProxyError():
                return Kind.PROXY
            case classes.DecodeError() | zlib.error():
                return Kind.DECODING
            case http.client.HTTPException():  # also a connection that was closed before an answer
                return Kind.REMOTE_PROTOCOL
            case classes.ProtocolError():
                return Kind.READ if isinstance(error.__cause__, OSError) else Kind.REMOTE_PROTOCOL
            case _:
                return Kind.READ

    def _message(self, error: Any) -> str:  # noqa: PLR0911 - a table
        classes = self._classes
        reason = error.__cause__
        if isinstance(error, classes.NewConnectionError | classes.ConnectTimeoutError):
            # Its own text names host and port.
            if isinstance(reason, socket.gaierror):
                return str(reason.strerror)
            return os_message(reason) if isinstance(reason, OSError) and reason.errno else ""
        if isinstance(error, classes.ProxyError):
            failed = error.original_error
            return os_message(failed) if isinstance(failed, OSError) else ""
        if isinstance(error, classes.SSLError | ssl.SSLError):
            return tls_message(error.args[0] if error.args and isinstance(error.args[0], ssl.SSLError) else error)
        if isinstance(error, classes.ReadTimeoutError):
            return str(error).rpartition("Pool(")[2].partition("): ")[2] or "Read timed out."
        if isinstance(error, classes.ProtocolError) and isinstance(reason, OSError):
            return os_message(reason)
        return os_message(error) if isinstance(error, OSError) and error.errno else str(error)

    def pieces_of(self, live: Any, most: int) -> Iterator[bytes]:
        """The raw body of a live response, as its HTTP chunks or else as it comes."""
        if not hasattr(live, "_fp"):  # HTTP/2: read as a whole
            if live.data:
                yield live.data
            return
        if live.chunked and live.supports_chunked_reads():
            yield from live.read_chunked(most, decode_content=False)
            return
        missing, got = live.length_remaining, 0
        while live._fp is not None and not live._fp.isclosed():
            with live._error_catcher():
                piece = live._fp.read1(most)  # `read` would wait until there are that many bytes
                if not piece:
                    live._fp.close()
            if piece:
                got += len(piece)
                yield piece
        if live.enforce_content_length and missing is not None and missing > got:
            broken = self._classes.IncompleteRead(got, missing - got)
            raise self._classes.ProtocolError(f"Connection broken: {broken!r}", broken)

    def undecodable(self, error: Exception) -> Exception:
        """What the caller gets: urllib3's own class, though it was not urllib3 that decompressed."""
        if isinstance(error, zlib.error):
            failed: Exception = self._classes.DecodeError(str(error), error)
            return failed
        return error

    def incomplete(self, why: str) -> Exception:
        """Reading on where the recorded caller left."""
        error: Exception = self._classes.ProtocolError(why)
        return error

    def rebuild(self, told: Told | None, call: Any, *, has_head: bool) -> Exception:
        """The exception that a recording tells of, as `_make_request` or a body raises it."""
        error: Exception = self._build(
            kind_of(told, has_head=has_head), (told or {}).get("message", ""), call, has_head
        )
        return error

    def _build(self, kind: Kind, message: str, call: Any, has_head: bool) -> Any:  # noqa: PLR0911 - a table
        classes, conn = self._classes, call.conn
        match kind:
            case Kind.CONNECT_TIMEOUT | Kind.POOL_TIMEOUT:
                return classes.ConnectTimeoutError(
                    conn, f"Connection to {conn.host} timed out. (connect timeout={conn.timeout})"
                )
            case Kind.READ_TIMEOUT | Kind.WRITE_TIMEOUT | Kind.TOTAL_TIMEOUT:
                return classes.ReadTimeoutError(call.pool, call.url, message or "Read timed out.")
            case Kind.CONNECT:
                reason = os_error(message, otherwise=errno.ECONNREFUSED)
                return classes.NewConnectionError(conn, f"Failed to establish a new connection: {reason}")
            case Kind.NAME_RESOLUTION:
                return self._unknown_name(conn, message)
            case Kind.TLS:
                return classes.SSLError(message)
            case Kind.PROXY:
                return classes.ProxyError("Unable to connect to proxy", OSError(message))
            case Kind.DECODING:
                return classes.DecodeError(message)
            case Kind.READ | Kind.WRITE | Kind.CLOSE:
                reason = os_error(message, otherwise=errno.ECONNRESET)
                return classes.ProtocolError(f"Connection broken: {reason!r}", reason) if has_head else reason
            case Kind.REMOTE_PROTOCOL:
                return (
                    classes.ProtocolError(message) if has_head else http.client.RemoteDisconnected(message or _DROPPED)
                )
            case Kind.LOCAL_PROTOCOL | Kind.UNSUPPORTED_PROTOCOL:
                return classes.ProtocolError(message)
        assert_never(kind)

    def _unknown_name(self, conn: Any, message: str) -> Exception:
        error: Exception = self._classes.NameResolutionError(
            conn.host, conn, socket.gaierror(socket.EAI_NONAME, message)
        )
        return error
