"""Text with `${{ }}` in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ci.rehearsal.expressions import Call, Expression, ExpressionError, Scope, Value, evaluate, parse, text, walk

# A string of the expression may hold the closing signs itself.
_PART = re.compile(r"\$\{\{((?:[^'}]|'(?:[^']|'')*'|\}(?!\}))*)\}\}")
STATUS = ("success", "failure", "always", "cancelled")


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One expression of a text. line: how many lines below the text's first."""

    tree: Expression
    line: int
    start: int
    end: int


def parts(source: str) -> Iterator[Part]:
    """The expressions of a text in their order. Raises ExpressionError."""
    found = list(_PART.finditer(source))
    rest = _PART.sub("", source)
    if "${{" in rest:
        raise ExpressionError("'${{' is opened here and never closed")
    for match in found:
        line = source.count("\n", 0, match.start())
        yield Part(tree=parse(match.group(1)), line=line, start=match.start(), end=match.end())


def fill(source: str, scope: Scope) -> Value:
    """The text with its expressions worked out; a text that is one expression keeps what that gives."""
    found = list(parts(source))
    if len(found) == 1 and found[0].start == 0 and found[0].end == len(source):
        return evaluate(found[0].tree, scope)
    made, at = [], 0
    for part in found:
        made += [source[at : part.start], text(evaluate(part.tree, scope))]
        at = part.end
    return "".join([*made, source[at:]])


def condition(source: str | bool | None) -> Expression:
    """The tree of an `if`, with `success()` in front of it where it asks for no status itself."""
    if source is None:
        return parse("success()")
    written = str(source).lower() if isinstance(source, bool) else source.strip()
    found = list(parts(written))
    if len(found) == 1 and found[0].start == 0 and found[0].end == len(written):
        tree, written = found[0].tree, written[3:-2]
    elif found:
        # Text beside an expression is a string that is never empty: such a condition always holds.
        raise ExpressionError("text stands beside '${{ }}', which makes a condition that always holds")
    else:
        tree = parse(written)
    if any(isinstance(one, Call) and one.name in STATUS for one in walk(tree)):
        return tree
    return parse(f"success() && ({written})")
