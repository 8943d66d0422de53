"""Where an edge listens, as everybody who has to know writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

FILE = "edge.json"
"""In the folder of a cell with an edge: {"url", "ids", "why", "serial"}."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Places:
    """host, as the stack names it. main: the edge's own port. own: provider -> the port of its own address."""

    host: str
    main: int
    own: Mapping[str, int]

    @property
    def url(self) -> str:
        """The edge's own address."""
        return f"http://{self.host}:{self.main}"

    def own_address(self, name: str) -> str | None:
        """The address that stands for the origin of a provider's URL, where it has one."""
        port = self.own.get(name)
        return None if port is None else f"http://{self.host}:{port}"

    def arguments(self) -> list[str]:
        """What `serve` is told of it."""
        own = [word for name, port in self.own.items() for word in ("--own", f"{name}={port}")]
        return ["--port", str(self.main), *own]


NOT_YET = Places(host="edge.invalid", main=80, own={})
"""Before anything has started: its URLs are shown and checked, and nobody calls them."""
