"""Named rules that fold volatile parts of a request, each bound to a path and never touching other text.

A rule is a mapping: `name`, one of `BUILT_IN`; `path`, where it acts instead of where it acts by itself; `repeat:
ordinal` where requests that it makes equal may follow each other in one scope. A path is steps with a dot between:
`name` is a key, `name[]` every item of the list there, `name[role=tool]` the items in which `role` is `tool`; a dot by
itself is the whole body.

`query` leaves parameters out of the URL's query, by their names in `parameters`.

Two rules fold nothing, and name an `endpoint` (`GET /batches/*`: method and path, `*` for one step). `poll` with
`repeat: last`: requests to it get the last recorded answer again when they are asked more often than was recorded.
`shared`: a request to it that has no recording in its scope is answered by one that belongs to no test.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FLOAT_PLACES = 5
_EXACT = 2**53
FOLDED = "*"
POLL, SHARED, QUERY = "poll", "shared", "query"
_KEYS = frozenset({"name", "path", "repeat"})
_KEYS_OF = {
    POLL: frozenset({"name", "endpoint", "repeat"}),
    SHARED: frozenset({"name", "endpoint"}),
    QUERY: frozenset({"name", "parameters", "repeat"}),
}
_ENDPOINT = re.compile(r"[A-Z]+ (/[^/?#\s]+)+")
_STEP = re.compile(r"(?P<name>[^.\[\]]+)(?:\[(?P<pick>[^\]]*)\])?(?:\.|\Z)")
_LONG_DECIMAL = re.compile(r"-?\d+\.\d{4,}(?:[eE][-+]?\d+)?")
_FILE_SEARCH = (
    re.compile(r"(?P<kept>\bdocument_id\"?\s*[:=]\s*)\"?[\w-]+\"?"),
    re.compile(r"(?P<kept>\bscore\"?\s*[:=]\s*)-?\d+\.\d+(?:[eE][-+]?\d+)?"),
    re.compile(r"(?P<kept>\battributes\"?\s*[:=]\s*)\{[^{}]*\}"),
    re.compile(r"(?P<kept><\|)file-[\w-]+(?=\|>)"),
)

Act = Callable[[Any], Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class _BuiltIn:
    act: Act
    paths: tuple[str, ...] = ()  # none: the whole body


def check(active: Sequence[Mapping[str, Any]]) -> None:
    """ValueError names the first rule that is none: its name, a key, or its path."""
    known = (*BUILT_IN, *_KEYS_OF)
    for rule in active:
        name = rule.get("name")
        if name not in known:
            raise ValueError(f"rule {name!r} is not one of: {', '.join(sorted(known))}")
        unknown = sorted(str(key) for key in rule if key not in _KEYS_OF.get(str(name), _KEYS))
        if unknown:
            raise ValueError(f"rule {name!r} has an unknown key: {unknown[0]}")
        if name in (POLL, SHARED):
            _check_endpoint(rule)
        elif rule.get("repeat", "ordinal") != "ordinal":
            raise ValueError(f"rule {name!r}: repeat can only be 'ordinal', not {rule['repeat']!r}")
        if name == QUERY:
            _check_parameters(rule)
        if "path" in rule:
            _steps(str(rule["path"]))


def _check_endpoint(rule: Mapping[str, Any]) -> None:
    if rule["name"] == POLL and rule.get("repeat") != "last":
        raise ValueError(f"rule 'poll' needs repeat: last, not {rule.get('repeat')!r}")
    if not _ENDPOINT.fullmatch(str(rule.get("endpoint"))):
        raise ValueError(
            f"rule {rule['name']!r}: {rule.get('endpoint')!r} is no endpoint: a method and a path, as GET /batches/*"
        )


def _check_parameters(rule: Mapping[str, Any]) -> None:
    named = rule.get("parameters")
    if not isinstance(named, list | tuple) or not named or not all(isinstance(name, str) for name in named):
        raise ValueError("rule 'query' needs 'parameters', a list of the names that are left out of the URL's query")


def repeats_last(form: Mapping[str, Any], active: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a rule says that the last recorded answer to this request stays."""
    return _names_endpoint(POLL, form, active)


