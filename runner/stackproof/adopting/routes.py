"""The requests that an application answers, each with an example where one can be made."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from stackproof.adopting import examples
from stackproof.adopting.found import Route
from stackproof.adopting.source import FunctionNode, Source

_METHODS = ("get", "post", "put", "patch", "delete")
_GIVEN = frozenset({"Request", "Response", "BackgroundTasks", "WebSocket", "HttpRequest", "HTTPConnection", "State"})
_CANNOT = ("Header", "File", "Form", "Cookie", "Security", "UploadFile", "OAuth2PasswordRequestForm")
_PARAMETER = re.compile(r"[{<](?:\w+:)?(\w+)(?::\w+)?[}>]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """All of its files together. asked: functions that ask a model. prefixes: of routers, by `stem.name`."""

    asked: frozenset[str]
    classes: Mapping[str, tuple[Source, ast.ClassDef]]
    functions: Mapping[str, tuple[Source, FunctionNode]]
    prefixes: Mapping[str, str]


def find(sources: Iterable[Source], asked: frozenset[str]) -> tuple[Route, ...]:
    """All routes, those that ask a model first, and of these the ones that an example could be made for."""
    sources = list(sources)
    classes: dict[str, tuple[Source, ast.ClassDef]] = {}
    for source in sources:
        for name, node in source.classes.items():
            classes.setdefault(name, (source, node))
    functions: dict[str, tuple[Source, FunctionNode]] = {}
    for source in sources:
        for name, function in source.functions.items():
            functions.setdefault(name, (source, function))
    project = Project(asked=asked, classes=classes, functions=functions, prefixes=_included(sources))
    found = [route for source in sources for route in _of_file(source, project)]
    order = sorted(
        found, key=lambda route: (not route.asks, not route.complete, route.method != "POST", len(route.path))
    )
    return tuple({(route.method, route.path): route for route in reversed(order)}.values())[::-1]


def _of_file(source: Source, project: Project) -> Iterator[Route]:
    for function in source.functions.values():
        for decorator in function.decorator_list:
            for method, path, owner in _decorated(source, decorator):
                yield _route(source, function, method, _prefix(source, owner, project.prefixes) + path, project)
    for node in ast.walk(source.tree):
        for method, path, name in _listed(source, node):
            if name in project.functions:
                where, function = project.functions[name]
                yield _route(where, function, method, path, project)


def _decorated(source: Source, node: ast.expr) -> Iterator[tuple[str, str, str]]:
    """Method, path and the name of the router of a decorator."""
    if not isinstance(node, ast.Call) or not node.args:
        return
    first = node.args[0]
    if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        return
    name = source.dotted(node.func)
    owner, _, word = name.rpartition(".")
    if owner == "litestar" and word in _METHODS:
        yield word.upper(), first.value if first.value.startswith("/") else f"/{first.value}", ""
        return
    if not isinstance(node.func, ast.Attribute) or not (first.value.startswith("/") or first.value == ""):
        return
    if word in _METHODS:
        yield word.upper(), first.value, owner
    elif word in ("route", "api_route"):
        for method in _listed_methods(node) or ["GET"]:
            yield method, first.value, owner


def _listed_methods(node: ast.Call) -> list[str]:
    for word in node.keywords:
        if word.arg == "methods" and isinstance(word.value, ast.List | ast.Tuple | ast.Set):
            return [str(each.value).upper() for each in word.value.elts if isinstance(each, ast.Constant)]
    return []


def _listed(source: Source, node: ast.AST) -> Iterator[tuple[str, str, str]]:
    """`Route("/ask", ask, methods=["POST"])`, `web.post("/ask", ask)`, `path("ask/", views.ask)`."""
    if not isinstance(node, ast.Call) or len(node.args) < 2:
        return
    first, second = node.args[:2]
    if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        return
    function = source.dotted(second).rpartition(".")[2]
    name = source.dotted(node.func)
    word = name.rpartition(".")[2]
    if name.startswith("starlette.routing") and word == "Route":
        for method in _listed_methods(node) or ["GET"]:
            yield method, first.value, function
    elif word.removeprefix("add_") in _METHODS and (name.startswith("aiohttp.web") or word.startswith("add_")):
        yield word.removeprefix("add_").upper(), first.value, function
    elif name in ("django.urls.path", "django.urls.re_path") and not first.value.startswith("^"):
        yield "", f"/{first.value}", function


def _included(sources: list[Source]) -> dict[str, str]:
    """Prefixes of routers: those that they are made with and those that they are included with, by `stem.name`."""
    found: dict[str, str] = {}
    for source in sources:
        stem = PurePosixPath(source.path).stem
        for name, value in source.constants.items():
            if isinstance(value, ast.Call) and (prefix := _keyword(value, "prefix", "url_prefix")):
                found[f"{stem}.{name}"] = prefix
    for source in sources:
        stem = PurePosixPath(source.path).stem
        for node in ast.walk(source.tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
                continue
            if node.func.attr in ("include_router", "register_blueprint"):
                place = source.dotted(node.args[0])
                key = ".".join(place.rsplit(".", 2)[-2:]) if "." in place else f"{stem}.{place}"
                prefix = _keyword(node, "prefix", "url_prefix")
                if prefix and node.func.attr == "include_router":
                    found[key] = prefix + found.get(key, "")
                elif prefix:
                    found[key] = prefix
    return found


def _keyword(node: ast.Call, *names: str) -> str:
    for word in node.keywords:
        if word.arg in names and isinstance(word.value, ast.Constant) and isinstance(word.value.value, str):
            return word.value.value
    return ""


def _prefix(source: Source, owner: str, prefixes: Mapping[str, str]) -> str:
    return prefixes.get(f"{PurePosixPath(source.path).stem}.{owner}", "") if owner else ""


def _route(source: Source, function: FunctionNode, method: str, path: str, project: Project) -> Route:
    text, body, complete = _PARAMETER.sub("1", path) or "/", None, True
    try:
        body, query = _body(source, function, set(_PARAMETER.findall(path)), project.classes)
        if query:
            text = f"{text}?{'&'.join(query)}"
    except examples.UnknownShape:
        complete = False
    if not method:
        method = "POST" if body is not None else "GET"
    if any(source.dotted(each).endswith("login_required") for each in function.decorator_list):
        complete = False
    return Route(
        method=method,
        path=text,
        function=function.name,
        body=body,
        asks=function.name in project.asked,
        complete=complete,
    )


def _body(
    source: Source, function: FunctionNode, in_path: set[str], classes: Mapping[str, tuple[Source, ast.ClassDef]]
) -> tuple[object, list[str]]:
    arguments = function.args
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(arguments.defaults)) + list(arguments.defaults)
    named = list(zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True))
    bodies: dict[str, object] = {}
    query: list[str] = []
    given: list[str] = []
    for argument, default in [*zip(plain, defaults, strict=True), *named]:
        written = "" if argument.annotation is None else ast.unparse(argument.annotation)
        told = f"{written} " + ("" if default is None else ast.unparse(default))
        if any(re.search(rf"\b{word}\b", told) for word in _CANNOT):
            raise examples.UnknownShape
        if argument.arg in in_path or argument.arg in ("self", "cls") or "Depends(" in told:
            continue
        if written.rpartition(".")[2] in _GIVEN or (not written and argument.arg in ("request", "req", "_")):
            given.append(argument.arg)
            continue
        if default is not None and not _asks_for(default):
            continue
        if argument.annotation is None and default is None:
            continue  # something that a framework hands in
        value = examples.of(argument.annotation, argument.arg, source, classes)
        if isinstance(value, dict) and not value:
            value = examples.read_of(function, {argument.arg}) or {}
        if isinstance(value, dict | list) or "Body(" in told:
            bodies[argument.arg] = value
        else:
            query.append(f"{argument.arg}={_quoted(value)}")
    if bodies:
        whole = (
            next(iter(bodies.values()))
            if len(bodies) == 1 and isinstance(next(iter(bodies.values())), dict)
            else bodies
        )
        return whole, query
    return _read_from(function, given), query


def _asks_for(default: ast.expr) -> bool:
    return (isinstance(default, ast.Constant) and default.value is ...) or (
        isinstance(default, ast.Call)
        and bool(re.match(r"(\w+\.)?(Body|Query)\(\s*(\.\.\.|\)|embed)", ast.unparse(default)))
    )


def _read_from(function: FunctionNode, given: list[str]) -> dict[str, object] | None:
    """What a function takes out of a request's JSON: `data = await request.json()` and then `data["text"]`."""
    names: set[str] = set()
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        written = ast.unparse(node.value)
        if re.search(r"\brequest\.(json\b|get_json\()|json\.loads\(", written) or any(
            f"{name}.json()" in written for name in given
        ):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(target.id for target in targets if isinstance(target, ast.Name))
    found = examples.read_of(function, names) if names else None
    for match in re.finditer(
        r"request\.(?:json|get_json\([^)]*\))(?:\[|\.get\()['\"](\w+)['\"]", ast.unparse(function)
    ):
        found = {**(found or {}), match[1]: examples.TEXT}
    return found


def _quoted(value: object) -> str:
    from urllib.parse import quote  # noqa: PLC0415 - rarely needed

    return quote(str(value).lower() if isinstance(value, bool) else str(value))
