"""What the tests of real calls share: what a model's provider speaks, and the stack that they go through.

They ask for the end of a protocol and for nothing of the wording, and for no more than the provider's protocol has.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

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


def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """No test takes forever."""
    if not config.getoption("timeout", None):
        for item in items:
            if item.path.is_relative_to(config.rootpath / "tests" / "live"):
                item.add_marker(pytest.mark.timeout(LONGEST))


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
        pytest.skip(f"setup {setup.name} has nobody who searches the web")
    return model
