"""The expression language of GitHub's workflows, as its documentation and GitHub's own parser describe it.

https://docs.github.com/en/actions/reference/workflows-and-actions/expressions
"""

from ci.rehearsal.expressions.evaluate import Scope, evaluate
from ci.rehearsal.expressions.syntax import Call, Expression, ExpressionError, parse, walk
from ci.rehearsal.expressions.values import Value, is_true, number, text

__all__ = [
    "Call",
    "Expression",
    "ExpressionError",
    "Scope",
    "Value",
    "evaluate",
    "is_true",
    "number",
    "parse",
    "text",
    "walk",
]
