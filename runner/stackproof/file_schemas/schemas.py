"""JSON Schemas of the YAML files, from what their readers ask for and what their records say.

https://json-schema.org/draft/2020-12/json-schema-core: the keywords used are type, enum, const, properties, required,
additionalProperties, propertyNames, items, anyOf, minimum, exclusiveMinimum, format, default and description.
"""

from __future__ import annotations

from datetime import date
from typing import Any, get_args

from stackproof.file_schemas.records_of import Known, known
from stackproof.file_schemas.watching import ANY, ITEM, Asked, Place, Seen, Watch

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def of_mapping(watch: Watch, place: Place, record: type | None, also: dict[str, Schema]) -> Schema:
    """The schema of the mapping at `place`; also: what no reader's question shows, by place (`docker.port`)."""
    seen = watch.seen.get(place, Seen())
    if seen.named:
        return {"type": "object", "additionalProperties": of_mapping(watch, (*place, ANY), record, also)}
    if not seen.keys:
        kinds = _plain(set().union(*seen.asked.values()), Known(), min(seen.least.values(), default=None))
        return {"type": "object", "additionalProperties": _one(kinds)}
    properties = {key: _of_key(watch, (*place, key), seen, record, also) for key in seen.keys}
    made: Schema = {"type": "object", "additionalProperties": False, "properties": properties}
    required = [
        key
        for key in seen.keys
        if not also.get(".".join((*place, key)), {}).get("optional")
        and _is_required(seen, key, known(record, key), properties[key])
    ]
    return {**made, "required": required} if required else made


def _of_key(watch: Watch, place: Place, seen: Seen, record: type | None, also: dict[str, Schema]) -> Schema:
    key, facts = place[-1], known(record, place[-1])
    more = also.get(".".join(place), {})
    kinds = _plain(seen.asked.get(key, set()), facts, seen.least.get(key))
    # A mapping without a record of its own is explained where it stands.
    inner = next(iter(facts.records), record)
    if place in watch.seen and Asked.TEXT_MAP not in seen.asked.get(key, set()):
        kinds = [each for each in kinds if each != {"type": "object"}]
        nested = of_mapping(watch, place, inner, also)
        if facts.names:
            nested["propertyNames"] = {"enum": list(facts.names)}
        kinds.append(nested)
    if (*place, ITEM) in watch.seen and Asked.MAPPINGS not in seen.asked.get(key, set()):
        kinds.append({"type": "array", "items": of_mapping(watch, (*place, ITEM), inner, also)})
    made: Schema = {}
    if facts.meaning:
        made["description"] = facts.meaning
    if type(None) in get_args(facts.hint) and facts.default is not None:
        kinds.append({"type": "null"})  # it says something else than leaving the key out
    made |= _one([*kinds, *more.get("or", ())] or [_of_hint(facts.hint)])
    flags = seen.defaults.get(key, set())
    default = next(iter(flags)) if len(flags) == 1 else None if flags else facts.default
    if default is not None:
        made["default"] = default
    return made | {name: value for name, value in more.items() if name not in ("or", "optional")}


def _is_required(seen: Seen, key: str, facts: Known, schema: Schema) -> bool:
    asked = Asked.REQUIRED_TEXT in seen.asked.get(key, set())
    return "default" not in schema and ("const" in schema or facts.is_required or asked)


def _plain(asked: set[Asked], facts: Known, least: int | None) -> list[Schema]:
    """The kinds of value that were asked for, those of mappings with keys of their own aside."""
    text: Schema = {"type": "string"} | ({"enum": list(facts.words)} if facts.words else {})
    names: Schema = {"propertyNames": {"enum": list(facts.names)}} if facts.names else {}
    kinds: dict[Asked, Schema] = {
        Asked.TEXT: text,
        Asked.TEXTS: {"type": "array", "items": text},
        Asked.TEXT_MAP: {"type": "object", "additionalProperties": {"type": "string"}, **names},
        Asked.INTEGER: {"type": "integer", **({} if least is None else {"minimum": least})},
        Asked.SECONDS: {"type": "number", "exclusiveMinimum": 0},
        Asked.BOOLEAN: {"type": "boolean"},
        Asked.MAPPINGS: {"type": "array", "items": {"type": "object"}},
        Asked.SECTION: {"type": "object"},
    }
    # A text that has to be there is asked for as a text too, and a mapping of texts as a mapping.
    wanted = {Asked.TEXT if each is Asked.REQUIRED_TEXT else each for each in asked}
    if Asked.TEXT_MAP in wanted:
        wanted.discard(Asked.SECTION)
    return [schema for each, schema in kinds.items() if each in wanted]


def _of_hint(hint: Any) -> Schema:
    """For a value that a reader looks at by itself."""
    if hint is float:
        return {"type": "number"}
    return {"type": "string", "format": "date"} if hint is date else {}


def _one(kinds: list[Schema]) -> Schema:
    return dict(kinds[0]) if len(kinds) == 1 else {"anyOf": kinds} if kinds else {}
