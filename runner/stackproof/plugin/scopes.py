"""Whose call it is, told to the recorder around each test and around the set-up and teardown of wider fixtures."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from stackproof.edge.announced import Announce
from stackproof.recorder import install, scope
from stackproof.recorder.brain import Brain
from stackproof.recorder.scope import Scope

SHARED_JOURNAL = "shared"


class ScopeTracker:
    """Hooks that put scopes in force."""

    def __init__(self, brain: Brain, worker: str, announce: Announce) -> None:
        self._brain = brain
        self._announce = announce
        self._worker = worker
        self._attempts: dict[str, int] = {}
        self._item: pytest.Item | None = None
        self.shared_of: dict[str, set[str]] = {}  # node id → shared scopes set up while it ran

    def scope_of(self, nodeid: str) -> Scope:
        """The scope of a test in its present attempt."""
        return Scope(name=nodeid, test_id=nodeid, attempt=self._attempts.get(nodeid, 1))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """A test begins, or begins again."""
        # Counted for the run: when a worker dies, another one runs its test again.
        self._attempts[item.nodeid] = self._brain.ledger.attempt(item.nodeid)
        self._item = item
        self._in_force(self.scope_of(item.nodeid))
        return (yield from self._within(item))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """The test itself."""
        return (yield from self._within(item))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Its teardown, and that of wider fixtures which end with it."""
        try:
            return (yield from self._within(item))
        finally:
            self._in_force(None)

    def _within(self, item: pytest.Item) -> Generator[None, Any, Any]:
        with scope.use(self.scope_of(item.nodeid)):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, Any, Any]:
        """A fixture wider than a test has a scope of its own, in set-up and in teardown."""
        if fixturedef.scope == "function" or self._item is None:
            return (yield)
        name = fixture_scope_name(fixturedef, request)
        number = self._attempts[name] = self._attempts.get(name, 0) + 1
        owner = Scope(name=name, test_id=self._item.nodeid, attempt=number, worker=self._worker)
        self.shared_of.setdefault(self._item.nodeid, set()).add(name)
        self._brain.ledger.note(SHARED_JOURNAL, {"scope": name})
        outer = scope.current()
        # Finalizers run last in, first out: this pair encloses what the fixture itself registers.
        fixturedef.addfinalizer(lambda: self._leave(self._item))
        self._in_force(owner)
        try:
            with scope.use(owner):
                return (yield)
        finally:
            self._in_force(outer)
            fixturedef.addfinalizer(lambda: self._enter(owner))

    def _enter(self, owner: Scope) -> None:
        if self._item is not None:
            # The test with which a fixture ends is told what its teardown missed: the first one is over long since.
            owner = replace(owner, test_id=self._item.nodeid)
        scope.enter(owner)
        self._in_force(owner)

    def _leave(self, item: pytest.Item | None) -> None:
        inner = self.scope_of(item.nodeid) if item is not None else None
        scope.enter(inner)
        self._in_force(inner)

    def _in_force(self, owner: Scope | None) -> None:
        scope.set_process_scope(owner)
        self._announce(owner)


class Suspender:
    """Keeps recorder and variables out of tests that are not the suite's, when pytest runs both in one session.

    `outside` are the values that variables had (None: not set) before the suite's were put in force.
    """

    def __init__(self, root: str, outside: Mapping[str, str | None]) -> None:
        self._root = root.rstrip("/") + "/"
        self._outside = outside

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Ask whether the recorder has a part in this test."""
        return (yield from self._asked(item.nodeid))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        """The same for the import of a file of tests, which may look at variables."""
        if isinstance(collector, pytest.Session | pytest.Directory):
            return (yield)
        return (yield from self._asked(collector.nodeid))

    def _asked(self, nodeid: str) -> Generator[None, Any, Any]:
        if nodeid.startswith(self._root):
            return (yield)
        inside = swap(self._outside)
        try:
            with install.suspended():
                return (yield)
        finally:
            swap(inside)


def swap(values: Mapping[str, str | None]) -> dict[str, str | None]:
    """Set or (None) unset environment variables; the values that they had."""
    before = {name: os.environ.get(name) for name in values}
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    return before


def fixture_scope_name(fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> str:
    """`fixture:<base id>::<name>[param]`: the same for every test that uses it."""
    if fixturedef.params is None:
        return _name_of(fixturedef)
    return _with_param(_name_of(fixturedef), getattr(request, "param", None), getattr(request, "param_index", 0))


def _name_of(fixturedef: pytest.FixtureDef[Any]) -> str:
    return f"fixture:{fixturedef.baseid}::{fixturedef.argname}"


def _with_param(name: str, param: Any, index: int) -> str:
    return f"{name}[{param if isinstance(param, str | int | float | bool) else index}]"


def shared_scopes_used(item: pytest.Item, also: Iterable[str]) -> set[str]:
    """Names of the shared scopes that a test depends on: of its fixtures, of those it asked for by name, and `also`.

    Where it is not known with which parameter a fixture was used, the name ends before that.
    """
    info = getattr(item, "_fixtureinfo", None)
    asked_for = getattr(getattr(item, "_request", None), "_fixture_defs", {})
    definitions = [*getattr(info, "name2fixturedefs", {}).values(), list(asked_for.values())]
    found = set(also)
    for definition in (one for several in definitions for one in several):
        if definition.scope != "function":
            found.add(shared_scope_of(item, definition))
    return found


def shared_scope_of(item: pytest.Item, definition: pytest.FixtureDef[Any]) -> str:
    """The name of the scope of a fixture, with the parameter that this test has for it where that is known."""
    name, argname = _name_of(definition), definition.argname
    callspec = getattr(item, "callspec", None)
    if definition.params is None or callspec is None or argname not in callspec.params:
        return name
    return _with_param(name, callspec.params[argname], callspec.indices[argname])
