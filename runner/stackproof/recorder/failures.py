"""How a call failed on the wire, in words that no HTTP library owns: a file recorded by one library serves another.

The names are those that recordings hold as `exception.kind`; most are httpx's, which were there first. They are part of
the file format: a name may be added, none may change.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from enum import StrEnum


class Kind(StrEnum):
    """What happened. Each transport says which of its library's classes this is."""

    CONNECT_TIMEOUT = "ConnectTimeout"
    READ_TIMEOUT = "ReadTimeout"
    WRITE_TIMEOUT = "WriteTimeout"
    POOL_TIMEOUT = "PoolTimeout"
    TOTAL_TIMEOUT = "TotalTimeout"  # one limit for the whole call, as aiohttp has it
    CONNECT = "ConnectError"
    NAME_RESOLUTION = "NameResolutionError"
    TLS = "TLSError"
    PROXY = "ProxyError"
    READ = "ReadError"
    WRITE = "WriteError"
    CLOSE = "CloseError"
    REMOTE_PROTOCOL = "RemoteProtocolError"  # also a connection that ended before the answer did
    LOCAL_PROTOCOL = "LocalProtocolError"
    UNSUPPORTED_PROTOCOL = "UnsupportedProtocol"
    DECODING = "DecodingError"


Told = Mapping[str, str]
_NAMES = frozenset(Kind)
_ERRNO_BY_TEXT = {os.strerror(number): number for number in errno.errorcode}


def tell(kind: Kind, message: str) -> dict[str, str]:
    """A failure as a recording holds it. `message` must not name a host or a port: a file serves any machine."""
    return {"kind": kind.value, "message": message}


def kind_of(told: Told | None, *, has_head: bool) -> Kind:
    """What a recording tells; of a name that is not known, the nearest, by whether there had been a response."""
    name = (told or {}).get("kind", "")
    if name in _NAMES:
        return Kind(name)
    return Kind.READ if has_head else Kind.CONNECT


def os_message(error: OSError) -> str:
    """What the operating system says, without the address that asyncio adds."""
    number = error.errno or 0
    return os.strerror(number) if number in errno.errorcode else str(error.strerror or error)


def tls_message(error: BaseException) -> str:
    """OpenSSL's name for it, as in `ssl.SSLError.reason`: the rest of the text names hosts and line numbers."""
    return str(getattr(error, "reason", None) or "TLS_FAILURE")


UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"


def os_error(message: str, *, otherwise: int) -> OSError:
    """The error whose `os_message` this is: Python picks the class (ConnectionResetError, …) by its number."""
    return OSError(_ERRNO_BY_TEXT.get(message, otherwise), message or os.strerror(otherwise))
