"""Which proxies the processes of a run are told of: those of the caller where something goes out, and no others.

Names and meaning are those of curl, `requests` and httpx: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, in lower
case too, which wins. Does no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

NAMES = ("http_proxy", "https_proxy", "all_proxy")
_NOT = "no_proxy"
_LOOPBACK = ("localhost", "127.0.0.1")
_ALL = "*"


def is_one(name: str) -> bool:
    """Whether a variable is about proxies."""
    return name.lower() in (*NAMES, _NOT)


def named(values: Mapping[str, str]) -> dict[str, str]:
    """The variables that name a proxy, each with its URL; a bare `host:port` is taken for http, as everybody does."""
    return {
        name: value if "://" in value else f"http://{value}"
        for name, value in values.items()
        if name.lower() in NAMES and value
    }


def settled(
    values: Mapping[str, str], *, kept: Iterable[str], goes_out: bool, direct: Iterable[str] = ()
) -> dict[str, str]:
    """`values` as children get them.

    Where nothing goes out there is no proxy but what `kept` names: it could not be reached, some clients fail over it
    all the same (httpx without a library for socks), and a refusal would name the proxy in place of who was called.
    Elsewhere loopback and the hosts `direct` are called past it.
    """
    if not goes_out:
        values = {name: value for name, value in values.items() if not is_one(name) or name in kept}
    if not named(values):
        return dict(values)
    # Where only one of the two is there, it counts; an empty one says nothing.
    already = [part.strip() for part in (values.get(_NOT) or values.get(_NOT.upper()) or "").split(",")]
    # Beside others a star stands for nothing: to most clients it means everybody only where it stands alone.
    hosts = [_ALL] if _ALL in already else [*filter(None, already), *_LOOPBACK, *filter(None, direct)]
    joined = ",".join(dict.fromkeys(hosts))
    return {**values, _NOT.upper(): joined, _NOT: joined}


def hosts(urls: Iterable[str]) -> tuple[str, ...]:
    """The hosts of URLs."""
    return tuple(host for url in urls if "://" in url and (host := urlsplit(url).hostname))
