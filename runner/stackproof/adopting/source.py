"""One Python file as a tree, without running any of it: its imports, constants, functions and classes by name."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass, field
from pathlib import Path

LARGEST = 1_000_000  # bytes; what is larger was not written by a person

_GETS = ("os.environ.get", "os.getenv")

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, kw_only=True, slots=True)
class Value:
    """What an expression stands for: a text in the code, or a variable of the environment with a default or none."""

    text: str | None = None
    variable: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """path: relative to the project, with `/`. imports: modules, as written; those of relative imports begin with `.`.

    names: what a name of the file stands for (`OpenAI` -> `openai.OpenAI`). constants: expressions assigned to names at
    the file's top.
    """

    path: str
    tree: ast.Module
    imports: frozenset[str]
    names: dict[str, str]
    constants: dict[str, ast.expr]
    functions: dict[str, FunctionNode]
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)

    def dotted(self, node: ast.AST) -> str:
        """`openai.OpenAI` for what the file calls `OpenAI`; parts that are no names are left out in front."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            parts.append(self.names.get(node.id, node.id))
        return ".".join(reversed(parts))

    def value(self, node: ast.expr | None) -> Value:
        """Text or variable, through constants of the file, `or` and `str(…)`."""
        found = Value()
        match node:
            case ast.Constant(value=str(text)):
                found = Value(text=text)
            case ast.Name(id=name) if name in self.constants and self.constants[name] is not node:
                found = self.value(self.constants[name])
            case ast.BoolOp(op=ast.Or(), values=[first, *_, last]):
                one, other = self.value(first), self.value(last)
                found = Value(text=one.text or other.text, variable=one.variable or other.variable)
            case ast.Subscript(value=inner, slice=ast.Constant(value=str(name))) if self.dotted(inner) == "os.environ":
                found = Value(variable=name)
            case ast.Call(func=func, args=[ast.Constant(value=str(name)), *rest]) if self.dotted(func) in _GETS:
                found = Value(variable=name, text=self.value(rest[0]).text if rest else None)
            case ast.Call(args=[inner]) if self.dotted(node.func) in ("str", "SecretStr", "pydantic.SecretStr"):
                found = self.value(inner)
            case _:
                pass
        return found


def read(root: Path, path: str) -> Source | str:
    """The file below `root`, or why it cannot be looked at."""
    try:
        if (root / path).stat().st_size > LARGEST:
            return "is too large to have been written by hand"
        content = (root / path).read_bytes()
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd escapes in somebody's strings
            tree = ast.parse(content)
    except SyntaxError as error:
        return f"is no Python that {_version()} can read (line {error.lineno or 1}: {error.msg})"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"is no Python that can be read: {' '.join(str(error).split())}"
    try:
        return _facts(path, tree)
    except RecursionError:
        return "is nested too deeply to be looked at"


def _version() -> str:
    import platform  # noqa: PLC0415 - for a message only

    return f"Python {platform.python_version()}"


def _facts(path: str, tree: ast.Module) -> Source:
    imports: set[str] = set()
    names: dict[str, str] = {}
    constants: dict[str, ast.expr] = {}
    functions: dict[str, FunctionNode] = {}
    classes: dict[str, ast.ClassDef] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                imports.update(alias.name for alias in aliases)
                names.update({alias.asname: alias.name for alias in aliases if alias.asname})
            case ast.ImportFrom(module=module, names=aliases, level=level):
                base = "." * level + (module or "")
                imports.add(base)
                joined = base if base.endswith(".") or not base else f"{base}."
                names.update({alias.asname or alias.name: f"{joined}{alias.name}" for alias in aliases})
            case ast.ClassDef(name=name):
                classes.setdefault(name, node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                functions.setdefault(node.name, node)
            case _:
                pass
    for statement in _top(tree.body):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                constants[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                constants[name] = value
            case _:
                pass
    return Source(
        path=path,
        tree=tree,
        imports=frozenset(imports),
        names=names,
        constants=constants,
        functions=functions,
        classes=classes,
    )


def _top(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements that run when the file is imported, those within `if` and `try` too."""
    found: list[ast.stmt] = []
    for statement in body:
        found.append(statement)
        if isinstance(statement, ast.If | ast.Try):
            found += _top(statement.body)
    return found
