"""A configuration with everything put in its place: `extends`, `!reference`, `default`, `include: local`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ci.rehearsal.document import Document, Reference, plain, read_gitlab
from ci.rehearsal.problems import Place, WorkflowError

_TOP = frozenset({"stages", "workflow", "variables", "default", "include", "spec"})
_DEFAULTS = frozenset(
    {
        "after_script", "artifacts", "before_script", "cache", "hooks", "id_tokens", "image", "interruptible", "retry",
        "services", "tags", "timeout",
    }
)  # fmt: skip
_JOB = _DEFAULTS | {
    "allow_failure", "coverage", "dependencies", "environment", "extends", "inherit", "needs", "parallel",
    "resource_group",
    "rules", "script", "stage", "trigger", "variables", "when", "description",
}  # fmt: skip
_STAGES = ("build", "test", "deploy")
_DEEPEST = 10
_TIME = re.compile(r"(\d+)\s*(hours?|minutes?|mins?|seconds?|secs?|h|m|s)?")
_UNITS = {"h": 3600, "m": 60, "s": 1}


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """jobs: without templates, each whole. places: where each job starts. workflow: rules of the pipeline itself."""

    file: str
    stages: tuple[str, ...]
    variables: Mapping[str, str]
    workflow: tuple[Mapping[str, Any], ...] | None
    jobs: Mapping[str, Mapping[str, Any]]
    places: Mapping[str, Place]


def load(sources: list[tuple[str, str]], include: Callable[[str], str | None]) -> Config:
    """From texts with their names, each over the one before it. include: a file's text. Raises WorkflowError."""
    merged: dict[str, Any] = {}
    places: dict[str, Place] = {}
    for text, name in sources:
        _add(read_gitlab(text, name), merged, places, include, 0)
    default = merged.get("default") or {}
    top = places.get("", Place(file=sources[0][1], line=1))
    _known(default, _DEFAULTS, places.get("default", top), "default")
    jobs = {}
    for name, given in merged.items():
        if name in _TOP or name.startswith("."):
            continue
        place = places[name]
        if not isinstance(given, dict):
            raise WorkflowError(place, f"{name!r} is neither a keyword nor a job")
        job = _resolved({**default, **_extended(name, merged, place, ())}, merged, place, 0)
        job.pop("extends", None)
        _known(job, _JOB, place, name)
        if ("script" in job) == ("trigger" in job):
            raise WorkflowError(place, f"the job {name!r} has to have either 'script' or 'trigger'")
        jobs[name] = job
    workflow = merged.get("workflow") or {}
    return Config(
        file=sources[0][1],
        stages=(".pre", *(one for one in merged.get("stages", _STAGES) if one not in (".pre", ".post")), ".post"),
        variables=variables(_resolved(merged.get("variables") or {}, merged, top, 0)),
        workflow=tuple(_resolved(workflow["rules"], merged, top, 0)) if "rules" in workflow else None,
        jobs=jobs,
        places=places,
    )


class Raw(str):
    """A value with `expand: false`: what looks like a variable in it is text."""

    __slots__ = ()


def variables(given: Mapping[str, Any]) -> dict[str, str]:
    """Values as text; one with a description or with `expand: false` has its value below it."""
    made = {}
    for name, one in given.items():
        entry = one if isinstance(one, dict) else {"value": one}
        value = plain(entry.get("value", ""))
        made[name] = value if entry.get("expand", True) else Raw(value)
    return made


def seconds(given: Any, place: Place) -> float:
    """A duration such as `1h 30m` or `20 minutes`."""
    text = str(given).strip()
    found = list(_TIME.finditer(text))
    if not found or _TIME.sub("", text).replace("and", "").strip(", "):
        raise WorkflowError(place, f"{text!r} is no time")
    return float(sum(int(one[1]) * _UNITS[(one[2] or "s")[0]] for one in found))


def lines(given: Any) -> list[str]:
    """A script: one line, or a list whose lists are flattened."""
    if given is None:
        return []
    return [line for one in given for line in lines(one)] if isinstance(given, list) else [str(given)]


def _add(
    document: Document,
    merged: dict[str, Any],
    places: dict[str, Place],
    include: Callable[[str], str | None],
    depth: int,
) -> None:
    data = dict(document.data)
    given = data.pop("include", None) or []
    for one in given if isinstance(given, list) else [given]:
        path = one if isinstance(one, str) else one.get("local")
        place = document.place(("include",))
        if path is None or depth >= _DEEPEST:
            raise WorkflowError(place, f"only files of this repository are included here, not {one!r}")
        text = include(path.lstrip("/"))
        if text is None:
            raise WorkflowError(place, f"there is no {path}")
        _add(read_gitlab(text, path.lstrip("/")), merged, places, include, depth + 1)
    places.setdefault("", document.place(()))
    for name, value in data.items():
        places[name] = document.place((name,))
        both = isinstance(value, dict) and isinstance(merged.get(name), dict)
        merged[name] = _merge(merged[name], value) if both else value


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Mappings key by key, everything else as it is above."""
    made = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(made.get(key), dict)
        made[key] = _merge(made[key], value) if both else value
    return made


def _extended(name: str, merged: Mapping[str, Any], place: Place, below: tuple[str, ...]) -> dict[str, Any]:
    if name in below or name not in merged:
        raise WorkflowError(
            place, f"{' → '.join((*below, name))}: {'a circle' if name in below else 'there is no such job'}"
        )
    given = merged[name]
    made: dict[str, Any] = {}
    bases = given.get("extends") or []
    for base in [bases] if isinstance(bases, str) else bases:
        made = _merge(made, _extended(base, merged, place, (*below, name)))
    return _merge(made, given)


def _resolved(value: Any, merged: Mapping[str, Any], place: Place, depth: int) -> Any:
    if depth > _DEEPEST:
        raise WorkflowError(place, "!reference is nested too deeply")
    match value:
        case Reference(path=path):
            found: Any = merged
            for key in path:
                if not isinstance(found, dict) or key not in found:
                    raise WorkflowError(place, f"!reference {list(path)}: there is no {key!r}")
                found = found[key]
            return _resolved(found, merged, place, depth + 1)
        case dict():
            return {key: _resolved(one, merged, place, depth) for key, one in value.items()}
        case list():
            made: list[Any] = []
            for one in value:
                got = _resolved(one, merged, place, depth)
                # A reference to a list, or an alias of one, stands for its items.
                made += got if isinstance(got, list) else [got]
            return made
        case _:
            return value


def _known(given: Mapping[str, Any], known: frozenset[str], place: Place, what: str) -> None:
    for key in given:
        if key not in known:
            raise WorkflowError(place, f"{what}: the key {key!r} is unknown here, or is not played")
