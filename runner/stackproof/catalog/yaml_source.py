"""Reads YAML so that every complaint can name its file, line and neighbouring spelling."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import yaml

from stackproof.errors import UsageError
from stackproof.recorder import rules
from stackproof.suggest import did_you_mean


class LinedDict(dict[str, Any]):
    """A mapping that remembers on which line (from 1) it and each of its keys stand."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line
        self.lines: dict[str, int] = {}


def _lined(loader: Any, node: yaml.MappingNode) -> LinedDict:
    """A mapping with its lines. Refuses what YAML silently folds: duplicate keys and keys that are no text."""
    seen: set[object] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        is_merge = key_node.tag == "tag:yaml.org,2002:merge"
        if not isinstance(key, str) and not is_merge:
            raise yaml.constructor.ConstructorError(
                None, None, f"key {key!r} must be text, write it in quotes", key_node.start_mark
            )
        if isinstance(key, Hashable) and key in seen:
            raise yaml.constructor.ConstructorError(None, None, f"duplicate key {key!r}", key_node.start_mark)
        seen.add(key)
    loader.flatten_mapping(node)
    result = LinedDict(node.start_mark.line + 1)
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        result[key] = loader.construct_object(value_node, deep=True)
        result.lines[key] = key_node.start_mark.line + 1
    return result


class _Loader(yaml.SafeLoader):
    """Words what is wrong with a file."""


class _Quick(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc] # libyaml's where there is one
    """Reads what nothing is wrong with, in a seventh of the time."""


