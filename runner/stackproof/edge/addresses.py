"""Which provider's URL a request to the edge is for. Runs in the edge: standard library and recorder only.

Under the edge's own address a provider is a prefix: `/<name>/<path below the provider's URL>`, or `/to/<name>/…`, which
also reaches a provider whose name is a reserved word. Beside it, each provider whose URL stands in a variable has an
address of its own, which stands for the *origin* of that URL: the stack gets its URL with another host and port and the
same path, so whatever it does to the URL (taking `/v1` off, going back to the origin) ends where it should.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from stackproof.recorder.providers import well_known
from stackproof.recorder.settings import Provider

HEALTH = "/.stackproof/health"
"""Answers 200 once the edge serves."""

ANY = "to"
"""The prefix under which every provider is reached."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unknown:
    """A request that is for no provider. text: one sentence for whoever sent it."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """What a request is for: `url` at the provider. `here` is the path at the edge that stands for the URL `there`."""

    url: str
    here: str
    there: str

    def led_back(self, location: str, address: str) -> str:
        """A redirect's target as whoever called `address` (`http://host:port`) has to follow it to stay at the edge."""
        if location == self.there or location.startswith((self.there + "/", self.there + "?")):
            return address + self.here + location.removeprefix(self.there)
        # Below the prefix a path from the root would name a provider.
        return address + self.here + location if self.here and location.startswith("/") else location


class Addresses:
    """The providers of a run, and the well-known ones."""

    def __init__(self, told: Sequence[Provider]) -> None:
        self._bases: dict[str, str] = dict(well_known())
        self._bases |= {provider.name: provider.prefixes[0] for provider in told if provider.prefixes}
        self._first = [provider.name for provider in told if provider.prefixes]

    @property
    def names(self) -> tuple[str, ...]:
        """Everybody who can be reached, the setup's providers first."""
        return tuple(dict.fromkeys((*self._first, *sorted(self._bases))))

    def find(self, target: str, own: str | None = None) -> Place | Unknown:
        """What a request target (`/openai/chat/completions?x=1`, as it was sent) is for.

        own: the provider whose own address was called.
        """
        if not target.startswith("/"):
            return Unknown(text="the edge is no proxy: call it by its own URL, http://HOST:PORT/<provider>/…")
        if own is not None:
            there = origin_of(self._bases[own])
            return Place(url=there + target, here="", there=there)
        path, mark, query = target.partition("?")
        first, _, rest = path[1:].partition("/")
        here, name = f"/{first}", first
        if first == ANY:
            name, _, rest = rest.partition("/")
            here = f"/{ANY}/{name}"
        if name not in self._bases:
            return Unknown(text=f"no provider has the prefix {here}; there are: {', '.join(self.names)}")
        there = self._bases[name].rstrip("/")
        return Place(url=there + path.removeprefix(here) + mark + query, here=here, there=there)


def origin_of(url: str) -> str:
    """Scheme, host and port."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def own_url(url: str, address: str) -> str:
    """A provider's URL as the stack is given it: `address` (`http://host:port`) in the place of its origin."""
    return address.rstrip("/") + url.removeprefix(origin_of(url))


def without_secrets(url: str) -> str:
    """A URL as it may be shown: without what is before its host and behind its path, where keys travel."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
