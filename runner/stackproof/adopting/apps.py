"""Where an application is made, or a function that makes one, and from which folder its module is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from stackproof.adopting.found import App, Framework
from stackproof.adopting.source import FunctionNode, Source

_MADE_BY = {
    "fastapi.FastAPI": Framework.FASTAPI,
    "fastapi.applications.FastAPI": Framework.FASTAPI,
    "starlette.applications.Starlette": Framework.STARLETTE,
    "litestar.Litestar": Framework.LITESTAR,
    "litestar.app.Litestar": Framework.LITESTAR,
    "quart.Quart": Framework.QUART,
    "flask.Flask": Framework.FLASK,
    "aiohttp.web.Application": Framework.AIOHTTP,
    "django.core.asgi.get_asgi_application": Framework.DJANGO,
}
# Folders whose applications are made for something else; the last resort.
_ASIDE = frozenset({"benchmarks", "demo", "demos", "doc", "docs", "example", "examples", "scripts", "test", "tests"})
_LIKELY = ("asgi", "main", "app", "application", "server", "api", "wsgi", "__init__")


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """What tells from where a module is imported. files: all paths. tops: first words of all imports. started:
    `module:name` that files start a server with.
    """

    files: frozenset[str]
    tops: frozenset[str]
    started: frozenset[str]

    @classmethod
    def of(cls, sources: Iterable[Source], started: Iterable[str]) -> Layout:
        """Of a whole project."""
        sources = list(sources)
        return cls(
            files=frozenset(source.path for source in sources),
            tops=frozenset(part.partition(".")[0] for source in sources for part in source.imports),
            started=frozenset(started),
        )


def find(sources: Iterable[Source], layout: Layout) -> tuple[App, ...]:
    """All of them, the likeliest first."""
    found = [app for source in sources for app in _of_file(source, layout)]
    order = sorted(found, key=_rank)
    best: dict[str, App] = {}
    for app in order:
        best.setdefault(app.place, app)
    return tuple(best.values())


def started_in(sources: Iterable[Source]) -> Iterator[str]:
    """`module:name` that Python files start uvicorn with: `uvicorn.run("shop.main:app")`."""
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Call) and node.args and source.dotted(node.func) == "uvicorn.run":
                place = source.value(node.args[0]).text
                if place is not None and ":" in place:
                    yield place


def _rank(app: App) -> tuple[object, ...]:
    path = PurePosixPath(app.path)
    aside = not _ASIDE.isdisjoint(path.parts[:-1]) or path.name.startswith("test_")
    likely = _LIKELY.index(path.stem) if path.stem in _LIKELY else len(_LIKELY)
    asgi = app.framework is not Framework.AIOHTTP
    usual = app.name not in ("app", "application", "create_app", "make_app", "get_app")
    return (not app.named, aside, not asgi, len(path.parts), likely, app.factory, usual, app.path, app.name)


def _of_file(source: Source, layout: Layout) -> Iterator[App]:
    made = {name: kind for name, value in source.constants.items() if (kind := _kind(source, value)) is not None}
    makers = {
        name: kind
        for name, function in source.functions.items()
        if function in source.tree.body
        and _needs_nothing(function)
        and (kind := _returned(source, function)) is not None
    }
    # `app = create_app()`: the application is there, and is what servers are started with.
    for name, value in source.constants.items():
        if isinstance(value, ast.Call) and source.dotted(value.func) in makers:
            made[name] = makers[source.dotted(value.func)]
    for name, kind in [*made.items(), *makers.items()]:
        root, module = imported_from(source, layout, name)
        if module is None:
            continue
        function = None if name in made else source.functions[name]
        yield App(
            framework=kind,
            module=module,
            name=name,
            path=source.path,
            root=root,
            factory=function is not None,
            coroutine=isinstance(function, ast.AsyncFunctionDef),
            named=f"{module}:{name}" in layout.started,
        )


def _kind(source: Source, value: ast.expr) -> Framework | None:
    match value:
        case ast.Call(func=func):
            return _MADE_BY.get(source.dotted(func))
        case _:
            return None


def _returned(source: Source, function: FunctionNode) -> Framework | None:
    """What a function makes and returns, if that is an application."""
    local = {
        target.id: kind
        for node in ast.walk(function)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and (kind := _kind(source, node.value)) is not None
    }
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            kind = local.get(node.value.id) if isinstance(node.value, ast.Name) else _kind(source, node.value)
            if kind is not None:
                return kind
    return None


def _needs_nothing(function: FunctionNode) -> bool:
    arguments = function.args
    required = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    return required <= 0 and all(default is not None for default in arguments.kw_defaults)


def imported_from(source: Source, layout: Layout, name: str) -> tuple[str, str | None]:
    """The folder that is put on the import path, and the module's name from there; None where it has no such name."""
    parts = [*PurePosixPath(source.path).parts[:-1]]
    stem = PurePosixPath(source.path).stem
    tail = [] if stem == "__init__" else [stem]
    choices: list[tuple[str, str]] = []
    for cut in range(len(parts) + 1):
        words = [*parts[cut:], *tail]
        if words and all(word.isidentifier() for word in words):
            choices.append(("/".join(parts[:cut]) or ".", ".".join(words)))
    if not choices:
        return ".", None
    for root, module in choices:
        if f"{module}:{name}" in layout.started:
            return root, module
    package = list(parts)
    while package and "/".join([*package, "__init__.py"]) in layout.files:
        package.pop()
    top = "/".join(package) or "."
    if package != parts:  # in a package: it is imported from where that begins
        return next((choice for choice in choices if choice[0] == top), choices[-1])
    if parts and parts[0] == "src":
        return next((choice for choice in choices if choice[0] == "src"), choices[-1])
    beside = {PurePosixPath(each).stem for each in layout.files if PurePosixPath(each).parts[:-1] == tuple(parts)}
    relative = any(each.startswith(".") for each in source.imports)
    own = {each.partition(".")[0] for each in source.imports} & (beside - {stem})
    if own and not relative:
        return choices[-1]
    # A folder without __init__.py can be imported as well, and in most projects is, from the root.
    named = [choice for choice in choices if choice[1].partition(".")[0] in layout.tops]
    return (named or choices)[0]
