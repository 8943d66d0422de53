"""What tests are given: the stack, clients for it, and the names of the setup's models. The same on every stack.

No SDK is imported before a test asks for its client. Sync clients live as long as the session, so that wider fixtures
can use them too; async ones as long as a test, which closes them itself:

```python
import asyncio

import httpx2
from openai import AsyncOpenAI

from stackproof.fixtures import StackHandle


def test_the_stack_is_well(stack: StackHandle, http_client: httpx2.Client) -> None:
    assert stack.name == "shop"
    assert http_client.get("/v1/health").json() == {"status": "OK"}


def test_two_questions_at_once(async_openai_client: AsyncOpenAI, text_model: str) -> None:
    async def ask() -> list[str | None]:
        async with async_openai_client as client:
            asked = [
                client.chat.completions.create(model=text_model, messages=[{"role": "user", "content": text}])
                for text in ("One?", "Two?")
            ]
            return [answer.choices[0].message.content for answer in await asyncio.gather(*asked)]

    assert asyncio.run(ask()) == ["You asked: One?", "You asked: Two?"]
```
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.catalog.records import ModelRole, StackMode
from stackproof.live.opt_in import LiveModel
from stackproof.plugin.stack_key import STACK_KEY
from stackproof.stack.handle import StackHandle

if TYPE_CHECKING:
    import anthropic
    import httpx2
    import openai

__all__ = [
    "LiveModel",
    "StackHandle",
    "anthropic_client",
    "async_anthropic_client",
    "async_openai_client",
    "embedding_dimension",
    "embedding_model",
    "http_client",
    "judge_model",
    "live_model",
    "openai_client",
    "rerank_model",
    "safety_model",
    "stack",
    "text_model",
    "tool_model",
    "vision_model",
]

# A library stack has no address; this one can never be reached by accident (RFC 2606).
LIBRARY_URL = "http://stack.invalid"

# The SDKs insist on a key. What the stack needs to call its providers is in its own environment.
_KEY = "stackproof"
# Where the stack wants one of its own: the name of the variable that holds it, `client_key` in stack.yaml.
_KEY_IN = "STACKPROOF_CLIENT_KEY_IN"

# One call of a test is one request to the stack: an SDK's own retries would hide failures and ask providers twice.
_RETRIES = 0

# Idle connections are dropped before a server does it (uvicorn after 5 s), or a request could meet a closing one.
_KEEP_ALIVE = 2.0


@pytest.fixture(scope="session")
def stack(request: pytest.FixtureRequest) -> StackHandle:
    """The software under test, running: its name, mode and base URL."""
    start = request.config.stash.get(STACK_KEY, None)
    if start is None:
        pytest.fail("No stack belongs to this run; start it with `stackproof run`, or run pytest with its plugin.")
    return start()


@pytest.fixture
def live_model(request: pytest.FixtureRequest) -> LiveModel:
    """A model to call for real: skipped unless the provider's own variable and STACKPROOF_LIVE_MODEL are both set.

    In a run that records or replays it is the setup's own text model.
    """
    if hasattr(request, "param"):
        named: LiveModel = request.param
        return named
    from stackproof.live.opt_in import NotWanted
    from stackproof.plugin import live

    (model,) = live.models(request.config)
    if isinstance(model, NotWanted):
        # A test that asks for it by name at run time has no mark.
        pytest.skip(model.reason)
    return model


@pytest.fixture(scope="session")
def openai_client(stack: StackHandle) -> Iterator[openai.OpenAI]:
    """OpenAI's client for the stack."""
    import openai

    http_client = openai.DefaultHttpxClient(**_options(stack))
    url = f"{_url(stack)}/v1"
    with openai.OpenAI(base_url=url, api_key=_key(), max_retries=_RETRIES, http_client=http_client) as client:
        yield client


@pytest.fixture
def async_openai_client(stack: StackHandle) -> openai.AsyncOpenAI:
    """OpenAI's async client for the stack; the test closes it with `async with`, on its own event loop."""
    import openai

    http_client = openai.DefaultAsyncHttpxClient(**_async_options(stack))
    url = f"{_url(stack)}/v1"
    return openai.AsyncOpenAI(base_url=url, api_key=_key(), max_retries=_RETRIES, http_client=http_client)


