"""How an application is started: the part of stack.yaml that differs from one framework to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stackproof.adopting.found import App, Found, Framework, Route
from stackproof.catalog.records import StackMode

NOBODY_HAS = "/stackproof-asks-whether-you-are-there"
_HEALTH = ("health", "ready", "live", "ping", "status", "up")
_STANDARD = frozenset({"uvicorn", "uvicorn[standard]", "fastapi[standard]", "fastapi[all]", "fastapi-cli"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Readiness:
    """What GET answers once the server is up."""

    path: str
    status: int = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """modes: the first is what a run takes by itself. needs: modules that have to be there to start it."""

    modes: tuple[StackMode, ...]
    app: str | None = None
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    readiness: Readiness | None = None
    needs: tuple[str, ...] = ()
    edge: bool = False

    @property
    def usual(self) -> StackMode:
        """`server` where it can, since that is what is shipped."""
        return StackMode.SERVER if StackMode.SERVER in self.modes else self.modes[0]


def how(found: Found, app: App | None) -> Start:
    """Of the application that was chosen; of a plain library where that is None."""
    if app is None:
        if found.framework is Framework.NODE and found.node is not None:
            return _node(found.node.command)
        return Start(modes=(StackMode.LIBRARY,))
    ready = readiness(found.routes, app.framework)
    if app.framework.asgi:
        server, command = _asgi_server(found, app)
        here = app.place if not app.coroutine else None
        modes = (StackMode.SERVER,) if here is None else (StackMode.LIBRARY, StackMode.SERVER)
        needs = (_MODULES[app.framework], server)
        return Start(modes=modes, app=here, command=command, readiness=ready, needs=needs)
    command = _flask(app) if app.framework is Framework.FLASK else _aiohttp(app)
    return Start(modes=(StackMode.SERVER,), command=command, readiness=ready, needs=(_MODULES[app.framework],))


def _flask(app: App) -> tuple[str, ...]:
    return ("{python}", "-m", "flask", "--app", app.place, "run", "--host", "{host}", "--port", "{port}")


def _aiohttp(app: App) -> tuple[str, ...]:
    made = f"{app.name}()" if app.factory else app.name
    code = f"from aiohttp import web; from {app.module} import {app.name}; "
    return ("{python}", "-c", f"{code}web.run_app({made}, host='{{host}}', port={{port}})")


_MODULES = {
    Framework.FASTAPI: "fastapi",
    Framework.STARLETTE: "starlette",
    Framework.LITESTAR: "litestar",
    Framework.QUART: "quart",
    Framework.DJANGO: "django",
    Framework.FLASK: "flask",
    Framework.AIOHTTP: "aiohttp",
}


def _asgi_server(found: Found, app: App) -> tuple[str, tuple[str, ...]]:
    """The server that the project asks for; uvicorn where it asks for none."""
    address = ("--host", "{host}", "--port", "{port}")
    factory = ("--factory",) if app.factory else ()
    if _STANDARD.isdisjoint(found.packages):
        if "hypercorn" in found.packages and not app.factory:
            return "hypercorn", ("{python}", "-m", "hypercorn", app.place, "--bind", "{host}:{port}")
        if "granian" in found.packages:
            return "granian", ("{python}", "-m", "granian", "--interface", "asgi", *factory, app.place, *address)
    return "uvicorn", ("{python}", "-m", "uvicorn", *factory, app.place, *address)


def readiness(routes: tuple[Route, ...], framework: Framework) -> Readiness:
    """A route that says how it is; else one that is always there; else the answer to a path that nobody has."""
    plain = [
        each for each in routes if each.method == "GET" and not each.asks and each.complete and "?" not in each.path
    ]
    for word in _HEALTH:
        for route in plain:
            if word in route.path.rpartition("/")[2].lower():
                return Readiness(path=route.path)
    if framework is Framework.FASTAPI:
        return Readiness(path="/openapi.json")
    return Readiness(path=NOBODY_HAS, status=404)


def _node(command: tuple[str, ...]) -> Start:
    return Start(
        modes=(StackMode.SERVER,),
        command=command or ("node", "server.js"),
        env={"PORT": "{port}", "HOST": "{host}"},
        readiness=Readiness(path=NOBODY_HAS, status=404),
        edge=True,
    )
