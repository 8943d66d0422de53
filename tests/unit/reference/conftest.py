"""A gateway whose provider is played by the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack

import httpx2
import pytest

from reference_stack.app import create_app
from stackproof.stack.inprocess import InProcessApp

Provider = Callable[[httpx2.Request], httpx2.Response]
Gateway = Callable[..., httpx2.Client]

ENVIRON = {"OLLAMA_URL": "http://ollama.invalid/v1"}


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    """Start a gateway in front of a provider; gives a client for it.

    The provider is a function from request to response, or an async transport.
    """
    with ExitStack() as stack:

        def start(
            provider: Provider | httpx2.AsyncBaseTransport, environ: Mapping[str, str] = ENVIRON
        ) -> httpx2.Client:
            transport = provider if isinstance(provider, httpx2.AsyncBaseTransport) else httpx2.MockTransport(provider)
            app = create_app(environ, http_client=lambda: httpx2.AsyncClient(transport=transport))
            running = stack.enter_context(InProcessApp(app, close_grace=1.0))
            client = httpx2.Client(transport=running.transport(), base_url="http://stack.invalid", timeout=10)
            return stack.enter_context(client)

        yield start
