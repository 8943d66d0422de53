"""Works an expression out against contexts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ci.rehearsal.expressions.functions import FUNCTIONS
from ci.rehearsal.expressions.syntax import Call, Context, Expression, ExpressionError, Index, Literal, Operation
from ci.rehearsal.expressions.values import Filtered, Value, at, equal, is_true, less, text

_COMPARISONS: Mapping[str, Callable[[Value, Value], bool]] = {
    "==": equal,
    "!=": lambda left, right: not equal(left, right),
    "<": less,
    ">": lambda left, right: less(right, left),
    "<=": lambda left, right: less(left, right) or equal(left, right),
    ">=": lambda left, right: less(right, left) or equal(left, right),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """What an expression may name at its place.

    contexts: by lower-case name. functions: status functions and hashFiles, by lower-case name, where they are allowed.
    absent: told of a property that its context has not, with the path from the context on; may raise ExpressionError.
    """

    contexts: Mapping[str, Value]
    functions: Mapping[str, Callable[[Sequence[Value]], Value]] = field(default_factory=dict)
    absent: Callable[[tuple[str, ...]], None] = lambda _: None


def evaluate(tree: Expression, scope: Scope) -> Value:
    """The value of an expression. Raises ExpressionError for a name or a function that is unknown at this place."""
    match tree:
        case Literal(value=value):
            return value
        case Context(name=name):
            if name not in scope.contexts:
                raise ExpressionError(f"the context {name!r} is unknown here; known are {', '.join(scope.contexts)}")
            return scope.contexts[name]
        case Index():
            return _index(tree, scope)
        case Call(name=name, arguments=arguments):
            return _call(name, arguments, scope)
        case Operation(operator="!", operands=(one,)):
            return not is_true(evaluate(one, scope))
        case Operation(operator=operator, operands=(left, right)):
            return _binary(operator, left, right, scope)
        case Operation():
            raise AssertionError(tree)


def _index(tree: Index, scope: Scope) -> Value:
    of = evaluate(tree.of, scope)
    if tree.index is None:
        members = of.values() if isinstance(of, dict) else of if isinstance(of, list) else ()
        if isinstance(of, Filtered):
            members = [item for one in of for item in _members(one)]
        return Filtered(members)
    index = evaluate(tree.index, scope)
    if isinstance(of, Filtered):
        return Filtered(value for found, value in (at(one, index) for one in of) if found)
    found, value = at(of, index)
    if not found and (path := _path(tree, scope)) is not None:
        scope.absent(path)
    return value


def _members(value: Value) -> Sequence[Value]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ()


def _path(tree: Expression, scope: Scope) -> tuple[str, ...] | None:
    """`a.b['c']` as words; None where it does not start at a context."""
    match tree:
        case Context(name=name):
            return (name,)
        case Index(of=of, index=index) if index is not None:
            before = _path(of, scope)
            return None if before is None else (*before, text(evaluate(index, scope)))
        case _:
            return None


def _binary(operator: str, left: Expression, right: Expression, scope: Scope) -> Value:
    first = evaluate(left, scope)
    if operator in ("&&", "||"):
        return first if is_true(first) == (operator == "||") else evaluate(right, scope)
    second = evaluate(right, scope)
    return _COMPARISONS[operator](first, second)


def _call(name: str, arguments: tuple[Expression, ...], scope: Scope) -> Value:
    if name == "case":
        return _case(arguments, scope)
    if name in scope.functions:
        return scope.functions[name]([evaluate(one, scope) for one in arguments])
    function = FUNCTIONS.get(name)
    if function is None:
        raise ExpressionError(f"the function {name!r} is unknown here")
    if len(arguments) < function.least or (function.most is not None and len(arguments) > function.most):
        raise ExpressionError(f"{name}: {len(arguments)} arguments are not what it takes")
    return function.do([evaluate(one, scope) for one in arguments])


def _case(arguments: tuple[Expression, ...], scope: Scope) -> Value:
    """case(condition, value, …, otherwise): the value of the first condition that is true."""
    if len(arguments) < 3 or len(arguments) % 2 == 0:
        raise ExpressionError("case: it takes pairs of a condition and a value, and one value at the end")
    for condition, value in zip(arguments[:-1:2], arguments[1::2], strict=True):
        held = evaluate(condition, scope)
        if not isinstance(held, bool):
            raise ExpressionError("case: a condition is not true or false")
        if held:
            return evaluate(value, scope)
    return evaluate(arguments[-1], scope)
