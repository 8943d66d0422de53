"""Which rules a recording is under: those of its setup and of the suites that run its scope."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stackproof.catalog.records import Catalog
from stackproof.recorder import redact, rules
from stackproof.recorder.identity import Form
from stackproof.recordings.query import owner_of, suites_of

# One by itself: two of them are bold text.
_STAR = re.compile(r"(?<!\*)\*(?!\*)")
Rules = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Active:
    """The rules of a run of one suite with the setup, in their order; `suite` is empty where it gives none."""

    suite: str
    rules: Rules


def active(catalog: Catalog, setup: str, scope: str) -> tuple[Active, ...]:
    """What is in force for a scope, once for each suite that runs it.

    What belongs to no test (`stack`, a fixture of the whole project) may be called by any suite.
    """
    known = catalog.setups.get(setup)
    own = () if known is None else known.rules
    roots = {name: spec.roots for name, spec in catalog.suites.items()}
    names = suites_of(scope, roots) if owner_of(scope) else tuple(roots)
    found = {name: own + catalog.suites[name].rules for name in names}
    distinct: list[Active] = []
    for name, those in found.items():
        if all(those != other.rules for other in distinct):
            distinct.append(Active(suite=name, rules=those))
    return tuple(distinct) or (Active(suite="", rules=own),)


def origin(catalog: Catalog, setup: str, suite: str, rule: Mapping[str, Any]) -> str:
    """Who says that a rule is in force: `setup ollama`, `suite responses`."""
    known = catalog.setups.get(setup)
    return f"setup {setup}" if known is not None and rule in known.rules else f"suite {suite}"


def shown(rule: Mapping[str, Any]) -> str:
    """A rule as it stands in YAML."""
    return "{" + ", ".join(f"{key}: {_quoted(str(value))}" for key, value in rule.items()) + "}"


def _quoted(text: str) -> str:
    return f'"{text}"' if any(mark in text for mark in "[]{},: #*&!|>'%@`") or text in ("", ".") else text


def marked(value: Any, mark: str, path: str = "") -> Iterator[str]:
    """JSON paths of the texts that are `***`, for what was masked, or in which there is a `*`, for what was folded."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from marked(item, mark, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            # A pair of a form or a query is named by its key.
            named = isinstance(item, list) and len(item) == 2 and isinstance(item[0], str)
            below = f"{path}[{item[0]}]" if named else f"{path}[{index}]"
            yield from marked(item[1] if named else item, mark, below)
    elif isinstance(value, str) and (value == mark if mark == redact.MASK else _STAR.search(value)):
        yield path


def changed_by(form: Form, those: Sequence[Mapping[str, Any]]) -> Form:
    """The form as a run with these rules would write it."""
    return rules.apply(form, those) if those else form