@pytest.fixture(scope="session")
def anthropic_client(stack: StackHandle) -> Iterator[anthropic.Anthropic]:
    """Anthropic's client for the stack."""
    import anthropic

    http_client = anthropic.DefaultHttpxClient(**_options(stack))
    url = _url(stack)
    with anthropic.Anthropic(base_url=url, api_key=_key(), max_retries=_RETRIES, http_client=http_client) as client:
        yield client


@pytest.fixture
def async_anthropic_client(stack: StackHandle) -> anthropic.AsyncAnthropic:
    """Anthropic's async client for the stack; the test closes it with `async with`, on its own event loop."""
    import anthropic

    http_client = anthropic.DefaultAsyncHttpxClient(**_async_options(stack))
    url = _url(stack)
    return anthropic.AsyncAnthropic(base_url=url, api_key=_key(), max_retries=_RETRIES, http_client=http_client)


@pytest.fixture(scope="session")
def http_client(stack: StackHandle) -> Iterator[httpx2.Client]:
    """A plain HTTP client whose base URL is the stack's (without `/v1`), without a key; 60 s for each wait."""
    import httpx2

    with httpx2.Client(base_url=_url(stack), timeout=60.0, **_options(stack)) as client:
        yield client


@pytest.fixture(scope="session")
def text_model() -> str:
    """The model that answers with text, named `provider/model`."""
    return _model(ModelRole.TEXT)


@pytest.fixture(scope="session")
def tool_model() -> str:
    """The model that calls tools."""
    return _model(ModelRole.TOOL)


@pytest.fixture(scope="session")
def vision_model() -> str:
    """The model that reads images."""
    return _model(ModelRole.VISION)


@pytest.fixture(scope="session")
def embedding_model() -> str:
    """The model that makes embeddings."""
    return _model(ModelRole.EMBEDDING)


@pytest.fixture(scope="session")
def embedding_dimension() -> int:
    """How many numbers an embedding of `embedding_model` has."""
    value = os.environ.get("STACKPROOF_EMBEDDING_DIMENSION")
    if not value:
        pytest.skip(f"{_setup()} names no embedding dimension (--embedding-dimension)")
    return int(value)


@pytest.fixture(scope="session")
def rerank_model() -> str:
    """The model that ranks documents."""
    return _model(ModelRole.RERANK)


@pytest.fixture(scope="session")
def safety_model() -> str:
    """The model that judges whether content is safe."""
    return _model(ModelRole.SAFETY)


@pytest.fixture(scope="session")
def judge_model() -> str:
    """The model that grades other models' answers."""
    return _model(ModelRole.JUDGE)


def _model(role: ModelRole) -> str:
    name = os.environ.get(f"STACKPROOF_{role.name}_MODEL")
    if not name:
        pytest.skip(f"{_setup()} names no {role.value} model (--{role.value}-model)")
    return name


def _setup() -> str:
    name = os.environ.get("STACKPROOF_SETUP")
    return f"setup {name}" if name else "the setup"


def _url(stack: StackHandle) -> str:
    if stack.app is None and stack.mode is StackMode.LIBRARY:
        pytest.fail(
            f"stack {stack.name} is a plain library, which no client can call: its tests import it and call it "
            "themselves (its stack.yaml names no 'app')",
            pytrace=False,
        )
    return stack.base_url if stack.app is None else LIBRARY_URL


def _key() -> str:
    return os.environ.get(os.environ.get(_KEY_IN, ""), "") or _KEY


def _options(stack: StackHandle) -> dict[str, Any]:
    if stack.app is not None:
        return {"transport": stack.app.transport()}
    return _connection(stack)


def _async_options(stack: StackHandle) -> dict[str, Any]:
    if stack.app is not None:
        return {"transport": stack.app.async_transport()}
    return _connection(stack)


def _connection(stack: StackHandle) -> dict[str, Any]:
    import httpx2

    limits = httpx2.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=_KEEP_ALIVE)
    # A proxy from the environment is not meant for a stack on this machine.
    return {"limits": limits, "trust_env": stack.mode is StackMode.REMOTE}
