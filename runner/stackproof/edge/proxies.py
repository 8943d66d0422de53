"""The proxy that leads to a provider, as HTTPS_PROXY, HTTP_PROXY and NO_PROXY say.

Asked here and not of the HTTP client, which would also read ~/.netrc for each call, and sign requests by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

_NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


class Proxies:
    """What an environment says. Lower-case names win, as everywhere."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        found = {name: environ.get(name) or environ.get(name.upper()) or "" for name in _NAMES}
        self._by_scheme = {name.removesuffix("_proxy"): value for name, value in found.items() if value}
        self.of = lru_cache(maxsize=256)(self._of)

    def _of(self, origin: str) -> str | None:
        """The proxy's URL for `scheme://host:port`, or None."""
        parts = urlsplit(origin)
        proxy = self._by_scheme.get(parts.scheme) or self._by_scheme.get("all")
        if not proxy or proxy_bypass_environment(parts.netloc, {"no": self._by_scheme.get("no", "")}):
            return None
        return proxy if "://" in proxy else f"http://{proxy}"
