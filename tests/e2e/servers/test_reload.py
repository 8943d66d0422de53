"""Servers that start the application anew when its file changes: the recorder and the ids are in each new one."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

import httpx2
import pytest

from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope

if TYPE_CHECKING:
    from tests.e2e.servers.conftest import Serve, Served

LONGEST = 180.0
_WAYS = {
    "uvicorn": (("uvicorn",), "-m uvicorn asgi_app:app --port {port} --reload", "asgi_app.py"),
    "hypercorn": (("hypercorn",), "-m hypercorn -b 127.0.0.1:{port} --reload asgi_app:app", "asgi_app.py"),
    "granian": (
        ("granian", "watchfiles"),
        "-m granian --port {port} --interface asgi --reload asgi_app:app",
        "asgi_app.py",
    ),
    "gunicorn": (
        ("gunicorn", "flask"),
        "-m gunicorn -b 127.0.0.1:{port} --reload wsgi_app:app",
        "wsgi_app.py",
    ),
    "werkzeug": (("werkzeug", "flask"), "wsgi_app.py {port} reload", "wsgi_app.py"),
    "flask": (("flask",), "-m flask --app wsgi_app run --port {port} --debug", "wsgi_app.py"),
    "django": (("django",), "django_app.py runserver 127.0.0.1:{port}", "django_app.py"),
}


def _version(served: Served) -> str | None:
    with contextlib.suppress(httpx2.HTTPError):
        answer = served.get("health", "", None)
        if answer.status_code == 200:
            return str(answer.json()["version"])
    return None


def _wait_for(version: str, served: Served, app: str) -> None:
    """Until it is served. A file that changed before its server looked at it for the first time is changed again."""
    deadline, again = time.monotonic() + LONGEST, time.monotonic() + 15
    while (seen := _version(served)) != version:
        assert time.monotonic() < deadline, served.log.read_text()
        if seen is not None and time.monotonic() > again:
            served.change(app, version, version)
            again = time.monotonic() + 15
        time.sleep(0.05)


@pytest.mark.parametrize("way", _WAYS)
def test_a_reloaded_application_has_the_recorder_and_the_ids(serve: Serve, way: str) -> None:
    needs, command, app = _WAYS[way]
    for name in needs:
        pytest.importorskip(name, reason=f"{name} is not installed")
    with serve(Mode.RECORD, *command.split()) as served:
        for version in ("first", "second"):
            if version == "second":
                served.change(app, 'VERSION = "first"', 'VERSION = "second"')
            _wait_for(version, served, app)
            name = f"tests/integration/test_reload.py::{version}"
            whose = Scope(name=name, test_id=name)
            assert served.get("ask", version, whose).status_code == 200, served.log.read_text()
            (content,) = served.kept(whose)
            assert content["request"]["body"]["json"]["messages"][0]["content"] == version
            assert served.get("ask", "nobody", None).status_code != 200
        assert {miss["kind"] for miss in served.lines("misses")} == {"no-scope"}
