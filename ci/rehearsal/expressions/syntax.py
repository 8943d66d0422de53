"""Reads an expression into a tree; what is no expression is refused with its place in the text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from ci.rehearsal.expressions.values import Value, number


class ExpressionError(Exception):
    """What an expression says cannot be read or worked out. at: the character it is about, or None."""

    def __init__(self, message: str, at: int | None = None) -> None:
        super().__init__(message if at is None else f"{message} (character {at + 1})")


@dataclass(frozen=True, kw_only=True, slots=True)
class Literal:
    """A number, a string, true, false or null."""

    value: Value


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """The name that a path starts with: github, needs, …"""

    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Index:
    """`of.name` and `of[index]`; index None is `of.*`."""

    of: Expression
    index: Expression | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A function with its arguments. name: in lower case."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """`!`, a comparison, `&&` or `||`."""

    operator: str
    operands: tuple[Expression, ...]


Expression: TypeAlias = Literal | Context | Index | Call | Operation

_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<string>'(?:[^']|'')*')"
    r"|(?P<operator>&&|\|\||==|!=|<=|>=|[!<>()\[\],.*])"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_-]*)"
)
_NUMBER = re.compile(r"[+-]?\.?[0-9A-Za-z][0-9A-Za-z.]*(?:(?<=[eE])[+-]\d+)?")
_CONSTANTS: dict[str, Value] = {"true": True, "false": False, "null": None, "NaN": math.nan, "Infinity": math.inf}
# From loose to tight.
_LEVELS = (("||",), ("&&",), ("==", "!="), ("<", "<=", ">", ">="))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int


def parse(source: str) -> Expression:
    """The tree of an expression, without `${{ }}` around it. Raises ExpressionError."""
    parser = _Parser(list(_tokens(source)), len(source))
    tree = parser.level(0)
    parser.end()
    return tree


def walk(tree: Expression) -> Iterator[Expression]:
    """The tree and everything in it, from the outside in."""
    yield tree
    match tree:
        case Index(of=of, index=index):
            yield from walk(of)
            if index is not None:
                yield from walk(index)
        case Call(arguments=parts) | Operation(operands=parts):
            for part in parts:
                yield from walk(part)
        case Literal() | Context():
            pass


def _tokens(source: str) -> Iterator[_Token]:
    at, before = 0, ""
    while at < len(source):
        # After a name or a bracket a point asks for a property; anywhere else it starts a number.
        value_before = before in ("word", ")", "]", "*")
        found = None if not value_before and _starts_number(source, at) else _TOKEN.match(source, at)
        if found is None:
            found = _NUMBER.match(source, at)
            if found is None or (math.isnan(number(found.group())) and found.group() != "NaN"):
                raise ExpressionError(f"{(found.group() if found else source[at])!r} is no part of an expression", at)
            yield _Token(kind="number", text=found.group(), at=at)
            before = "number"
        elif found.lastgroup != "space":
            kind = found.lastgroup or ""
            yield _Token(kind=kind, text=found.group(), at=at)
            before = found.group() if kind == "operator" else kind
        at = found.end()


def _starts_number(source: str, at: int) -> bool:
    return source[at] in "+-0123456789" or (source[at] == "." and source[at + 1 : at + 2].isdigit())


class _Parser:
    """One token after another."""

    def __init__(self, tokens: list[_Token], length: int) -> None:
        self._tokens, self._length, self._next = tokens, length, 0

    def level(self, depth: int) -> Expression:
        """Operators of one strength, and everything tighter."""
        if depth == len(_LEVELS):
            return self._unary()
        left = self.level(depth + 1)
        while (operator := self._take(*_LEVELS[depth])) is not None:
            left = Operation(operator=operator, operands=(left, self.level(depth + 1)))
        return left

    def end(self) -> None:
        """Refuse what is left over."""
        if self._next < len(self._tokens):
            self._refuse()

    def _unary(self) -> Expression:
        if self._take("!") is not None:
            return Operation(operator="!", operands=(self._unary(),))
        tree = self._primary()
        while True:
            if self._take(".") is not None:
                tree = Index(of=tree, index=None if self._take("*") else Literal(value=self._word()))
            elif self._take("[") is not None:
                tree = Index(of=tree, index=None if self._take("*") else self.level(0))
                self._need("]")
            else:
                return tree

    def _primary(self) -> Expression:
        if self._take("(") is not None:
            tree = self.level(0)
            self._need(")")
            return tree
        token = self._tokens[self._next] if self._next < len(self._tokens) else None
        if token is None or token.kind == "operator":
            self._refuse()
        assert token is not None  # noqa: S101 - said to the type checker; _refuse raises
        self._next += 1
        match token.kind:
            case "string":
                return Literal(value=token.text[1:-1].replace("''", "'"))
            case "number":
                return Literal(value=number(token.text))
            case _ if token.text in _CONSTANTS:
                return Literal(value=_CONSTANTS[token.text])
            case _ if self._take("(") is not None:
                return Call(name=token.text.lower(), arguments=self._arguments())
            case _:
                return Context(name=token.text.lower())

    def _arguments(self) -> tuple[Expression, ...]:
        if self._take(")") is not None:
            return ()
        found = [self.level(0)]
        while self._take(",") is not None:
            found.append(self.level(0))
        self._need(")")
        return tuple(found)

    def _take(self, *words: str) -> str | None:
        token = self._tokens[self._next] if self._next < len(self._tokens) else None
        if token is None or token.kind != "operator" or token.text not in words:
            return None
        self._next += 1
        return token.text

    def _need(self, word: str) -> None:
        if self._take(word) is None:
            self._refuse(f"{word!r} is missing")

    def _word(self) -> str:
        token = self._tokens[self._next] if self._next < len(self._tokens) else None
        if token is None or token.kind != "word":
            self._refuse("the name of a property is missing")
        assert token is not None  # noqa: S101 - said to the type checker; _refuse raises
        self._next += 1
        return token.text

    def _refuse(self, why: str = "") -> None:
        if self._next >= len(self._tokens):
            raise ExpressionError(why or "the expression ends too early", self._length)
        token = self._tokens[self._next]
        raise ExpressionError(why or f"{token.text!r} is not expected here", token.at)
