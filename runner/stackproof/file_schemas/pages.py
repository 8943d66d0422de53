"""A page of the reference for a schema: each key with its type, default and meaning, a section for each mapping."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from stackproof.plaintext import number

Schema = dict[str, Any]
_PLAIN = {
    "string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null",
    "object": "mapping", "array": "list",
}  # fmt: skip
_SEVERAL = {"text": "texts", "mapping": "mappings", "whole number": "whole numbers", "number": "numbers"}
_NAME = "NAME"


def page(schema: Schema, *, head: Iterable[str], needed: tuple[str, str] = ("default", "has to be there")) -> str:
    """The page of a schema. head: what it begins with. needed: title of the third column, and what a needed key has."""
    parts = [*head]
    mappings: dict[str, Schema] = {}
    for title, each in _sections(schema, schema, ""):
        mappings[title] = _either(mappings[title], each) if title in mappings else each
    for title, mapping in mappings.items():
        if title:
            parts.append(f"## {title}")
        parts += _body(mapping, schema, title, needed)
    return "\n\n".join(parts) + "\n"


def _body(mapping: Schema, root: Schema, title: str, needed: tuple[str, str]) -> Iterator[str]:
    if title and mapping.get("description"):
        yield _sentence(_cell(mapping, root))
    if "properties" not in mapping:
        return
    required = mapping.get("required", ())
    word, said = needed
    rows = [
        (
            f"`{key}`",
            _type(each, root, _below(title, key)),
            said if key in required else f"`{_shown(each['default'])}`" if "default" in each else "",
            _cell(each, root),
        )
        for key, each in mapping["properties"].items()
    ]
    yield table(("key", "type", word, "meaning"), rows)


def _sections(schema: Schema, root: Schema, title: str) -> Iterator[tuple[str, Schema]]:
    """Each mapping that has keys of its own, the outermost first, and the definitions that others refer to last."""
    if "properties" in schema:
        yield title, schema
        for key, each in schema["properties"].items():
            yield from _sections(each, root, _below(title, key))
    for each in schema.get("anyOf", ()):
        yield from _sections(each, root, title)
    if isinstance(inner := schema.get("additionalProperties"), dict):
        yield from _sections(inner, root, _below(title, _NAME))
    if isinstance(inner := schema.get("items"), dict):
        yield from _sections(inner, root, title)
    if schema is root:
        for name, each in schema.get("$defs", {}).items():
            yield from _sections(each, root, name)


def _either(one: Schema, other: Schema) -> Schema:
    """The keys of two mappings that may stand in one place; what one of them lacks need not be there."""
    required = [key for key in one.get("required", ()) if key in other.get("required", ())]
    return {**one, "properties": {**one["properties"], **other["properties"]}, "required": required}


def _below(title: str, key: str) -> str:
    return f"{title}.{key}" if title else key


def _type(schema: Schema, root: Schema, title: str) -> str:
    """What a value may be, in words; a mapping with keys of its own leads to its section."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return _type(root["$defs"][name], root, name)
    for several in ("anyOf", "oneOf"):
        if several in schema and "properties" not in schema:
            return " or ".join(dict.fromkeys(_type(each, root, title) for each in schema[several]))
    if "const" in schema:
        return f"`{_shown(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{_shown(each)}`" for each in schema["enum"])
    kinds = schema.get("type", ())
    named = [_kind(kind, schema, root, title) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    return " or ".join(named) or "anything"


def _kind(kind: str, schema: Schema, root: Schema, title: str) -> str:  # noqa: PLR0911 - a table with conditions
    inner = schema.get("additionalProperties")
    match kind:
        case "object" if "properties" in schema:
            return f"[{title}](#{anchor(title)})"
        case "object" if isinstance(inner, dict):
            names = schema.get("propertyNames", {}).get("enum")
            by = f"for {', '.join(f'`{name}`' for name in names)}" if names else "by name"
            return f"{_type(inner, root, _below(title, _NAME))} {by}"
        case "array" if isinstance(schema.get("items"), dict):
            kind = _type(schema["items"], root, title)
            return f"list of {_SEVERAL.get(kind, kind)}"
        case "integer" if "minimum" in schema:
            return f"whole number from {schema['minimum']}"
        case "number" if schema.get("exclusiveMinimum") == 0:
            return "number above 0"
        case "number" if "minimum" in schema:
            return f"number from {schema['minimum']}"
        case "string" if schema.get("format") == "date":
            return "day, as 2030-12-31"
        case _:
            return _PLAIN[kind]


def anchor(title: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _shown(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case float():
            return number(value)
        case list():
            return ", ".join(map(str, value))
        case _:
            return str(value)


def _cell(schema: Schema, root: Schema) -> str:
    if "description" not in schema and "$ref" in schema:
        return _cell(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    # A template in braces and a name in capitals read better as what they are.
    return re.sub(r"(?<!`)(\{\w+\})(?!\S*`)", r"`\1`", schema.get("description", "")).replace(" -> ", " → ")


def _sentence(text: str) -> str:
    whole = text[0].upper() + text[1:]
    return whole if whole.endswith(".") else f"{whole}."


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table in Markdown."""
    lines = [head, tuple("---" for _ in head), *(tuple(cell.replace("|", "\\|") for cell in row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
