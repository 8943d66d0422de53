"""A page of every expected error, read from the code that raises it: what is said, what it says to do, how it ends."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias, cast

from stackproof.errors import ExitCode
from stackproof.file_schemas.pages import table

_Node: TypeAlias = ast.ClassDef | ast.Call
_VALUE = "…"
_BASE = "StackproofError"
_IN_FILES = "UsageError"
_SECTIONS = frozenset({"file", "inner", "section", "self"})  # what a mapping of a YAML file is called where it is read
_MEANT = {
    ExitCode.TESTS: "What is tested failed",
    ExitCode.USAGE: "What was asked for is impossible",
    ExitCode.NOTHING_RAN: "Nothing ran",
    ExitCode.DOCKER: "Docker",
    ExitCode.STACK_START: "The stack did not start",
    ExitCode.RECORDINGS: "Only recordings are at fault",
    ExitCode.NOT_PROVEN: "Not proven",
    ExitCode.INTERNAL: "Errors of the library, and faults of Stackproof itself",
    ExitCode.DISK: "A file cannot be kept",
}


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Message:
    """What one place of the code says. `…` stands for a value, or for words that are put together elsewhere."""

    text: str
    hint: str
    kind: str  # name of the class


class _Constants(ast.NodeTransformer):
    """Texts of a module, put where they are named: a hint that is said in several places has a name."""

    def __init__(self, texts: Mapping[str, ast.expr]) -> None:
        self._texts = texts

    @classmethod
    def put(cls, tree: ast.Module) -> ast.Module:
        texts: dict[str, ast.expr] = {}
        for node in tree.body:
            match node:
                case ast.Assign(
                    targets=[ast.Name(id=name)], value=ast.Constant(value=str()) | ast.JoinedStr() as value
                ):
                    texts[name] = value
                case _:
                    pass
        return cast("ast.Module", cls(texts).visit(tree)) if texts else tree

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._texts.get(node.id, node) if isinstance(node.ctx, ast.Load) else node


def page(generated: str, package: Path) -> str:
    """The page, in Markdown, of all that the code of `package` can raise. generated: the comment that says so."""
    modules = read(package)
    codes = exit_codes(modules)
    own = dict(each for module in modules for each in _own_words(module, codes))
    said = {_completed(message, own) for module in modules for message in messages(module, codes)}
    found = sorted(said, key=_alphabetical)
    in_files = sorted({message for module in modules for message in of_files(module)}, key=_alphabetical)
    parts = [
        "# Every error message",
        generated,
        (
            "What commands say when they cannot go on, by the exit code that they end with, in the order of the "
            f"alphabet; {_VALUE} stands for a value. Each is one sentence, and what the second column has follows in "
            "lines of its own. [Troubleshooting](../troubleshooting.md) explains those that need more than that. Words "
            "of a test's failure, of a miss and of a verdict are not errors of a command: "
            "[Recording and replay](../recording.md), [The verdict](../verdict.md)."
        ),
    ]
    for code, title in _MEANT.items():
        parts += _section(f"{title} ({int(code)})", [each for each in found if codes[each.kind] is code])
    if in_files:
        parts += _section(f"What a file of the project says is impossible ({int(codes[_IN_FILES])})", in_files)
        parts[-1] = f"Each begins with the file and the line: `stacks/desk/stack.yaml:3: …`.\n\n{parts[-1]}"
    return "\n\n".join(parts) + "\n"


def _section(title: str, found: Sequence[Message]) -> list[str]:
    rows = [(f"`{_quoted(each.text)}`", _quoted(each.hint)) for each in found]
    return [f"## {title}", table(("message", "and what it says to do"), rows)] if rows else []


def read(package: Path) -> list[list[_Node]]:
    """What is looked at of each module of `package`, with its texts where they are named."""
    trees = (_Constants.put(ast.parse(path.read_text(encoding="utf-8"))) for path in sorted(package.rglob("*.py")))
    return [nodes(tree) for tree in trees]


def nodes(tree: ast.AST) -> list[_Node]:
    """The classes and calls of a module, which is all that anything here looks at: it is walked through once."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef | ast.Call)]


def exit_codes(modules: Iterable[Sequence[_Node]]) -> Mapping[str, ExitCode]:
    """Name of each class of expected errors -> the exit code that it ends a command with."""
    classes = [node for module in modules for node in module if isinstance(node, ast.ClassDef)]
    found = {_BASE: ExitCode.INTERNAL}
    grown = 0
    while grown != len(found):
        grown = len(found)
        for node in classes:
            for base in node.bases:
                if isinstance(base, ast.Name) and base.id in found:
                    found[node.name] = _own_code(node) or found[base.id]
    return found


def _own_code(node: ast.ClassDef) -> ExitCode | None:
    for statement in node.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="exit_code")], value=ast.Attribute(attr=name)):
                return ExitCode[name]
            case _:
                pass
    return None


def messages(module: Sequence[_Node], codes: Mapping[str, ExitCode]) -> Iterator[Message]:
    """What is said where one of these classes is made; not where all of it comes from elsewhere."""
    # A module may have a class of its own with the name of another's.
    strangers = {
        node.name
        for node in module
        if isinstance(node, ast.ClassDef)
        and not any(isinstance(base, ast.Name) and base.id in codes for base in node.bases)
    } - {_BASE}
    for node in module:
        match node:
            case ast.Call(func=ast.Name(id=kind), args=[_, *_] as args) if kind in codes and kind not in strangers:
                yield from _message(node, " ".join(_text(arg) for arg in args), kind)
            case _:
                pass


def of_files(module: Sequence[_Node]) -> Iterator[Message]:
    """What is said of a mapping in a YAML file: `section.fail(…)`."""
    for node in module:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=what), attr="fail"), args=[first]) if what in _SECTIONS:
                yield from _message(node, _text(first), _IN_FILES)
            case _:
                pass


def _own_words(module: Sequence[_Node], codes: Mapping[str, ExitCode]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Name of a class -> what it puts before each sentence, and its hint where a place has none of its own."""
    for owner in (node for node in module if isinstance(node, ast.ClassDef) and node.name in codes):
        for node in nodes(owner):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super"))), args=[first, *_]):
                    hints = [each.value for each in node.keywords if each.arg == "hint"]
                    own = [_text(each) for each in hints if not isinstance(each, ast.Name)]
                    yield owner.name, (_text(first).partition(_VALUE)[0], (own or [""])[0])
                case _:
                    pass


def _completed(message: Message, own: Mapping[str, tuple[str, str]]) -> Message:
    before, hint = own.get(message.kind, ("", ""))
    return replace(message, text=before + message.text, hint=message.hint or hint)


def _message(node: ast.Call, said: str, kind: str) -> Iterator[Message]:
    hints = [_text(keyword.value) for keyword in node.keywords if keyword.arg == "hint"]
    if re.search(r"\w", said):
        yield Message(text=said, hint=(hints or [""])[0], kind=kind)


def _text(node: ast.expr) -> str:
    """A text of the code as a person reads it."""
    match node:
        case ast.Constant(value=str() as text):
            said = text
        case ast.JoinedStr(values=values):
            said = "".join(_text(value) for value in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            said = _text(left) + _text(right)
        case ast.Constant(value=None):
            said = ""
        case _:
            said = _VALUE
    return re.sub(f"{_VALUE}(?:{_VALUE})+", _VALUE, said)


def _quoted(text: str) -> str:
    """Text in a cell of a table."""
    return " ".join(text.replace("`", "'").split())


def _alphabetical(message: Message) -> tuple[str, Message]:
    return re.sub(r"[^\w ]", "", message.text).strip().lower(), message
