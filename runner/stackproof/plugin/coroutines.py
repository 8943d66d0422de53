"""Tests and fixtures that are coroutines, where a plugin runs all of them in one task that it started long ago.

anyio's test runner does. The context of that task is the one of the fixture or test that happened to come first, so the
scope is put in force inside each coroutine, and taken out again wherever it gives control back to pytest.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable, Generator
from inspect import isasyncgenfunction, iscoroutinefunction, ismethod
from types import MethodType
from typing import Any

import pytest

from stackproof.recorder import scope


class CoroutineScopes:
    """Hooks around what anyio runs; other functions stay as they are."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
        """The test itself."""
        function = pyfuncitem.obj
        if not iscoroutinefunction(function):
            return (yield)
        pyfuncitem.obj = within_its_scope(function)
        try:
            return (yield)
        finally:
            pyfuncitem.obj = function

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, Any, Any]:
        """A fixture; its teardown is the rest of the same generator."""
        function = fixturedef.func
        if "anyio_backend" not in request.fixturenames:
            return (yield)
        fixturedef.func = within_its_scope(function)  # type: ignore[misc]
        try:
            return (yield)
        finally:
            fixturedef.func = function  # type: ignore[misc]


def within_its_scope(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, with the scope in force that pytest has reached when its coroutine runs; the same if it has none."""
    if ismethod(function):
        return MethodType(within_its_scope(function.__func__), function.__self__)
    if isasyncgenfunction(function):

        @functools.wraps(function)
        async def generate(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
            generator = function(*args, **kwargs)
            try:
                while True:
                    with scope.use(scope.of_process()):
                        try:
                            value = await anext(generator)
                        except StopAsyncIteration:
                            return
                    yield value
            finally:
                await generator.aclose()

        return generate
    if iscoroutinefunction(function):

        @functools.wraps(function)
        async def run(*args: Any, **kwargs: Any) -> Any:
            with scope.use(scope.of_process()):
                return await function(*args, **kwargs)

        return run
    return function
