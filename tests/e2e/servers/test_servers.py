"""Every server that ids are carried into, with workers, threads and streams, for two tests at once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope

if TYPE_CHECKING:
    from tests.e2e.servers.conftest import ChatProvider, Serve, Served

_GUNICORN = ("-m", "gunicorn", "-b", "127.0.0.1:{port}")
_HYPERCORN = ("-m", "hypercorn", "-b", "127.0.0.1:{port}")
_GRANIAN = ("-m", "granian", "--port", "{port}", "--no-ws", "--workers-kill-timeout", "5")
_ASGI, _WSGI = ("ask", "sync", "stream", "later"), ("ask", "thread", "loop", "stream", "closing")
# Of the stream that is left early: six seconds for a server that reads on, a minute for one that notices meanwhile.
PARTS, MANY_PARTS = 120, 1200


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """A way to run a server: packages that it needs, its command, what the application can do, its processes."""

    needs: tuple[str, ...]
    command: tuple[str, ...]
    ways: tuple[str, ...]
    server: str
    workers: int = 1
    reads_on: bool = False  # when its client has gone
    sees_leaving: bool = True  # also where the application reads on before it can know


KINDS = {
    "uvicorn": Kind(
        needs=("uvicorn",),
        command=("-m", "uvicorn", "asgi_app:app", "--port", "{port}", "--workers", "3"),
        ways=_ASGI,
        server="uvicorn",
        workers=3,
    ),
    "hypercorn": Kind(
        needs=("hypercorn",),
        command=(*_HYPERCORN, "--workers", "3", "asgi_app:app"),
        ways=_ASGI,
        server="hypercorn",
        workers=3,
    ),
    "hypercorn-trio": Kind(
        needs=("hypercorn", "trio"),
        command=(*_HYPERCORN, "-k", "trio", "asgi_app:app"),
        ways=_ASGI,
        server="hypercorn",
    ),
    "hypercorn-wsgi": Kind(
        needs=("hypercorn", "flask"),
        command=(*_HYPERCORN, "--workers", "2", "wsgi:wsgi_app:app"),
        ways=_WSGI,
        server="hypercorn",
        workers=2,
        reads_on=True,
    ),
    "gunicorn-sync": Kind(
        needs=("gunicorn", "flask"),
        command=(*_GUNICORN, "-w", "3", "wsgi_app:app"),
        ways=_WSGI,
        server="gunicorn",
        workers=3,
    ),
    "gunicorn-gthread": Kind(
        needs=("gunicorn", "flask"),
        command=(*_GUNICORN, "-w", "2", "--threads", "4", "--preload", "wsgi_app:app"),
        ways=_WSGI,
        server="gunicorn",
        workers=2,
    ),
    "gunicorn-gevent": Kind(
        needs=("gunicorn", "gevent", "flask"),
        command=(*_GUNICORN, "-w", "2", "-k", "gevent", "wsgi_app:app"),
        ways=("ask", "thread", "stream", "closing"),
        server="gunicorn",
        workers=2,
    ),
    "gunicorn-asgi": Kind(
        needs=("gunicorn.workers.gasgi",),
        command=(*_GUNICORN, "-w", "3", "-k", "asgi", "asgi_app:app"),
        ways=_ASGI,
        server="gunicorn",
        workers=3,
        sees_leaving=False,
    ),
    "gunicorn-uvicorn": Kind(
        needs=("gunicorn", "uvicorn_worker"),
        command=(*_GUNICORN, "-w", "2", "-k", "uvicorn_worker.UvicornWorker", "--preload", "asgi_app:app"),
        ways=_ASGI,
        server="uvicorn",
        workers=2,
    ),
    "gunicorn-aiohttp": Kind(
        needs=("gunicorn", "aiohttp"),
        command=(*_GUNICORN, "-w", "2", "-k", "aiohttp.GunicornWebWorker", "aiohttp_app:create"),
        ways=("ask", "sync", "stream", "lazy"),
        server="aiohttp.web",
        workers=2,
    ),
    "granian": Kind(
        needs=("granian",),
        command=(*_GRANIAN, "--interface", "asgi", "--workers", "3", "asgi_app:app"),
        ways=_ASGI,
        server="granian",
        workers=3,
        sees_leaving=False,
    ),
    "granian-wsgi": Kind(
        needs=("granian", "flask"),
        command=(*_GRANIAN, "--interface", "wsgi", "--workers", "2", "--blocking-threads", "2", "wsgi_app:app"),
        ways=_WSGI,
        server="granian",
        workers=2,
        sees_leaving=False,
    ),
    "granian-rsgi": Kind(
        needs=("granian",),
        command=(*_GRANIAN, "--interface", "rsgi", "--workers", "2", "rsgi_app:app"),
        ways=("ask", "stream"),
        server="granian",
        workers=2,
        sees_leaving=False,
    ),
    "werkzeug-threads": Kind(
        needs=("werkzeug", "flask"),
        command=("wsgi_app.py", "{port}", "threads"),
        ways=_WSGI,
        server="werkzeug",
    ),
    "werkzeug-processes": Kind(
        needs=("werkzeug", "flask"),
        command=("wsgi_app.py", "{port}", "processes"),
        ways=_WSGI,
        server="werkzeug",
        workers=3,
    ),
    "aiohttp": Kind(
        needs=("aiohttp",),
        command=("aiohttp_app.py", "{port}"),
        ways=("ask", "sync", "stream", "lazy"),
        server="aiohttp.web",
    ),
    "django": Kind(
        needs=("django",),
        command=("django_app.py", "runserver", "127.0.0.1:{port}", "--noreload"),
        ways=("ask", "stream"),
        server="wsgiref",
        sees_leaving=False,
    ),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    """One of them, where its packages are installed."""
    found = KINDS[request.param]
    for name in found.needs:
        pytest.importorskip(name, reason=f"{name} is not installed")
    return found


def _jobs(kind: Kind, *owners: Scope) -> list[tuple[str, str, Scope | None]]:
    """Every way, and one question of all tests four times over, for each of the tests."""
    each = [*((way, way) for way in kind.ways), *[("ask", "the same")] * 4]
    return [(way, say, whose) for way, say in each for whose in owners]


def test_ids_are_carried_for_two_tests_at_once(kind: Kind, serve: Serve, provider: ChatProvider) -> None:
    one, other, early = _owner("one"), _owner("other"), _owner("early")
    jobs = _jobs(kind, one, other)
    provider.parts = PARTS if kind.reads_on else MANY_PARTS
    with serve(Mode.RECORD, *kind.command) as served:
        recorded = served.at_once(jobs)
        served.leave_early(early)
        for whose in (one, other, early):
            # What a request does after its answer belongs to it, too.
            served.wait_until(lambda whose=whose: _is_over(served, whose))  # type: ignore[misc]
        _check_recorded(kind, served, one, other)
        (left,) = served.kept(early)
        assert left["response"]["complete"] == kind.reads_on
        assert (len(left["response"]["events"]) < provider.parts) != kind.reads_on
        nobody = served.get("ask", "nobody", None)
        pids = {pid for pid, mark in served.marks().items() if mark.get("server") == kind.server}
        answered = {served.get("health", "", None).json()["pid"] for _ in range(4)}
        assert answered <= set(served.marks()), "whoever answers has left a mark"
        for whose in (one, other, early):
            served.store.promote(whose, replace=True)
    assert nobody.status_code in (424, 500), "a request of nobody's, which calls a provider"
    assert "nobody" not in provider.asked
    assert pids, f"no mark of {kind.server}"

    asked = len(provider.asked)
    with serve(Mode.REPLAY, *kind.command) as served:
        replayed = served.at_once(jobs)
        served.leave_early(early)
        for whose in (one, other, early):
            served.wait_until(lambda whose=whose: _is_over(served, whose))  # type: ignore[misc]
        missed = served.get("ask", "something else", one)
        assert missed.status_code != 200
        messages = [miss["message"] for miss in served.lines("misses")]
        assert [text for text in messages if 'sent "something else"' in text] == messages[-1:]
        if kind.sees_leaving:
            assert len(messages) == 1, "what the client did not read is missed by nobody"
    assert _by_question(jobs, replayed) == _by_question(jobs, recorded)
    assert len(provider.asked) == asked


def _owner(name: str) -> Scope:
    full = f"tests/integration/test_served.py::{name}"
    return Scope(name=full, test_id=full)


def _is_over(served: Served, whose: Scope) -> bool:
    return not served.ledger.wait_for_serving(whose, 0) and not served.ledger.calls_in_flight(whose)


def _check_recorded(kind: Kind, served: Served, *owners: Scope) -> None:
    """Each test has what it has asked, and nothing else; calls of other processes are among it where there are any."""
    for whose in owners:
        said = sorted(content["request"]["body"]["json"]["messages"][0]["content"] for content in served.kept(whose))
        assert said == sorted([*kind.ways, *["the same"] * 4])
        assert all(content["response"]["complete"] for content in served.kept(whose))
    assert served.lines("misses") == []


def _by_question(jobs: list[tuple[str, str, Scope | None]], answers: list[str]) -> dict[str, list[str]]:
    """Equal questions may be answered in any order, where several processes answer them."""
    found: dict[str, list[str]] = {}
    for (way, say, whose), answer in zip(jobs, answers, strict=True):
        found.setdefault(json.dumps([way, say, whose and whose.name]), []).append(answer)
    return {question: sorted(given) for question, given in found.items()}
