"""One call to the engine: with a deadline, and whatever goes wrong told in one sentence."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from stackproof.errors import DockerError
from stackproof.stack.endpoint import Endpoint
from stackproof.stack.engine.client import client_of, dotted
from stackproof.stack.engine_records import EngineFacts
from stackproof.stack.engine_words import UnreachableError, hint, reason_of, refused

if TYPE_CHECKING:
    from docker import APIClient

_AFTERWARDS = 8.0  # seconds for a call to an engine that has left one without an answer


class Calls:
    """A connection to one engine, and how its failures are told: what every group of calls is built on."""

    def __init__(self, client: APIClient, where: Endpoint, facts: EngineFacts) -> None:
        self._client, self.endpoint, self.facts = client, where, facts

    def close(self) -> None:
        """Give the sockets back."""
        self._client.close()

    def _another(self, timeout: float) -> APIClient:
        """A client for one call alone. timeout: seconds that the engine may say nothing."""
        return client_of(self.endpoint, dotted(self.facts.api), timeout)

    def _told(self, doing: str) -> contextlib.AbstractContextManager[None]:
        return told(f"the Docker engine at {self.endpoint} failed while {doing}", self.endpoint, None, self._is_silent)

    def _is_silent(self) -> None:
        # Whoever has waited that long in vain ends now, and what has to be taken away are several calls more.
        self._client.timeout = int(_AFTERWARDS)

    @staticmethod
    def _or_none(ask: Callable[[], Any]) -> Any:
        from docker.errors import NotFound  # noqa: PLC0415

        try:
            return ask()
        except NotFound:
            return None


@contextlib.contextmanager
def told(what: str, where: Endpoint, without: str | None, silent: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Turn whatever the SDK raises into one DockerError: what was done, what went wrong, what next.

    silent: called where there was no answer in time.
    """
    from docker.errors import APIError, DockerException  # noqa: PLC0415
    from requests.exceptions import RequestException, Timeout  # noqa: PLC0415
    from urllib3.exceptions import HTTPError  # noqa: PLC0415 - the SDK reads streams below requests

    try:
        yield
    except UnreachableError as error:
        raise DockerError(f"{what}: {error.reason.text}", hint=hint(error.reason.remedy, without)) from error
    except APIError as error:
        reason = refused(str(error.explanation or error).strip())
        raise DockerError(f"{what}: {reason.text}", hint=hint(reason.remedy, without)) from error
    except (RequestException, HTTPError, DockerException, OSError) as error:
        hangs = isinstance(error, (Timeout, TimeoutError))
        if hangs:
            silent()
        reason = reason_of(error, where, hangs=hangs)
        raise DockerError(f"{what}: {reason.text}", hint=hint(reason.remedy, without)) from error
