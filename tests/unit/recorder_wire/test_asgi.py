"""The middleware of a server: whose request it is goes into force, and out of what the application sees."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.recorder import scope
from stackproof.recorder.brain import Brain
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import STACK, UNKNOWN, Scope
from stackproof.recorder.serve.asgi import ScopeMiddleware
from stackproof.recorder.settings import Settings

if TYPE_CHECKING:
    from stackproof.recorder.serve.asgi import ASGIScope

_TEST = "tests/a.py::test_ü[x,y]"
_FIXTURE = Scope(name="fixture:tests/a.py::f[1]", test_id=_TEST, attempt=2, worker="gw0")


@pytest.fixture
def brain(tmp_path: Path) -> Iterator[Brain]:
    """A brain that nobody has installed."""
    made = Brain(
        Settings(mode=Mode.REPLAY, recordings=str(tmp_path), setup="s", run_dir=str(tmp_path / "run"), run_id="abcdef"),
        {},
    )
    yield made
    made.ledger.close()


def _serve(brain: Brain, headers: list[tuple[bytes, bytes]], kind: str = "http") -> tuple[Scope | None, Any]:
    """What the application found in force, and the headers that it saw."""
    seen: list[Any] = []

    async def app(asgi: ASGIScope, receive: Any, send: Any) -> None:
        owner = scope.current()
        counted = (brain.requests_with_scope, owner is not None and brain.ledger.wait_for_serving(owner, 0))
        expected = (0, 0) if owner is STACK or owner is UNKNOWN or owner is None else (1, int(kind == "http"))
        assert counted == expected
        seen.append((owner, asgi["headers"]))

    asgi: ASGIScope = {"type": kind, "headers": headers, "path": "/x"}

    async def nothing(*_: Any) -> Any:
        return {}

    asyncio.run(ScopeMiddleware(app, brain)(asgi, nothing, nothing))
    assert asgi["headers"] is headers, "the server's own scope is not changed"
    assert brain.requests_with_scope == 0
    assert scope.current() is None
    return seen[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize("owner", [Scope(name=_TEST, test_id=_TEST), _FIXTURE], ids=["test", "fixture"])
def test_the_id_arrives_and_is_taken_out(brain: Brain, owner: Scope) -> None:
    value = scope.to_header(owner, None, brain.settings.run_dir).encode()
    found, headers = _serve(brain, [(b"accept", b"*/*"), (b"x-provider-data", value)])
    assert found == owner
    assert headers == [(b"accept", b"*/*")]


def test_provider_keys_of_the_caller_stay_for_the_application(brain: Brain) -> None:
    value = scope.to_header(_FIXTURE, '{"tavily_search_api_key": "k", "n": [1]}', brain.settings.run_dir)
    found, headers = _serve(brain, [(b"x-provider-data", value.encode())])
    assert found == _FIXTURE
    assert [(name, json.loads(text)) for name, text in headers] == [
        (b"x-provider-data", {"tavily_search_api_key": "k", "n": [1]})
    ]


@pytest.mark.parametrize("value", [b'{"their": "data"}', b"no json", b"[1]", b"\xff\xfe", b""])
def test_a_header_that_is_not_ours_stays_as_it_is(brain: Brain, value: bytes) -> None:
    found, headers = _serve(brain, [(b"x-provider-data", value)])
    assert found is UNKNOWN
    assert headers == [(b"x-provider-data", value)]


def test_a_long_id_travels_by_reference(brain: Brain) -> None:
    owner = Scope(name="tests/a.py::test[" + "é" * 900 + "]", test_id="tests/a.py::test[" + "é" * 900 + "]")
    value = scope.to_header(owner, '{"k": 1}', brain.settings.run_dir)
    assert len(value) < 200
    found, headers = _serve(brain, [(b"x-provider-data", value.encode())])
    assert found == owner
    assert headers == [(b"x-provider-data", b'{"k": 1}')]


def test_baggage_alone_is_enough_and_the_rest_of_it_stays(brain: Brain) -> None:
    found, headers = _serve(
        brain, [(b"baggage", b"user=7, stackproof.scope=tests%2Fa.py%3A%3Atest_%C3%BC%5Bx%2Cy%5D ,team=a;p=1")]
    )
    assert found == Scope(name=_TEST, test_id=_TEST)
    assert headers == [(b"baggage", b"user=7,team=a;p=1")]


def test_baggage_of_others_is_left_alone(brain: Brain) -> None:
    found, headers = _serve(brain, [(b"baggage", b"user=7")])
    assert found is UNKNOWN
    assert headers == [(b"baggage", b"user=7")]


def test_a_probe_of_the_runner_belongs_to_the_stack(brain: Brain) -> None:
    assert _serve(brain, [(b"x-stackproof-probe", b"1")])[0] is STACK


def test_a_websocket_has_its_scope_too(brain: Brain) -> None:
    value = scope.to_header(_FIXTURE, None, brain.settings.run_dir).encode()
    assert _serve(brain, [(b"x-provider-data", value)], kind="websocket")[0] == _FIXTURE


def test_the_lifespan_passes_untouched(brain: Brain) -> None:
    assert _serve(brain, [], kind="lifespan")[0] is None


def test_an_exception_of_the_application_comes_through_and_ends_the_request(brain: Brain) -> None:
    async def app(asgi: ASGIScope, receive: Any, send: Any) -> None:
        raise ZeroDivisionError

    owner = Scope(name=_TEST, test_id=_TEST)
    value = scope.to_header(owner, None, brain.settings.run_dir).encode()

    async def nothing(*_: Any) -> Any:
        return {}

    with pytest.raises(ZeroDivisionError):
        asyncio.run(
            ScopeMiddleware(app, brain)({"type": "http", "headers": [(b"x-provider-data", value)]}, nothing, nothing)
        )
    assert brain.requests_with_scope == 0
    assert brain.ledger.wait_for_serving(owner, 0) == 0
