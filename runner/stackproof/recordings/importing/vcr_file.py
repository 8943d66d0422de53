"""Reads a vcrpy cassette as data, YAML or JSON: no Python object is made, and nothing unfolds into more than it is.

The format is vcrpy's `serialize.py`: a mapping with `version` 1 and `interactions`, a list of mappings with `request`
(`method`, `uri`, `body`, `headers`) and `response` (`status`, `headers`, `body`).
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from stackproof.recorder.canonical import NotPlainJson, parse
from stackproof.recordings.importing.imported import RefusedSource

VERSION = 1
# What aliases may make of a file, in characters and nodes: a repeated answer is common, a tower of them is an attack.
UNFOLDED_LIMIT = 256 * 1024 * 1024
_LOOKED_AT = 64 * 1024
_KEYS = re.compile(rb"""(?m)^\s*(?:(?:http_)?interactions\s*:|-\s+request\s*:)|["'](?:http_)?interactions["']\s*:""")
_PYTHON = "tag:yaml.org,2002:python/"
_MERGE = "tag:yaml.org,2002:merge"
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def looks_like_one(raw: bytes) -> bool:
    """Whether the beginning of a file shows the keys of a cassette, of whatever version."""
    return _KEYS.search(raw[:_LOOKED_AT]) is not None


def interactions(raw: bytes) -> list[Any]:
    """The interactions of a cassette, each as the mapping that it should be; RefusedSource when it is no cassette."""
    data = _data(raw)
    if isinstance(data, list) and data and isinstance(data[0], dict) and "request" in data[0]:
        raise RefusedSource("it is from before vcrpy 1.0; `python -m vcr.migration FILE` brings it up to date")
    if isinstance(data, dict) and "http_interactions" in data:
        raise RefusedSource("it is a cassette of VCR for Ruby or of Betamax (`http_interactions`), not of vcrpy")
    if not isinstance(data, dict) or not isinstance(data.get("interactions"), list):
        raise RefusedSource("it is no cassette: it has no list `interactions`")
    version = data.get("version", VERSION)
    if version != VERSION or isinstance(version, bool):
        raise RefusedSource(f"its version is {str(version)[:40]!r}; version {VERSION} of vcrpy's cassettes is read")
    if _unfolded(data) > UNFOLDED_LIMIT:
        raise RefusedSource(f"its YAML aliases unfold to more than {UNFOLDED_LIMIT >> 20} MiB")
    return list(data["interactions"])


def _data(raw: bytes) -> Any:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RefusedSource("it is no UTF-8 text") from None
    if text.lstrip()[:1] == "{":
        try:
            return parse(text)
        except NotPlainJson as error:
            # A YAML file may begin so, too; where it is neither, what is wrong with the JSON says more.
            try:
                return _yaml(text)
            except RefusedSource:
                raise RefusedSource(f"it cannot be read as JSON: {error}") from None
    return _yaml(text)


def _yaml(text: str) -> Any:
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader, made stricter below
    except yaml.YAMLError as error:
        raise RefusedSource(f"it cannot be read as YAML: {_said(error)}") from None
    except RecursionError:
        raise RefusedSource("it cannot be read as YAML: it is nested too deeply") from None
    except (ValueError, LookupError, AttributeError, TypeError, OverflowError):
        # What PyYAML's constructors raise for `!!int x`, `!!timestamp x`, the 99th of a month.
        raise RefusedSource("it cannot be read as YAML: a value is not what its tag or its form says") from None


def _said(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    where = f" in line {mark.line + 1}" if mark is not None else ""
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or type(error).__name__
    return f"{problem}{where}"


class _Loader(_SafeLoader):  # type: ignore[misc] # libyaml's where there is one
    """PyYAML's safe loader, without what makes one key two things or one line a thousand."""

    def flatten_mapping(self, node: Any) -> None:
        for key, _ in node.value:
            if key.tag == _MERGE:
                # Each merge copies what it merges, so that ten lines of them fill the memory; vcrpy writes none.
                raise yaml.constructor.ConstructorError(None, None, "a merge key (`<<`) is not read", key.start_mark)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # PyYAML's signature
        made = super().construct_mapping(node, deep=deep)
        if len(made) != len(node.value):
            seen: set[str] = set()
            for key, _ in node.value:
                if key.value in seen:
                    problem = f"the key {str(key.value)[:40]!r} is there twice"
                    raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                seen.add(str(key.value))
            raise yaml.constructor.ConstructorError(None, None, "a key is there twice", node.start_mark)
        return made


def _refuse_tag(loader: Any, suffix: str, node: Any) -> Any:  # noqa: ARG001 - PyYAML's signature
    # vcrpy itself reads a few of these. A file that asks for Python objects is not taken as data here.
    problem = f"it asks for a Python object (!!python/{suffix[:60]}), and cassettes are read as data only"
    raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


_Loader.add_multi_constructor(_PYTHON, _refuse_tag)


def _unfolded(data: Any) -> int:
    """How many characters and nodes there would be if each alias were written out; one that holds itself has no end."""
    sizes: dict[int, int | None] = {}
    stack = [data]
    while stack:
        value = stack[-1]
        below = _below(value)
        if sizes.get(id(value)) is not None:
            stack.pop()
        elif id(value) not in sizes:
            sizes[id(value)] = None  # being looked at
            for item in below:
                if not isinstance(item, dict | list):
                    continue
                if id(item) in sizes and sizes[id(item)] is None:
                    raise RefusedSource("its YAML aliases go round in a circle")
                if id(item) not in sizes:
                    stack.append(item)
        else:
            sizes[id(value)] = 1 + sum(_size(item, sizes) for item in below)
            stack.pop()
    return _size(data, sizes)


def _below(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value, *value.values()]
    return value if isinstance(value, list) else []


def _size(value: Any, sizes: dict[int, int | None]) -> int:
    if isinstance(value, dict | list):
        return sizes[id(value)] or 0
    return 1 + (len(value) if isinstance(value, str | bytes) else 0)
