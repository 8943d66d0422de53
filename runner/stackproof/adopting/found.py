"""What there is in somebody's repository, as far as files tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Framework(StrEnum):
    """What serves HTTP; NONE: nothing that is known, so that it is taken for a library."""

    FASTAPI = "FastAPI"
    STARLETTE = "Starlette"
    LITESTAR = "Litestar"
    QUART = "Quart"
    DJANGO = "Django"
    FLASK = "Flask"
    AIOHTTP = "aiohttp"
    NODE = "Node.js"
    NONE = "none"

    @property
    def asgi(self) -> bool:
        """Whether its application can be called in the process of the tests."""
        return self in (
            Framework.FASTAPI,
            Framework.STARLETTE,
            Framework.LITESTAR,
            Framework.QUART,
            Framework.DJANGO,
        )


class Manager(StrEnum):
    """What installs the project's packages."""

    PIP = "pip"
    UV = "uv"
    POETRY = "poetry"
    PDM = "pdm"


class CiSystem(StrEnum):
    """Where its changes are tested."""

    GITHUB = "github"
    GITLAB = "gitlab"
    NONE = "none"


@dataclass(frozen=True, kw_only=True, slots=True)
class App:
    """An application, or a function that makes one. root: the folder to import `module` from, relative, `.` for the
    project's own. coroutine: the function has to be awaited. named: a file says that a server is started with it.
    """

    framework: Framework
    module: str
    name: str
    path: str
    root: str = "."
    factory: bool = False
    coroutine: bool = False
    named: bool = False

    @property
    def place(self) -> str:
        """`module:name`, as servers and stack.yaml have it."""
        return f"{self.module}:{self.name}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """One request that an application answers. body: an example, None where it takes none or nobody could tell.

    asks: what answers it calls a model. complete: everything that the request needs is in `path` and `body`.
    """

    method: str
    path: str
    function: str
    body: object = None
    asks: bool = False
    complete: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Function:
    """A function that calls a model and takes nothing, or one text (`text`), in a module that can be imported."""

    module: str
    name: str
    root: str
    text: bool
    coroutine: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Client:
    """An SDK that is used. provider: a name of `sdks.PROVIDERS`. url, key: variables that its code reads for them.

    literal: a URL that is written in the code, or the default of the variable. model: a model's name, in the code or
    the default of a variable.
    """

    provider: str
    sdk: str
    path: str
    url: str | None = None
    key: str | None = None
    literal: str | None = None
    model: str | None = None
    model_variable: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """All of it. `notes`: what could not be read or told, a sentence each.

    name: of the project, as a stack may be called. description: the project's own. python: `requires-python` or its
    like. packages: names that its files ask for, in lower case with `-`. requirements: requirement files. extras: of
    [project.optional-dependencies] and [dependency-groups], by which of the two it is. subfolder: where the project is
    in its Git repository, empty for its root, None where there is none. ignores: Git is told to leave out what Python
    leaves behind. tests: folder of its tests. file_pattern: what pytest takes for a file of tests. taken: paths of all
    Python files. keyed_tests: files of tests, with the variables that they name in capitals. runs_us: files of nox and
    CI that run Stackproof already. variables: names that its code reads.
    """

    name: str
    description: str | None = None
    framework: Framework = Framework.NONE
    apps: tuple[App, ...] = ()
    routes: tuple[Route, ...] = ()
    functions: tuple[Function, ...] = ()
    clients: tuple[Client, ...] = ()
    variables: tuple[str, ...] = ()
    manager: Manager = Manager.PIP
    installable: bool = False
    python: str | None = None
    packages: frozenset[str] = frozenset()
    requirements: tuple[str, ...] = ()
    extras: Mapping[str, str] = field(default_factory=dict)
    tests: str | None = None
    test_paths: tuple[str, ...] = ()
    keyed_tests: Mapping[str, frozenset[str]] = field(default_factory=dict)
    pytest: str | None = None
    file_pattern: tuple[str, ...] = ("test_*.py",)
    taken: tuple[str, ...] = ()
    stacks: tuple[str, ...] = ()
    ci: tuple[CiSystem, ...] = ()
    noxfile: bool = False
    runs_us: frozenset[str] = frozenset()
    nox_sessions: frozenset[str] = frozenset()
    dockerfiles: tuple[str, ...] = ()
    node: NodeProject | None = None
    subfolder: str | None = None
    ignores: bool = False
    python_files: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeProject:
    """A package.json. command: what starts its server, () where nobody could tell."""

    name: str | None
    packages: frozenset[str]
    command: tuple[str, ...]
    framework: str | None
