"""Which functions of a project ask a model: themselves, or through another function of the project."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from stackproof.adopting import sdks
from stackproof.adopting.found import Function
from stackproof.adopting.source import FunctionNode, Source

# Names of too many things to follow them from one file to the next.
_COMMON = frozenset(
    {"get", "post", "put", "run", "main", "call", "close", "start", "read", "write", "__init__", "setup"}
)


def asking(sources: Iterable[Source]) -> frozenset[str]:
    """Names of functions and methods, wherever they are."""
    calls: dict[str, set[str]] = {}
    found: set[str] = set()
    for source in sources:
        for node in ast.walk(source.tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            called = {source.dotted(each.func) for each in ast.walk(node) if isinstance(each, ast.Call)}
            if any(_asks(name) for name in called):
                found.add(node.name)
            calls.setdefault(node.name, set()).update(name.rpartition(".")[2] for name in called)
    found -= _COMMON
    while more := {name for name, called in calls.items() if name not in found | _COMMON and called & found}:
        found |= more
    return frozenset(found)


def _asks(name: str) -> bool:
    return any(name == words or name.endswith(f".{words}") for words in sdks.ASKS)


def module_of(name: str) -> str | None:
    """The known module that `name` is, or is below."""
    return next((module for module in sdks.MODULES if name == module or name.startswith(f"{module}.")), None)


def callable_ones(source: Source, asked: frozenset[str], module: str, root: str) -> list[Function]:
    """Functions of a module that a test can call with nothing or with one text, and that ask a model."""
    found = []
    for node in source.tree.body:
        if (
            not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            or node.name not in asked
            or node.name.startswith("_")
        ):
            continue
        wanted = _wanted(node)
        if node.name == "main" or node.decorator_list or wanted is None or len(wanted) > 1:
            continue
        if wanted and not _is_text(wanted[0], source):
            continue
        found.append(
            Function(
                module=module,
                name=node.name,
                root=root,
                text=bool(wanted),
                coroutine=isinstance(node, ast.AsyncFunctionDef),
            )
        )
    return found


def _wanted(node: FunctionNode) -> list[ast.arg] | None:
    """Arguments without a default; None where one can only be given by name."""
    arguments = node.args
    if any(default is None for default in arguments.kw_defaults):
        return None
    plain = [*arguments.posonlyargs, *arguments.args]
    return plain[: len(plain) - len(arguments.defaults)]


def _is_text(argument: ast.arg, source: Source) -> bool:
    return argument.annotation is None or source.dotted(argument.annotation) == "str"
