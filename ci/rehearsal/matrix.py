"""The legs of a matrix: every combination, without the excluded, with what is included.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#jobsjob_idstrategymatrix
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from ci.rehearsal.expressions import ExpressionError, text
from ci.rehearsal.expressions.values import equal

MOST = 256


def legs(given: Any) -> list[dict[str, Any]]:
    """The combinations of a matrix whose expressions are worked out. Raises ExpressionError."""
    if not isinstance(given, dict):
        raise ExpressionError(f"a matrix is a mapping, not {text(given)!r}")
    include, exclude = given.get("include") or [], given.get("exclude") or []
    axes = {key: value for key, value in given.items() if key not in ("include", "exclude")}
    for key, values in {**axes, "include": include, "exclude": exclude}.items():
        if not isinstance(values, list) or (key in axes and not values):
            raise ExpressionError(f"the matrix has no values for {key!r}")
    combinations = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())] if axes else []
    kept = [one for one in combinations if not any(_fits(one, some) for some in exclude)]
    made: list[dict[str, Any]] = [dict(one) for one in kept]
    alone: list[dict[str, Any]] = []
    for some in include:
        # It joins every combination whose own values it does not change; else it is one itself.
        shared = {key: value for key, value in some.items() if key in axes}
        joined = [leg for leg, own in zip(made, kept, strict=True) if _fits(own, shared)]
        for leg in joined:
            leg.update(some)
        if not joined:
            alone.append(dict(some))
    result = [*made, *alone]
    if not result:
        raise ExpressionError("the matrix has no combination at all")
    if len(result) > MOST:
        raise ExpressionError(f"the matrix has {len(result)} combinations; {MOST} are permitted")
    return result


def narrowed(given: Sequence[dict[str, Any]], wanted: Mapping[str, str]) -> list[dict[str, Any]]:
    """The legs that have all the wanted values, of those keys that the matrix has."""
    return [leg for leg in given if all(text(leg[key]) == value for key, value in wanted.items() if key in leg)]


def name(job: str, leg: Mapping[str, Any]) -> str:
    """What a leg is called where its job has no name."""
    shown = [text(value) for value in leg.values() if not isinstance(value, dict | list)]
    return f"{job} ({', '.join(shown)})" if shown else job


def _fits(leg: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(key in leg and (leg[key] == value or equal(leg[key], value)) for key, value in wanted.items())
