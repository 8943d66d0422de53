"""The plainest way to a listener, and how long ways to it are waited for."""

from __future__ import annotations

import socket

# Seconds that a way waits by itself; what is refused fails long before, on a busy machine too.
PATIENCE = 60


def by_socket(host: str, port: int) -> None:
    """Connect, and let go at once."""
    socket.create_connection((host, port), timeout=PATIENCE).close()