def is_shared(form: Mapping[str, Any], active: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a rule says that what belongs to no test answers this request, where its own scope does not."""
    return _names_endpoint(SHARED, form, active)


def _names_endpoint(name: str, form: Mapping[str, Any], active: Sequence[Mapping[str, Any]]) -> bool:
    asked = f"{form['method']} {form['path']}".split("/")
    for rule in active:
        if rule["name"] == name:
            wanted = str(rule["endpoint"]).split("/")
            if len(wanted) == len(asked) and all(step in ("*", got) for step, got in zip(wanted, asked, strict=True)):
                return True
    return False


def apply(form: dict[str, Any], active: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The form after the active rules (which `check` has seen), in their order."""
    left_out = {name for rule in active if rule["name"] == QUERY for name in rule["parameters"]}
    if left_out and form["query"]:
        form = {**form, "query": [pair for pair in form["query"] if pair[0] not in left_out]}
    body = form["body"]
    if not active or not isinstance(body, dict) or "json" not in body:
        return form
    value = body["json"]
    for rule in active:
        if rule["name"] in _KEYS_OF:
            continue
        built_in = BUILT_IN[str(rule["name"])]
        paths = (str(rule["path"]),) if "path" in rule else built_in.paths
        for path in paths:
            value = _at(value, _steps(path), built_in.act)
        if not paths:
            value = built_in.act(value)
    return {**form, "body": {"json": value}}


def acted(before: dict[str, Any], active: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The rules that change this form."""
    return [rule for rule in active if apply(before, [rule]) != before]


def _steps(path: str) -> list[tuple[str, str | None]]:
    if path == ".":
        return []
    found, end = [], 0
    for step in _STEP.finditer(path):
        if step.start() != end:
            break
        found.append((step["name"], step["pick"]))
        end = step.end()
    if not found or end != len(path) or path.endswith("."):
        raise ValueError(f"{path!r} is no path: steps like name, name[] or name[key=value], with a dot between")
    return found


def _at(value: Any, steps: Sequence[tuple[str, str | None]], act: Act) -> Any:
    if not steps:
        return act(value)
    (name, pick), rest = steps[0], steps[1:]
    if not isinstance(value, dict) or name not in value:
        return value
    below = value[name]
    if pick is None:
        return {**value, name: _at(below, rest, act)}
    if not isinstance(below, list):
        return value
    return {**value, name: [_at(item, rest, act) if _is_picked(item, pick) else item for item in below]}


def _is_picked(item: Any, pick: str) -> bool:
    key, _, wanted = pick.partition("=")
    return not pick or (isinstance(item, dict) and item.get(key) == wanted)


def _everywhere(value: Any, kind: type, act: Act) -> Any:
    if isinstance(value, kind):
        return act(value)
    if isinstance(value, list):
        return [_everywhere(item, kind, act) for item in value]
    if isinstance(value, dict):
        return {key: _everywhere(item, kind, act) for key, item in value.items()}
    return value


def _floats(value: Any) -> Any:
    return _everywhere(value, float, lambda number: round(number, FLOAT_PLACES))


def _whole_floats(value: Any) -> Any:
    return _everywhere(value, float, lambda number: int(number) if _is_exact_integer(number) else number)


def _is_exact_integer(number: float) -> bool:
    # From here on a float no longer tells neighbouring integers apart.
    return number.is_integer() and abs(number) < _EXACT


def _long_decimals(value: Any) -> Any:
    return _everywhere(value, str, lambda text: _LONG_DECIMAL.sub(FOLDED, text))


def _file_search(value: Any) -> Any:
    return _everywhere(value, str, _without_search_marks)


def _without_search_marks(text: str) -> str:
    for pattern in _FILE_SEARCH:
        text = pattern.sub(rf"\g<kept>{FOLDED}", text)
    return text


def _nulls(value: Any) -> Any:
    if isinstance(value, list):
        return [_nulls(item) for item in value]
    if isinstance(value, dict):
        return {key: _nulls(item) for key, item in value.items() if item is not None}
    return value


def _without(name: str) -> Act:
    def drop(value: Any) -> Any:
        return {key: item for key, item in value.items() if key != name} if isinstance(value, dict) else value

    return drop


BUILT_IN: Mapping[str, _BuiltIn] = {
    "floats": _BuiltIn(act=_floats),
    # One number, written by a stack that reads what it is sent into typed fields: 0 goes out as 0.0.
    "whole_floats": _BuiltIn(act=_whole_floats),
    "nulls": _BuiltIn(act=_nulls),
    "long_decimals": _BuiltIn(act=_long_decimals),
    # What a search tool found, as it comes back to the model on each wire.
    "file_search": _BuiltIn(
        act=_file_search,
        paths=(
            "messages[role=tool].content",
            "input[type=function_call_output].output",
            "messages[].content[type=tool_result].content",
        ),
    ),
    "bedrock": _BuiltIn(act=_without("stream_options")),
    "project_id": _BuiltIn(act=_without("project_id"), paths=("extra_body", "extra_query")),
}
