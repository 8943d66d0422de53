"""The conditions of `rules: if`.

https://docs.gitlab.com/ci/jobs/job_rules/#cicd-variable-expressions
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

from ci.rehearsal.expressions import ExpressionError

_Operand: TypeAlias = "str | re.Pattern[str] | None"

_TOKEN = re.compile(
    r"\s*(?:(?P<operator>==|!=|=~|!~|&&|\|\||\(|\))"
    r"|\$(?P<variable>\w+)|\$\{(?P<braced>\w+)\}"
    r'|"(?P<double>[^"]*)"|\'(?P<single>[^\']*)\''
    r"|(?P<null>null\b)"
    r"|/(?P<pattern>(?:[^/\\]|\\.)*)/(?P<flags>[ism]*))"
)


def holds(condition: str, variables: Mapping[str, str]) -> bool:
    """Whether a condition is true. Raises ExpressionError for what is none."""
    reader = _Reader(_tokens(condition), variables)
    answer = reader.any_of()
    reader.end()
    return _true(answer)


def _tokens(condition: str) -> list[tuple[str, str]]:
    made: list[tuple[str, str]] = []
    at = 0
    while at < len(condition.rstrip()):
        found = _TOKEN.match(condition, at)
        if found is None:
            raise ExpressionError(f"{condition[at:].strip()!r} is no part of a condition", at)
        kind = next(name for name, value in found.groupdict().items() if value is not None and name != "flags")
        value = found[kind]
        if kind == "pattern":
            value = f"(?{found['flags']}){value}" if found["flags"] else value
        made.append(("variable" if kind == "braced" else "text" if kind in ("double", "single") else kind, value))
        at = found.end()
    return made


class _Reader:
    """`||` around `&&` around comparisons."""

    def __init__(self, tokens: list[tuple[str, str]], variables: Mapping[str, str]) -> None:
        self._tokens, self._variables, self._next = tokens, variables, 0

    def any_of(self) -> _Operand | bool:
        left = self._all_of()
        while self._take("||"):
            right = self._all_of()
            left = _true(left) or _true(right)
        return left

    def end(self) -> None:
        if self._next < len(self._tokens):
            raise ExpressionError(f"{self._tokens[self._next][1]!r} is not expected here")

    def _all_of(self) -> _Operand | bool:
        left = self._comparison()
        while self._take("&&"):
            right = self._comparison()
            left = _true(left) and _true(right)
        return left

    def _comparison(self) -> _Operand | bool:
        left = self._operand()
        for operator in ("==", "!=", "=~", "!~"):
            if self._take(operator):
                right = self._operand()
                if operator in ("==", "!="):
                    return (left == right) is (operator == "==")
                found = _search(right, left)
                return found is (operator == "=~")
        return left

    def _operand(self) -> _Operand | bool:
        if self._take("("):
            inner = self.any_of()
            if not self._take(")"):
                raise ExpressionError("')' is missing")
            return inner
        if self._next >= len(self._tokens):
            raise ExpressionError("the condition ends too early")
        kind, value = self._tokens[self._next]
        self._next += 1
        match kind:
            case "variable":
                return self._variables.get(value)
            case "text":
                return value
            case "null":
                return None
            case "pattern":
                return _pattern(value)
            case _:
                raise ExpressionError(f"{value!r} is not expected here")

    def _take(self, operator: str) -> bool:
        if self._next < len(self._tokens) and self._tokens[self._next] == ("operator", operator):
            self._next += 1
            return True
        return False


def _true(value: _Operand | bool) -> bool:
    """A variable that is absent or empty is false."""
    return value if isinstance(value, bool) else value is not None and value != ""


def _search(pattern: _Operand | bool, value: _Operand | bool) -> bool:
    if isinstance(pattern, str):
        # A variable may hold a pattern, with its slashes.
        found = re.fullmatch(r"/(.*)/([ism]*)", pattern)
        if found is None:
            raise ExpressionError(f"{pattern!r} is no pattern: it stands between slashes")
        pattern = _pattern(f"(?{found[2]}){found[1]}" if found[2] else found[1])
    if not isinstance(pattern, re.Pattern):
        raise ExpressionError("a pattern is missing after =~")
    return isinstance(value, str) and pattern.search(value) is not None


def _pattern(source: str) -> re.Pattern[str]:
    try:
        return re.compile(source)
    except re.error as error:
        raise ExpressionError(f"{source!r} is no pattern: {error}") from None
