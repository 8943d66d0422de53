"""Heads of requests and responses on their way through the edge: what a server in between must not hand on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stackproof.recorder.encodings import is_signed

# Of one connection (RFC 9110, 7.6.1), or settled anew by whoever sends.
_HOP = frozenset(
    {
        "connection", "content-length", "expect", "host", "keep-alive", "proxy-authenticate", "proxy-authorization",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    }
)  # fmt: skip
# A way to the provider that does not lead through here.
_PAST_US = frozenset({"alt-svc", "strict-transport-security"})
# Only what the standard library can undo: the body has to be read while it passes.
_ENCODINGS = "gzip, deflate"


def outgoing(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """What the provider gets of a request's headers."""
    pairs = [(name, value) for name, value in headers if not _is_hop(name)]
    authorization = next((value for name, value in pairs if name.lower() == "authorization"), None)
    if is_signed(authorization):
        return pairs
    return [
        *((name, value) for name, value in pairs if name.lower() != "accept-encoding"),
        ("Accept-Encoding", _ENCODINGS),
    ]


def incoming(headers: Mapping[str, str]) -> dict[str, str]:
    """What the stack gets of a response's headers."""
    return {name: value for name, value in headers.items() if not _is_hop(name) and name.lower() not in _PAST_US}


def _is_hop(name: str) -> bool:
    return name.lower() in _HOP
