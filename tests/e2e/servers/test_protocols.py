"""What applications see of a request, websockets, and masters that call providers themselves before they fork."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from stackproof.recorder import scope
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope

if TYPE_CHECKING:
    from tests.e2e.servers.conftest import ChatProvider, Serve, Served

_COMMANDS = {
    "uvicorn": "-m uvicorn asgi_app:app --port {port}",
    "hypercorn": "-m hypercorn -b 127.0.0.1:{port} asgi_app:app",
    "gunicorn": "-m gunicorn -b 127.0.0.1:{port} -k asgi asgi_app:app",
    "granian": "-m granian --port {port} --interface asgi asgi_app:app",
    "aiohttp": "aiohttp_app.py {port}",
    "flask": "wsgi_app.py {port} threads",
}
_NEEDED = {"gunicorn": "gunicorn.workers.gasgi"}
_NAME = "tests/integration/test_protocols.py::test_one[ü]"
_ONE = Scope(name=_NAME, test_id=_NAME)


@pytest.mark.parametrize("server", _COMMANDS)
def test_applications_see_what_is_theirs_and_nothing_of_ours(serve: Serve, server: str) -> None:
    pytest.importorskip(_NEEDED.get(server, server), reason=f"{server} is not installed")
    theirs = {
        "x-provider-data": '{"their_key": "k"}',
        "baggage": "user=7,stackproof.scope=a",
        "x-other": "ö".encode("latin-1"),
    }
    with serve(Mode.REPLAY, *_COMMANDS[server].split()) as served:
        seen = served.get("seen", "x", _ONE, **theirs).json()
        bare = served.get("seen", "x", _ONE, **{"x-stackproof-probe": "1"}).json()
    for headers in (seen["headers"], seen.get("raw", seen["headers"])):
        found = dict(headers)
        assert json.loads(found["x-provider-data"]) == {"their_key": "k"}
        assert found["baggage"] == "user=7"
        assert found["x-other"] in ("ö", "\udcf6"), "as the server or the framework reads it"
    assert not {"x-provider-data", "x-stackproof-probe", "baggage"} & set(dict(bare["headers"]))


@pytest.mark.parametrize("server", [name for name in _COMMANDS if name != "flask"])
def test_calls_that_a_websocket_causes_belong_to_whoever_opened_it(
    serve: Serve, provider: ChatProvider, server: str
) -> None:
    pytest.importorskip(_NEEDED.get(server, server), reason=f"{server} is not installed")
    pytest.importorskip("websockets", reason="websockets is not installed")  # uvicorn's
    with serve(Mode.RECORD, *_COMMANDS[server].split()) as served:
        recorded = asyncio.run(_talk(served))
        served.wait_until(lambda: not served.ledger.calls_in_flight(_ONE))
        assert len(served.kept(_ONE)) == 2
        assert served.lines("misses") == []
        served.store.promote(_ONE, replace=True)
    asked = len(provider.asked)
    with serve(Mode.REPLAY, *_COMMANDS[server].split()) as served:
        assert asyncio.run(_talk(served)) == recorded
    assert len(provider.asked) == asked


async def _talk(served: Served) -> list[str]:
    import aiohttp

    headers = {"x-provider-data": scope.to_header(_ONE, None, str(served.run_dir))}
    answers = []
    async with aiohttp.ClientSession(headers=headers) as session, session.ws_connect(f"{served.url}/talk") as socket:
        for say in ("hello", "hello again"):
            await socket.send_str(say)
            answers.append(await socket.receive_str(timeout=60))
            # While it is open, no end of a test waits for it.
            assert served.ledger.wait_for_serving(_ONE, 0) == 0
        await socket.send_str("bye")
        await socket.receive(timeout=60)
    return answers


@pytest.mark.parametrize("worker", ["sync", "gthread"])
def test_workers_go_on_where_their_master_was_calling_a_provider_at_the_fork(
    serve: Serve, provider: ChatProvider, worker: str
) -> None:
    for name in ("gunicorn", "flask"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    command = f"-m gunicorn -b 127.0.0.1:{{port}} -w 3 -k {worker} --preload wsgi_app:app"
    with serve(Mode.RECORD, *command.split(), environ={"ASK_AT_START": "1"}) as served:
        served.wait_until(lambda: "at the start" in provider.asked)
        recorded = served.at_once([("ask", "hello", _ONE)] * 9)
        served.wait_until(lambda: not served.ledger.calls_in_flight(_ONE))
        marks = served.marks()
        assert served.lines("misses") == []
        assert len(served.kept(_ONE)) == 9
        assert all(content["response"]["complete"] for content in served.kept(scope.STACK))
        calls = {call["scope"] for call in served.lines("calls")}
    assert len(set(recorded)) == 9
    assert calls == {"stack", _NAME}
    # One worker may have answered all of them, where it has threads.
    assert len(marks) >= 2, "the master, and the workers that answered"
    assert sum("server" in mark for mark in marks.values()) == len(marks) - 1
