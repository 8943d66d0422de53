"""A YAML file with the line of everything in it, read as the service reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import yaml
from ci.rehearsal.problems import Place, WorkflowError

Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A file's content. lines: the first line of each value, by the way to it."""

    file: str
    data: Any
    lines: Mapping[Path, int]

    def place(self, path: Path, *, below: int = 0) -> Place:
        """Where a value stands, or what holds it; below: so many lines further down."""
        what = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
        while path and path not in self.lines:
            path = path[:-1]
        return Place(file=self.file, line=self.lines.get(path, 1) + below, what=what)


@dataclass(frozen=True, slots=True)
class Reference:
    """GitLab's `!reference [job, key]`."""

    path: tuple[str, ...]


def read_github(text: str, file: str) -> Document:
    """As GitHub reads a workflow: YAML 1.2's words, so that `on` stays a word. Raises WorkflowError."""
    return _read(text, file, _GitHub)


def plain(value: Any) -> str:
    """A scalar as the text that a program is given: no value is an empty one."""
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def read_gitlab(text: str, file: str) -> Document:
    """As GitLab reads its configuration: YAML 1.1's words, merge keys, `!reference`. Raises WorkflowError."""
    return _read(text, file, _GitLab)


class _GitHub(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - the library's own way


for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
):
    _GitHub.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), list(_first))


class _GitLab(yaml.SafeLoader):
    pass


_GitLab.add_constructor("!reference", lambda _, node: Reference(tuple(str(one.value) for one in node.value)))


def _read(text: str, file: str, kind: Callable[[str], Any]) -> Document:
    loader = kind(text)
    lines: dict[Path, int] = {}
    try:
        root = loader.get_single_node()
        if root is None:
            raise WorkflowError(Place(file=file, line=1), "the file is empty")
        data = loader.construct_document(root)
        _note(root, (), lines, file, set())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = mark.line + 1 if mark is not None else 1
        raise WorkflowError(Place(file=file, line=line), f"this is no YAML: {error.problem}") from None
    finally:
        loader.dispose()
    if not isinstance(data, dict):
        raise WorkflowError(Place(file=file, line=1), "the file holds no mapping")
    return Document(file=file, data=data, lines=lines)


def _note(node: yaml.Node, path: Path, lines: dict[Path, int], file: str, around: set[int]) -> None:
    # The text of a block starts on the line below its sign.
    block = isinstance(node, yaml.ScalarNode) and node.style in ("|", ">")
    lines[path] = node.start_mark.line + 1 + block
    if id(node) in around:
        return
    around = {*around, id(node)}
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen and key.value != "<<":
                place = Place(file=file, line=key.start_mark.line + 1)
                raise WorkflowError(place, f"the key {key.value!r} stands here a second time")
            seen.add(key.value)
            _note(value, (*path, key.value), lines, file, around)
            if not isinstance(value, yaml.ScalarNode):
                lines[(*path, key.value)] = key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            _note(value, (*path, number), lines, file, around)
