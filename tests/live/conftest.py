"""What the tests of real calls share: what a model's provider speaks, and the stack that they go through.

They ask for the end of a protocol and for nothing of the wording, and for no more than the provider's protocol has.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from stackproof import catalog
from stackproof.catalog.records import Catalog, ModelRole, SetupSpec, StackMode, Wire
from stackproof.live.opt_in import LiveModel
from stackproof.plugin import live
from stackproof.plugin.stack_key import STACK_KEY
from stackproof.stack.handle import StackHandle
from stackproof.stack.inprocess import InProcessApp

# Seconds for a whole test where `--timeout` says nothing: a provider that is slow must not hold up a schedule.
LONGEST = 120.0
# How often a client asks again where it is told to wait or the provider is overloaded; each is counted in the run.
RETRIES = 2
_AGAIN = (408, 409, 429, 500, 502, 503, 504)
_LONGEST_WAIT = 30.0  # seconds


def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """No test takes forever."""
    if not config.getoption("timeout", None):
        for item in items:
            if item.path.is_relative_to(config.rootpath / "tests" / "live"):
                item.add_marker(pytest.mark.timeout(LONGEST))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    """A failure shows where its test stood and what was raised; what an SDK did in between is for `--full-trace`."""
    if call.excinfo is not None and not item.config.getoption("fulltrace"):
        error: BaseException = call.excinfo.value
        model = getattr(item, "funcargs", {}).get("live_model")
        if model is not None and str(error).endswith(" from pytest-timeout."):
            error = pytest.fail.Exception(f"{model.title} gave no whole answer in time: {error}")
        if (ours := _of(item.path, call.excinfo.tb)) is not None:
            call.excinfo = pytest.ExceptionInfo.from_exc_info((type(error), error, ours))
            cause = error.__cause__ or error.__context__
            while cause is not None and cause.__traceback__ is not None:
                cause.__traceback__ = None
                cause = cause.__cause__ or cause.__context__
    return (yield)


def _of(file: Path, traceback: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that is in a file."""
    if traceback is None:
        return None
    below = _of(file, traceback.tb_next)
    if Path(traceback.tb_frame.f_code.co_filename) != file:
        return below
    return TracebackType(below, traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno)


@pytest.fixture(scope="session")
def stack(request: pytest.FixtureRequest) -> Iterator[StackHandle]:
    """The stack of the run; in a pytest by itself the reference stack, in this process, with nothing recorded."""
    start = request.config.stash.get(STACK_KEY, None)
    if start is not None:
        yield start()
        return
    from reference_stack.app import create_app

    environ = {"PATH": os.environ.get("PATH", os.defpath)}
    for each in live.models(request.config):
        environ |= each.variables if isinstance(each, LiveModel) else {}
    with InProcessApp(create_app(environ)) as app:
        yield StackHandle(name="reference", mode=StackMode.LIBRARY, base_url="http://stack.invalid", app=app)


@pytest.fixture(scope="session")
def openai_client(openai_client: openai.OpenAI) -> openai.OpenAI:
    """OpenAI's client for the stack, which asks again as it does for everybody."""
    return openai_client.with_options(max_retries=RETRIES)


@pytest.fixture(scope="session")
def anthropic_client(anthropic_client: anthropic.Anthropic) -> anthropic.Anthropic:
    """Anthropic's client for the stack, which asks again as it does for everybody."""
    return anthropic_client.with_options(max_retries=RETRIES)


@pytest.fixture(scope="session")
def posted(http_client: httpx2.Client) -> Callable[[str, Any], AbstractContextManager[httpx2.Response]]:
    """POSTs JSON to the stack, for what no SDK is asked for, and asks again as those do; the answer is not read yet.

    It is one with status 200: another fails the test with the answer's own words.
    """

    @contextmanager
    def post(path: str, body: Any) -> Iterator[httpx2.Response]:
        for left in range(RETRIES, -1, -1):
            with http_client.stream("POST", path, json=body) as response:
                if response.status_code == 200:
                    yield response
                    return
                told = response.read().decode()
            again = response.status_code in _AGAIN and response.headers.get("x-should-retry") != "false"
            if not again or not left:
                pytest.fail(f"POST {path} was answered with status {response.status_code}: {told}", pytrace=False)
            time.sleep(_wait(response.headers.get("retry-after")))

    return post


def _wait(told: str | None) -> float:
    return min(float(told), _LONGEST_WAIT) if told and told.isdecimal() else 0.5


@pytest.fixture(scope="session")
def known(pytestconfig: pytest.Config) -> Catalog:
    """Every setup."""
    return catalog.load(pytestconfig.rootpath)


@pytest.fixture
def setup(live_model: LiveModel, known: Catalog) -> SetupSpec:
    """Whose providers the model is among."""
    return known.setup(live_model.setup)


@pytest.fixture
def speaking(live_model: LiveModel, setup: SetupSpec) -> Callable[[Wire], str]:
    """Gives the model as the stack calls it; skips where its provider does not speak what a test asks for."""

    def model(wire: Wire) -> str:
        (provider,) = [each for each in setup.providers if each.name == live_model.provider]
        if wire not in provider.speaks:
            pytest.skip(f"{provider.name} speaks no {wire.value}")
        return live_model.title

    return model


@pytest.fixture
def in_role(live_model: LiveModel, setup: SetupSpec) -> Callable[[ModelRole], str]:
    """Gives the setup's model of another role; skips where it has none of the same provider."""

    def model(role: ModelRole) -> str:
        name = os.environ.get(f"STACKPROOF_{role.name}_MODEL") or setup.models.get(role, "")
        if name.partition("/")[0] != live_model.provider:
            pytest.skip(
                f"setup {setup.name} names no {role.value} model of {live_model.provider} (--{role.value}-model)"
            )
        return name

    return model


@pytest.fixture
def calling_model(live_model: LiveModel, setup: SetupSpec) -> str:
    """A model that calls tools: the one that is asked for, unless the setup has another for its own text model."""
    own = os.environ.get("STACKPROOF_TEXT_MODEL") or setup.models.get(ModelRole.TEXT)
    tool = os.environ.get("STACKPROOF_TOOL_MODEL") or setup.models.get(ModelRole.TOOL)
    return tool if tool and live_model.title == own else live_model.title


@pytest.fixture
def searching_model(speaking: Callable[[Wire], str], setup: SetupSpec) -> str:
    """The model, where the setup has a search of the web beside it."""
    model = speaking(Wire.RESPONSES)
    if not any(Wire.SEARCH in each.speaks for each in setup.providers):
        pytest.skip(f"setup {setup.name} speaks to nobody who searches the web")
    return model
