"""What is asked of whoever runs `stackproof init`, and what is taken where nobody answers."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from stackproof.adopting.found import App, CiSystem, Found, Framework
from stackproof.errors import UsageError

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,38}[A-Za-z0-9_-])?")
_PLACE = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_]\w*)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Wishes:
    """name: of the stack and the suite. app: what is started, None for a plain library. setup: None lets the files be
    read for it. tests: the folder of the new tests. requirement: what pip is given to install Stackproof.
    """

    name: str
    app: App | None
    setup: str | None
    ci: CiSystem
    tests: str
    requirement: str


def usual(found: Found, requirement: str) -> Wishes:
    """What is taken where nobody says anything else."""
    return Wishes(
        name=found.name,
        app=found.apps[0] if found.apps else None,
        setup=None,
        ci=found.ci[0] if found.ci else CiSystem.NONE,
        tests=_tests(found, found.name),
        requirement=requirement,
    )


def _tests(found: Found, name: str) -> str:
    """Below a root of their own: whatever lies below that is ours to run, in a replay."""
    usual = f"tests/integration/{name}"
    others = [path for path in found.test_paths if path.startswith("tests/integration/")]
    return usual if all(path.startswith(f"{usual}/") for path in others) else f"tests/stackproof/{name}"


def with_name(wishes: Wishes, found: Found, name: str) -> Wishes:
    """Another name, and the tests in a folder of that name. UsageError for one that no stack can have."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"--name: {name!r} cannot be a stack's name",
            hint="letters, digits, '.', '_' and '-', at most 40, as in --name support-desk",
        )
    return replace(wishes, name=name, tests=_tests(found, name))


def with_app(wishes: Wishes, found: Found, place: str) -> Wishes:
    """The application that `place` names, found or not; `none` for a plain library. UsageError where it is no place."""
    if place == "none":
        return replace(wishes, app=None)
    for app in found.apps:
        if app.place == place:
            return replace(wishes, app=app)
    words = _PLACE.fullmatch(place)
    if words is None:
        known = ", ".join(app.place for app in found.apps)
        raise UsageError(
            f"--app: {place!r} is not written module:name",
            hint=f"found here: {known}" if known else "for example --app shop.main:app, or --app none for a library",
        )
    framework = found.framework if found.framework not in (Framework.NONE, Framework.NODE) else Framework.STARLETTE
    app = App(framework=framework, module=words[1], name=words[2], path=f"{words[1].replace('.', '/')}.py")
    return replace(wishes, app=app)


def chosen(wishes: Wishes, *, setup: str | None, ci: str | None) -> Wishes:
    """Another setup or CI system, where one is named."""
    return replace(wishes, setup=setup or wishes.setup, ci=CiSystem(ci) if ci else wishes.ci)
