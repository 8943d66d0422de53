"""Brings a recording to what would be written today, from the table of rules that the recorder has.

Its request stays as it is, so its key does; and so do its ids: once written, an id is data that later requests carry.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from stackproof.recorder import redact
from stackproof.recorder.miss import differences
from stackproof.recorder.normalise import RULES, Ids, normalise, wire_of
from stackproof.recorder.recording import Recording

HEADERS, SECRETS, LAYOUT = "response-headers", "secret-fields", "layout"
# The order in which the recorder writes keys; what it does not know follows.
_ORDER = (
    "format", "test_id", "scope", "request", "response", "rules", "provenance", "id_normalization_mapping",
)  # fmt: skip
_REQUEST_ORDER = (
    "provider", "method", "url", "path", "query", "endpoint", "model", "headers", "body", "unfolded",
)  # fmt: skip
_RESPONSE_ORDER = (
    "status", "headers", "is_streaming", "framing", "events", "body", "cut", "waits", "complete", "is_exception",
    "exception",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """What a rule would do in one file: `path` is a JSON path in which `[]` is any item, `count` how many of them.

    `rule` is the name of one of the recorder's rules, `response-headers`, `secret-fields`, or `layout` (without path).
    """

    rule: str
    path: str
    count: int = 1


class _Kept(Ids):
    """Ids that were written are data: later requests, and files of other tests, may carry them."""

    def __init__(self) -> None:
        super().__init__("", 1)

    def _write(self, real: Any, make: Callable[[str], str]) -> Any:  # noqa: ARG002 - the shape of what it replaces
        return real


def normalized(content: Recording) -> Recording:
    """The recording as it would be written today, a new object; what `content` holds is not changed."""
    # A copy by way of bytes takes a tenth of the time of `copy.deepcopy`, and there may be a hundred thousand files.
    response = pickle.loads(pickle.dumps(content["response"], pickle.HIGHEST_PROTOCOL))  # noqa: S301 - made just here
    response["headers"] = {
        key: value for key, value in response["headers"].items() if key.lower() in redact.RESPONSE_HEADERS
    }
    for owner, key, _ in _answers(response):
        owner[key] = redact.response(normalise(owner[key], _Kept()))
    made = {
        **content,
        "request": _ordered(content["request"], _REQUEST_ORDER),
        "response": _ordered(response, _RESPONSE_ORDER),
    }
    assert made["request"] == content["request"]  # noqa: S101 - a key that changes would orphan its file
    return _ordered(made, _ORDER)


def changes(before: Recording, after: Recording) -> tuple[Change, ...]:
    """What `normalized` did, by rule and path; empty where only the order of keys differs, or nothing."""
    wires = {path: wire_of(owner[key]) for owner, key, path in _answers(before["response"])}
    found: Counter[tuple[str, str]] = Counter()
    for path, _, _ in differences(before["response"], after["response"]):
        root = next((root for root in wires if path.startswith((f"{root}.", f"{root}["))), None)
        below = _any_item(path if root is None else path[len(root) :].lstrip("."))
        rule = HEADERS if path.startswith("headers.") else _rule_of(below, None if root is None else wires[root])
        found[rule, _any_item(f"response.{path}")] += 1
    return tuple(Change(rule=rule, path=path, count=count) for (rule, path), count in found.items())


def _answers(response: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str, str]]:
    """(owner, key, path below the response) of each JSON value that the provider said."""
    body = response.get("body")
    if isinstance(body, dict) and "json" in body:
        yield body, "json", "body.json"
    for index, event in enumerate(response.get("events") or ()):
        if "data" in event:
            yield event, "data", f"events[{index}].data"


def _rule_of(path: str, wire: str | None) -> str:
    for rule in RULES:
        if wire in rule.wires and any(
            path == where or path.startswith((f"{where}.", f"{where}[")) for where in rule.paths
        ):
            return rule.name
    return SECRETS


def _any_item(path: str) -> str:
    head, *rest = path.split("[")
    return "".join([head, *("[]" + part.partition("]")[2] for part in rest)])


def _ordered(value: dict[str, Any], order: tuple[str, ...]) -> dict[str, Any]:
    known = {key: value[key] for key in order if key in value}
    return {**known, **{key: item for key, item in value.items() if key not in known}}