for _loader in (_Loader, _Quick):
    _loader.add_constructor("tag:yaml.org,2002:map", _lined)


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """One mapping of a YAML file. Its readers return checked values or raise a UsageError with file and line.

    what: how a message calls it (`setup 'ollama'`). shown: the file as a message names it.
    """

    what: str
    shown: str
    data: LinedDict

    def fail(self, message: str, *, key: str | None = None, hint: str | None = None) -> NoReturn:
        """Raise a UsageError that names the line of `key`, or of the section."""
        line = self.data.lines.get(key, self.data.line) if key is not None else self.data.line
        raise UsageError(f"{self.shown}:{line}: {message}", hint=hint)

    def only(self, *known: str) -> None:
        """Refuse keys that are not in `known`, naming the nearest that is."""
        for key in self.data:
            if key not in known:
                self.fail(
                    f"unknown key {key!r} in {self.what}{did_you_mean(key, known)}",
                    key=key,
                    hint=f"known keys: {', '.join(sorted(known))}",
                )

    def text(self, key: str) -> str | None:
        """Text, or None when the key is absent or null."""
        value = self.data.get(key)
        return None if value is None else self._text(key, value)

    def required_text(self, key: str) -> str:
        """Text that must be there and not empty."""
        value = self.text(key)
        if not value:
            self.fail(f"{self.what} lacks {key!r}", key=key)
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; absent is empty."""
        value = self.data.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            self._wrong(key, "a list of texts", value)
        return tuple(self._text(key, item) for item in value)

    def text_map(self, key: str) -> dict[str, str]:
        """A mapping of text to text; absent is empty."""
        inner = self.section(key, f"{key!r} of {self.what}")
        return {} if inner is None else {name: inner.required_value(name) for name in inner.data}

    def required_value(self, key: str) -> str:
        """Text that must be there and may be empty."""
        return self._text(key, self.data.get(key))

    def integer(self, key: str, *, minimum: int) -> int | None:
        """A whole number of at least `minimum`, or None when absent."""
        value = self.data.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
            self._wrong(key, f"a whole number of at least {minimum}", value)
        return value

    def seconds(self, key: str) -> float | None:
        """A positive number of seconds, or None when absent."""
        value = self.data.get(key)
        if value is None:
            return None
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < float("inf"):
            self._wrong(key, "a positive number of seconds", value)
        return float(value)

    def boolean(self, key: str, *, default: bool) -> bool:
        """true or false."""
        value = self.data.get(key, default)
        if not isinstance(value, bool):
            self._wrong(key, "true or false", value)
        return value

    def mappings(self, key: str) -> tuple[Mapping[str, object], ...]:
        """A list of mappings with free content; absent is empty."""
        value = self.data.get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, LinedDict) for item in value):
            self._wrong(key, "a list of mappings", value)
        return tuple(plain(item) for item in value)

    def rules(self) -> tuple[Mapping[str, object], ...]:
        """The rules on volatile request fields, as the recorder knows them; absent is empty."""
        found = self.mappings("rules")
        try:
            rules.check(found)
        except ValueError as error:
            self.fail(f"{self.what}: {error}", key="rules")
        return found

    def items(self, key: str, called: Callable[[int], str]) -> Iterator[Section]:
        """The mappings of the list at `key`, each called by its number from 1; absent is empty."""
        value = self.data.get(key)
        if value is not None and not isinstance(value, list):
            self._wrong(key, "a list of mappings", value)
        for number, item in enumerate(value or (), 1):
            if not isinstance(item, LinedDict):
                self.fail(f"{called(number)} must be a mapping, not {_kind(item)}", key=key)
            yield Section(what=called(number), shown=self.shown, data=item)

    def section(self, key: str, what: str) -> Section | None:
        """The mapping below `key`, or None when absent."""
        value = self.data.get(key)
        if value is None:
            return None
        if not isinstance(value, LinedDict):
            self._wrong(key, "a mapping", value)
        return Section(what=what, shown=self.shown, data=value)

    def sections(self, kind: str) -> Iterable[tuple[str, Section]]:
        """Every value as a section of its own, called `<kind> '<key>'` in messages."""
        for key in self.data:
            inner = self.section(key, f"{kind} {key!r}")
            if inner is None:
                self.fail(f"{kind} {key!r} is empty", key=key)
            yield key, inner

    def _text(self, key: str, value: object) -> str:
        if not isinstance(value, str):
            self._wrong(key, "text", value)
        return value

    def _wrong(self, key: str, wanted: str, value: object) -> NoReturn:
        hint = None
        if wanted.endswith(("text", "texts")) and isinstance(value, bool | int | float):
            hint = "write the value in quotes"
        elif wanted == "a list of texts" and isinstance(value, str):
            hint = f"write {key}: [{value}]"
        self.fail(f"{key!r} in {self.what} must be {wanted}, not {_kind(value)}", key=key, hint=hint)


def read(path: Path, *, what: str, shown: str) -> Section:
    """Read the one mapping that `path` holds; UsageError for anything else, with file and line where there is one."""
    try:
        text = path.read_text(encoding="utf-8")
        data = _data(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{shown}:{mark.line + 1 if mark else 1}"
        if isinstance(error, yaml.constructor.ConstructorError):
            raise UsageError(f"{where}: {error.problem}") from error
        raise UsageError(
            f"{where}: cannot be read as YAML: {error.problem}",
            hint="the mistake is here or just before: a bracket, a quote, a colon, or the indentation",
        ) from error
    except (yaml.YAMLError, ValueError, RecursionError, OSError) as error:
        detail = " ".join(str(getattr(error, "strerror", None) or error).split())
        raise UsageError(f"{shown}: cannot be read as YAML in UTF-8: {detail}") from error
    if data is None:
        data = LinedDict(1)
    if not isinstance(data, LinedDict):
        raise UsageError(f"{shown}:1: {what} must be a mapping, not {_kind(data)}")
    return Section(what=what, shown=shown, data=data)


def _data(text: str) -> Any:
    """What a document says. Both loaders are safe ones: they build plain data only."""
    with suppress(yaml.YAMLError, ValueError, RecursionError):
        return yaml.load(text, Loader=_Quick)  # noqa: S506
    return yaml.load(text, Loader=_Loader)  # noqa: S506


def plain(value: object) -> Any:
    """The same data in ordinary dicts and lists, without line numbers."""
    match value:
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case list():
            return [plain(item) for item in value]
        case _:
            return value


def _kind(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return f"the truth value {str(value).lower()}"
        case int() | float():
            return f"the number {value}"
        case str():
            return f"the text {value!r}"
        case _:
            return {"LinedDict": "a mapping"}.get(type(value).__name__, f"a {type(value).__name__}")
