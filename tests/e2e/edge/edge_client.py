"""How a caller talks to the edge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
from tests.e2e.edge.conftest import TEST, id_of

ID = id_of(TEST)


CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


def client(**more: Any) -> httpx.Client:
    return httpx.Client(trust_env=False, timeout=60, headers=ID, **more)


def pieces(
    url: str, body: Any, *, stop_after: int = 0, came: Callable[[], object] = lambda: None
) -> tuple[list[bytes], str]:
    """The pieces of a streamed answer, and the class of the error that ended it. came: called for each piece."""
    got: list[bytes] = []
    try:
        with client() as http, http.stream("POST", url, json=body) as response:
            assert response.status_code == 200
            for piece in response.iter_raw():
                got.append(piece)
                came()
                if len(got) == stop_after:
                    break
    except httpx.HTTPError as error:
        return got, type(error).__name__
    return got, ""
