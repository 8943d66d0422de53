"""The pages `docs/reference/api/*.md`: what other programs may use, from signatures and docstrings of the code.

Read with `ast`, so that annotations stand there as they were written, whatever is installed.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

from stackproof.file_schemas.pages import table

PAGES = {
    "recorder": "Record and replay in plain Python",
    "trace": "Model traces",
    "faults": "Faults and claims",
}
"""Packages whose `__all__` is public, and what a page of each is called."""

_FIXTURES = ("stackproof.fixtures", "stackproof.pytest_plugin")
_WHERE = """They are there where a project has `tests/suites.yaml`, in a run and under plain pytest; `claim` is there
everywhere. A model that the setup does not have skips the test that asks for it, with that reason."""
_LONG = 100
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """What a name stands for: its statement, and the text that says what it is."""

    node: ast.stmt
    says: str


def pages(generated: str) -> dict[str, str]:
    """File name -> page, below docs/reference. generated: says where a page comes from, with {source}."""
    made = {
        f"api/{name}.md": _package(name, title, generated.format(source=f"the docstrings of `stackproof.{name}`"))
        for name, title in PAGES.items()
    }
    return made | {"api/fixtures.md": _fixtures(generated.format(source="`runner/stackproof/fixtures.py`"))}


def public(package: str) -> tuple[str, ...]:
    """The names that are public of a package: functions first, then classes, errors last, each by name."""
    found = {name: _find(f"stackproof.{package}", name) for name in import_module(f"stackproof.{package}").__all__}
    return tuple(sorted(found, key=lambda name: (_rank(name, found[name].node), name)))


def examples(package: str) -> list[str]:
    """Every example in what a page of a package shows, as a program of its own."""
    module = import_module(f"stackproof.{package}")
    texts = [module.__doc__ or "", *(_find(module.__name__, name).says for name in public(package))]
    return [found for text in texts for found in re.findall(r"```python\n(.*?)```", inspect.cleandoc(text), re.DOTALL)]


def _package(package: str, title: str, generated: str) -> str:
    module = import_module(f"stackproof.{package}")
    parts = [f"# {title}: `stackproof.{package}`", generated, _text(module.__doc__), _typed(package)]
    for name in public(package):
        parts += _section(name, _find(module.__name__, name))
    return "\n\n".join(parts) + "\n"


def _typed(package: str) -> str:
    return (
        f"Public is what this page names, and all of it is imported from `stackproof.{package}`; other modules below\n"
        "it may change with any version. The package is typed (`py.typed`)."
    )


def _section(name: str, found: _Found) -> Iterator[str]:
    yield f"## `{name}`"
    yield _code(found.node)
    if found.says:
        yield _text(found.says)
    for member in _members(found.node):
        told = ast.get_docstring(member)
        if told and not member.name.startswith("_"):
            yield f"### `{name}.{member.name}`"
            yield _text(told)


def _find(package: str, name: str) -> _Found:
    """The statement that makes a public name, in whichever module that is."""
    value = getattr(import_module(package), name)
    places = (
        [import_module(value.__module__)] if isinstance(value, type) or inspect.isfunction(value) else _below(package)
    )
    for module in places:
        body = _tree(module).body
        for here, after in zip(body, [*body[1:], None], strict=True):
            if isinstance(here, _Definition) and here.name == name:
                return _Found(node=here, says=ast.get_docstring(here) or "")
            if isinstance(here, ast.Assign | ast.AnnAssign) and _target(here) == name:
                return _Found(node=here, says=_string(after))
    raise LookupError(f"{package}.{name} is defined nowhere below {package}")


def _below(package: str) -> list[ModuleType]:
    folder = Path(str(import_module(package).__file__)).parent
    return [import_module(f"{package}.{path.stem}") for path in sorted(folder.glob("[a-z]*.py"))]


def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))


def _target(node: ast.Assign | ast.AnnAssign) -> str:
    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def _string(node: ast.stmt | None) -> str:
    value = node.value if isinstance(node, ast.Expr) else None
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""


def _rank(name: str, node: ast.stmt) -> int:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return 0
        case ast.ClassDef():
            return 2 if name.endswith("Error") else 1
        case _:
            return 3


# -- as Python, without what stands inside


def _code(node: ast.stmt) -> str:
    text = _stub(node)
    return "```python\n" + (text if '"' in text else text.replace("'", '"')) + "\n```"


def _stub(node: ast.stmt) -> str:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return "\n".join([*(f"@{ast.unparse(each)}" for each in node.decorator_list), _signature(node)])
        case ast.ClassDef():
            bases = ", ".join(map(ast.unparse, node.bases))
            head = [f"@{ast.unparse(each)}" for each in node.decorator_list]
            parts = ["\n".join(_inside(part)) for part in node.body]
            # A blank line before each method, as everybody writes it.
            inside = "\n".join(f"\n{part}" if "def " in part else part for part in parts if part).strip("\n")
            lines = [line and f"    {line}" for line in inside.splitlines()]
            title = f"class {node.name}{f'({bases})' if bases else ''}:"
            return "\n".join([*head, title, *lines] if lines else [*head, f"{title} ..."])
        case _:
            return ast.unparse(node)


def _inside(part: ast.stmt) -> Iterator[str]:
    """A field, a member of an enum, or a method of a class; nothing of what is its own affair."""
    match part:
        case ast.AnnAssign(target=ast.Name(id=name)) if not name.startswith("_"):
            yield ast.unparse(part)
        case ast.Assign(targets=[ast.Name(id=name)]) if not name.startswith("_"):
            yield ast.unparse(part)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name == "__init__" or name[0] != "_":
            yield from _stub(part).splitlines()
        case _:
            pass


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    kind = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    result = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    given = [_spaced(each) for each in _apart(ast.unparse(node.args))]
    line = f"{kind} {node.name}({', '.join(given)}){result}: ..."
    if len(line) <= _LONG:
        return line
    return "\n".join([f"{kind} {node.name}(", *(f"    {each}," for each in given), f"){result}: ..."])


def _spaced(parameter: str) -> str:
    """With blanks around the equals sign of a default, which `ast` leaves out."""
    name, colon, rest = parameter.partition(":")
    return name + colon + re.sub(r"(?<=[\w\])\"'])=(?=\S)", " = ", rest, count=1)


def _apart(text: str) -> list[str]:
    """Parameters, which commas between brackets do not divide."""
    depth, parts = 0, [""]
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if char == "," and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def _members(node: ast.stmt) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    body = node.body if isinstance(node, ast.ClassDef) else []
    return [part for part in body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)]


# -- fixtures


def _fixtures(generated: str) -> str:
    found = [(name, node) for name in _FIXTURES for node in _tree(import_module(name)).body if _is_fixture(node)]
    nodes = [node for _, node in found if isinstance(node, ast.FunctionDef)]
    rows = [
        (
            f"[`{node.name}`](#{node.name})",
            f"`{_type(node)}`",
            _scope(node),
            _first(ast.get_docstring(node)),
        )
        for node in nodes
    ]
    parts = [
        "# Fixtures of pytest",
        generated,
        _text(import_module(_FIXTURES[0]).__doc__),
        _WHERE,
        table(("fixture", "type", "made once for", "what it is"), rows),
    ]
    for node in nodes:
        parts += [f"## `{node.name}`", _code(node), _text(ast.get_docstring(node))]
    return "\n\n".join(parts) + "\n"


def _is_fixture(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and any(
        "pytest.fixture" in ast.unparse(each) for each in node.decorator_list
    )


def _type(node: ast.FunctionDef) -> str:
    told = ast.unparse(node.returns) if node.returns is not None else ""
    return re.sub(r"^Iterator\[(.*)\]$", r"\1", told)


def _scope(node: ast.FunctionDef) -> str:
    return "a session" if any("session" in ast.unparse(each) for each in node.decorator_list) else "a test"


def _first(text: str | None) -> str:
    """The first sentence, without what follows it, in one line."""
    return " ".join(re.split(r"[.:;](?:\s|$)", text or "", maxsplit=1)[0].split())


def _text(text: str | None) -> str:
    return inspect.cleandoc(text or "")
