"""How a project's packages and Stackproof get into an environment: of nox, of a CI job, by what the project uses."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import assert_never

from stackproof.adopting.found import Found, Framework, Manager
from stackproof.adopting.starting import Start
from stackproof.adopting.wishes import Wishes

LEAST = (3, 11)
_TESTING = ("test", "tests", "testing", "dev")
# Where a module's distribution has another name.
_DISTRIBUTIONS = {
    "google.genai": "google-genai",
    "agents": "openai-agents",
    "tavily": "tavily-python",
    "cerebras": "cerebras-cloud-sdk",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Installs:
    """ci: shell lines. runner: what stands before `stackproof` in one. nox: arguments of `session.install`, as Python.

    nox_more: what stands behind Stackproof there.
    """

    ci: tuple[str, ...]
    runner: str
    nox: tuple[str, ...]
    nox_more: str


def of(found: Found, wishes: Wishes, start: Start, *, http: bool) -> Installs:
    """http: the tests use `http_client`, which needs httpx2."""
    more = ["httpx2"] if http and found.framework is not Framework.NODE else []
    has_us = "stackproof" in found.packages
    wanted = [*([] if has_us else [wishes.requirement]), *more]
    words = _pip_words(found, start)
    nox = tuple(", ".join(f'"{word}"' for word in line) for line in words)
    nox_more = "".join(f', "{name}"' for name in more)
    pip = "python -m pip install"
    shown = [f"{pip} {' '.join(map(shlex.quote, line))}" for line in words]
    extra = " ".join(map(shlex.quote, wanted))
    match found.manager:
        case Manager.PIP:
            lines = [*shown, *([f"{pip} {extra}"] if wanted else [])]
            runner = ""
        case Manager.UV:
            lines = [f"{pip} uv", "uv sync"]
            runner = " ".join(["uv run", *(f"--with {shlex.quote(each)}" for each in wanted), ""])
        case Manager.POETRY:
            lines = [f"{pip} poetry", "poetry install", *([f"poetry run pip install {extra}"] if wanted else [])]
            runner = "poetry run "
        case Manager.PDM:
            ours = ["pdm run python -m ensurepip", f"pdm run python -m pip install {extra}"] if wanted else []
            lines = [f"{pip} pdm", "pdm install", *ours]
            runner = "pdm run "
        case _:
            assert_never(found.manager)
    if found.framework is Framework.NODE:
        lines = ["npm ci", *lines]
    return Installs(ci=tuple(lines), runner=runner, nox=nox, nox_more=nox_more)


def _pip_words(found: Found, start: Start) -> list[list[str]]:
    """What pip is given for the project itself, a line each."""
    named = sorted(filter(_wanted, found.requirements), key=lambda name: (len(name), name))
    lines = [["-r", name] for name in named]
    if found.installable:
        extra = next((name for name in _TESTING if found.extras.get(name) == "extra"), None)
        lines.append(["-e", f".[{extra}]" if extra else "."])
    if not lines and found.framework is not Framework.NODE:
        names = [
            *start.needs,
            *(distribution(client.sdk) for client in found.clients),
        ]
        lines = [list(dict.fromkeys(names))] if names else []
    return lines


def distribution(module: str) -> str:
    """What pip calls the package that brings a module."""
    return _DISTRIBUTIONS.get(module, module.replace("_", "-"))


def _wanted(name: str) -> bool:
    stem = name.rpartition("/")[2].removesuffix(".txt").removeprefix("requirements").strip("-_.")
    return stem in ("", "base", "prod", "main", *_TESTING)


_ADD = {
    Manager.UV: "uv add --dev",
    Manager.POETRY: "poetry add --group dev",
    Manager.PDM: "pdm add --dev",
}
RUNNERS = {Manager.PIP: "", Manager.UV: "uv run ", Manager.POETRY: "poetry run ", Manager.PDM: "pdm run "}


def at_home(found: Found, wishes: Wishes, start: Start, missing: tuple[str, ...]) -> tuple[str, ...]:
    """Commands that bring Stackproof, and what it needs there, into the environment of the software itself.

    missing: modules that the Python of this command lacks; () where it is that environment already.
    """
    if found.manager is not Manager.PIP:
        wanted = [each for each in (wishes.requirement, *missing) if _name(each) not in found.packages]
        return (f"{_ADD[found.manager]} {' '.join(map(shlex.quote, wanted))}",) if wanted else ()
    if not missing:
        return ()
    lines = _pip_words(found, start)
    if set(missing) <= {"httpx2", "uvicorn"}:
        told, wanted = [], list(missing)
    else:  # this is another environment
        brought = {*found.packages, *(word for line in lines for word in line)}
        told, wanted = lines, [wishes.requirement, *(each for each in missing if each not in brought)]
    return tuple(f"python -m pip install {' '.join(map(shlex.quote, line))}" for line in [*told, wanted])


def _name(requirement: str) -> str:
    return re.split(r"[\s@<>=!~\[;]", requirement, maxsplit=1)[0].lower()


def python_for(wanted: str | None, usual: str) -> str:
    """The oldest Python that the project and Stackproof both run on, as far as the project says one; else `usual`."""
    found = re.search(r"(?:>=|\^|~=?|==)?\s*3\.(\d+)", wanted or "")
    if found is None:
        return usual
    return f"3.{max(int(found[1]), LEAST[1])}"
