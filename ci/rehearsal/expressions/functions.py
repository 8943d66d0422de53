"""The functions of the expression language that need nothing but their arguments."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ci.rehearsal.expressions.syntax import ExpressionError
from ci.rehearsal.expressions.values import Value, as_json, equal, folded, text


@dataclass(frozen=True, kw_only=True, slots=True)
class Function:
    """How many arguments it takes, and what it does. most None: as many as there are."""

    least: int
    most: int | None
    do: Callable[[Sequence[Value]], Value]


def _contains(given: Sequence[Value]) -> Value:
    where, what = given
    if isinstance(where, list):
        return any(equal(item, what) for item in where)
    return not _compound(where, what) and folded(text(what)) in folded(text(where))


def _starts(given: Sequence[Value]) -> Value:
    return not _compound(*given) and folded(text(given[0])).startswith(folded(text(given[1])))


def _ends(given: Sequence[Value]) -> Value:
    return not _compound(*given) and folded(text(given[0])).endswith(folded(text(given[1])))


def _compound(*values: Value) -> bool:
    return any(isinstance(value, list | dict) for value in values)


def _join(given: Sequence[Value]) -> Value:
    where = given[0]
    between = text(given[1]) if len(given) == 2 and not _compound(given[1]) else ","
    if isinstance(where, list):
        return between.join(text(item) for item in where)
    return "" if isinstance(where, dict) else text(where)


def _format(given: Sequence[Value]) -> Value:
    pattern, made, at = text(given[0]), [], 0
    while at < len(pattern):
        sign = pattern[at]
        if sign not in "{}":
            made.append(sign)
        elif pattern[at + 1 : at + 2] == sign:
            made.append(sign)
            at += 1
        else:
            end = pattern.find("}", at)
            place = pattern[at + 1 : end] if sign == "{" and end > 0 else ""
            if not (place.isascii() and place.isdigit()):
                raise ExpressionError(f"format: {pattern!r} has a brace that stands alone")
            if int(place) + 1 >= len(given):
                raise ExpressionError(f"format: {pattern!r} names {{{place}}}, and only {len(given) - 1} values follow")
            made.append(text(given[int(place) + 1]))
            at = end
        at += 1
    return "".join(made)


def _from_json(given: Sequence[Value]) -> Value:
    source = text(given[0])
    if not source.strip():
        raise ExpressionError("fromJSON: there is nothing to read, the text is empty")
    try:
        return json.loads(source)
    except ValueError as error:
        raise ExpressionError(f"fromJSON: the text is no JSON ({error})") from None


FUNCTIONS: Mapping[str, Function] = {
    "contains": Function(least=2, most=2, do=_contains),
    "startswith": Function(least=2, most=2, do=_starts),
    "endswith": Function(least=2, most=2, do=_ends),
    "format": Function(least=1, most=None, do=_format),
    "join": Function(least=1, most=2, do=_join),
    "tojson": Function(least=1, most=1, do=lambda given: as_json(given[0])),
    "fromjson": Function(least=1, most=1, do=_from_json),
}
