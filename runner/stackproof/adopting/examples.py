"""Example values for what a request needs: from annotations, from pydantic's models, from what a function reads."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from stackproof.adopting.source import FunctionNode, Source

TEXT = "Say hello in one short sentence."
_DEEPEST = 6
_WORDS: Mapping[str, object] = {
    "messages": [{"role": "user", "content": TEXT}],
    "history": [],
    "stream": False,
    "role": "user",
    "temperature": 0,
    "max_tokens": 32,
    "top_k": 3,
    "k": 3,
    "id": "first",
    "session_id": "first",
    "user_id": "first",
    "thread_id": "first",
    "conversation_id": "first",
    "language": "English",
}
_PLAIN: Mapping[str, object] = {
    "str": TEXT,
    "int": 1,
    "float": 1.0,
    "bool": False,
    "bytes": "x",
    "Any": TEXT,
    "object": TEXT,
}
_LISTS = frozenset({"list", "List", "Sequence", "Iterable", "set", "Set", "tuple", "Tuple", "frozenset", "conlist"})
_DICTS = frozenset({"dict", "Dict", "Mapping", "MutableMapping"})


class UnknownShape(Exception):  # noqa: N818 - no error: the answer is that nobody can tell
    """An annotation that no example can be made for."""


Classes = Mapping[str, tuple[Source, ast.ClassDef]]


def of(annotation: ast.expr | None, name: str, source: Source, classes: Classes, depth: int = 0) -> object:
    """An example for what is annotated so and called `name`. UnknownShape where there is none to be had."""
    if depth > _DEEPEST:
        raise UnknownShape
    annotation = _plainer(annotation)
    if isinstance(annotation, ast.Subscript):
        return _of_subscript(annotation, name, source, classes, depth + 1)
    word = "" if annotation is None else source.dotted(annotation).rpartition(".")[2]
    if word in classes:
        return of_class(word, classes, depth + 1)
    if word in _LISTS | _DICTS:
        return _WORDS.get(name, []) if word in _LISTS else {}
    if annotation is not None and word not in _PLAIN:
        raise UnknownShape
    usual, known = _PLAIN.get(word, TEXT), _WORDS.get(name)
    return known if known is not None and (annotation is None or type(known) is type(usual)) else usual


def _plainer(annotation: ast.expr | None) -> ast.expr | None:
    """Without quotes around it, and of `X | None` the X."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            raise UnknownShape from None
    while isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        left = annotation.left
        annotation = annotation.right if isinstance(left, ast.Constant) and left.value is None else left
    return annotation


def _of_subscript(node: ast.Subscript, name: str, source: Source, classes: Classes, depth: int) -> object:
    word = source.dotted(node.value).rpartition(".")[2]
    inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if word in ("Optional", "Annotated", "Union", "Required", "Final"):
        return of(inner[0], name, source, classes, depth)
    if word == "Literal" and isinstance(inner[0], ast.Constant):
        return inner[0].value
    if word in _DICTS:
        return {}
    if word not in _LISTS:
        raise UnknownShape
    if name == "messages" and _is_mapping(inner[0], source):
        return _WORDS[name]
    return [of(inner[0], name.removesuffix("s"), source, classes, depth)]


def of_class(name: str, classes: Classes, depth: int = 0) -> object:
    """The fields that a class must be given, or the first member of an enumeration."""
    source, node = classes[name]
    bases = [source.dotted(base).rpartition(".")[2] for base in node.bases]
    if any(base.endswith("Enum") for base in bases):
        for statement in node.body:
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
                return statement.value.value
        raise UnknownShape
    if not bases and not any("dataclass" in source.dotted(each) for each in node.decorator_list):
        raise UnknownShape
    fields: dict[str, object] = {}
    for base in bases:
        if base in classes and base != name and isinstance(inherited := of_class(base, classes, depth + 1), dict):
            fields |= inherited
    for statement in node.body:
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        field, annotation, value = statement.target.id, statement.annotation, statement.value
        if field.startswith("_") or field == "model_config" or "ClassVar" in ast.dump(annotation):
            continue
        if value is None or _required(value):
            fields[_alias(value) or field] = of(annotation, field, source, classes, depth + 1)
    return fields


def _alias(value: ast.expr | None) -> str | None:
    if isinstance(value, ast.Call):
        for word in value.keywords:
            if word.arg in ("alias", "validation_alias") and isinstance(word.value, ast.Constant):
                return str(word.value.value)
    return None


def _required(value: ast.expr) -> bool:
    """`Field(…)` without a default, or with three dots for one; any other value is a default."""
    if isinstance(value, ast.Constant) and value.value is ...:
        return True
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name | ast.Attribute):
        return False
    called = value.func.id if isinstance(value.func, ast.Name) else value.func.attr
    if called not in ("Field", "Body", "Query", "Form"):
        return False
    if any(word.arg in ("default", "default_factory") for word in value.keywords):
        return False
    return not value.args or (isinstance(value.args[0], ast.Constant) and value.args[0].value is ...)


def read_of(function: FunctionNode, names: set[str]) -> dict[str, object] | None:
    """What a function reads of a mapping that it calls one of `names`; None where it reads nothing of it."""
    found: dict[str, object] = {}
    read = False
    for node in ast.walk(function):
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key)), ctx=ast.Load()) if (
                name in names
            ):
                read = True
                found[key] = _WORDS.get(key, TEXT)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="get"), args=[ast.Constant(value=str(key)), *rest]
            ) if name in names:
                read = True
                if not rest:
                    found.setdefault(key, _WORDS.get(key, TEXT))
    return found if read else None


def _is_mapping(node: ast.expr, source: Source) -> bool:
    return source.dotted(node.value if isinstance(node, ast.Subscript) else node) in _DICTS
