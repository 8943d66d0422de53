"""How an identity is shown, step by step: what is compared, the digests, the name that follows, the rules."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from stackproof.catalog.records import Catalog
from stackproof.recorder.identity import Form, Identity
from stackproof.recordings import folding
from stackproof.recordings.folding import Active
from stackproof.recordings.wording import one_line, plain, shortened

_LINES, _WIDTH = 24, 100
_FIELD, _STEP = 8, 10  # characters of the names at the left


def titled(title: str, lines: Iterator[str] | Sequence[str]) -> Iterator[str]:
    """Lines below one another, with a title left of the first."""
    for number, line in enumerate(lines):
        yield f"{'' if number else title:<{_FIELD}}{line}".rstrip()


def scope(name: str, identity: Identity) -> Iterator[str]:
    """A scope and its digest."""
    yield from titled("scope", [one_line(name), _digested(identity.scope, 12)])


def request(form: Form, identity: Identity, *, full: bool) -> Iterator[str]:
    """What is compared of a request, field by field, and its digest."""
    yield from titled("request", [*_fields(form, full=full), _digested(identity.request, 20)])


def _digested(digest: str, digits: int) -> str:
    return f"sha256 {digest[:digits]} {digest[digits:]}"


def _fields(form: Form, *, full: bool) -> Iterator[str]:
    for name in ("provider", "method", "path"):
        yield f"{name:<{_STEP}}{one_line(str(form[name]))}"
    query = " ".join(one_line(f"{key}={value}") for key, value in form["query"] or ())
    yield f"{'query':<{_STEP}}{query or 'none'}"
    body, title = form["body"], "body"
    if isinstance(body, dict) and list(body) == ["json"]:
        body, title = body["json"], "body.json"
    shown = _body(body, full=full)
    yield from (f"{'' if number else title:<{_STEP}}{line}" for number, line in enumerate(shown))


def _body(body: Any, *, full: bool) -> Iterator[str]:
    if body is None:
        yield "none"
        return
    lines = plain(json.dumps(body, indent=2, sort_keys=True, ensure_ascii=False)).splitlines()
    if full:
        yield from lines
        return
    yield from (shortened(line, _WIDTH) for line in lines[:_LINES])
    if len(lines) > _LINES:
        yield f"… {len(lines) - _LINES} more lines; --full shows all"
    elif any(len(line) > _WIDTH for line in lines):
        yield "… cut at the right; --full shows all"


def in_force(catalog: Catalog, setup: str, active: Sequence[Active]) -> Iterator[str]:
    """The rules that are in force, with who says so; a line for each suite with other ones."""
    if setup not in catalog.setups:
        yield f"there is no setup {setup} in this project, so its rules are not known"
    for those in active:
        when = f"in suite {those.suite}: " if len(active) > 1 else ""
        if not those.rules:
            yield f"{when}none in force"
        for rule in those.rules:
            yield f"{when}{folding.shown(rule)}   {folding.origin(catalog, setup, those.suite, rule)}"
