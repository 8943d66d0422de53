"""The way from a task to the depot: signs of life, and the result at the end."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import IO, Any

_CALL = 30.0  # seconds
_TRIES = 5
_APART = 1.0  # seconds, doubled each time


class NotDeliveredError(Exception):
    """The depot did not take a result."""


class Way:
    """To one depot, for one attempt at one piece."""

    def __init__(
        self, depot: str, token: str, piece: int, attempt: int, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._depot, self._token, self._about, self._sleep = depot, token, f"{piece}/{attempt}", sleep
        # What the environment says of proxies is about the world outside.
        self._direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def sign(self, said: Mapping[str, Any]) -> bool:
        """Tell how far it is; whether that arrived. Nobody waits for it: the next one comes soon."""
        try:
            self._ask("POST", "signs", json.dumps(said).encode(), None)
        except (OSError, HTTPException):
            return False
        return True

    def deliver(self, archive: IO[bytes]) -> None:
        """Hand the result over, again after a while where that fails; NotDeliveredError at the end."""
        size = archive.seek(0, 2)
        wait, why = _APART, ""
        for attempt in range(_TRIES):
            archive.seek(0)
            try:
                self._ask("PUT", "results", archive, size)
            except urllib.error.HTTPError as error:
                why = f"the depot answered {error.code}"
            except (OSError, HTTPException) as error:
                why = str(error)
            else:
                return
            if attempt < _TRIES - 1:
                self._sleep(wait)
                wait *= 2
        raise NotDeliveredError(why)

    def _ask(self, method: str, kind: str, body: Any, size: int | None) -> None:
        request = urllib.request.Request(  # noqa: S310 - the URL is ours
            f"{self._depot}/{kind}/{self._about}",
            data=body,
            method=method,
            headers={
                "Authorization": f"Bearer {self._token}",
                "Content-Type": "application/octet-stream",
                **({} if size is None else {"Content-Length": str(size)}),
            },
        )
        with self._direct.open(request, timeout=_CALL):
            pass
