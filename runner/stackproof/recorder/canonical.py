"""One text for equal JSON values, and the refusal to read JSON that has no single meaning."""

from __future__ import annotations

import json
import json.encoder
import math
from collections.abc import Callable
from typing import Any

# Deeper than any request that means something, and far from the depth at which a walk of ours would run out of stack.
DEPTH_LIMIT = 100


class NotPlainJson(ValueError):  # noqa: N818 - it is a finding, not a failure
    """The text is no JSON, or one that different readers read differently (duplicate keys, NaN, too deep)."""


Pairs = list[tuple[str, Any]]


def unique(pairs: Pairs) -> dict[str, Any]:
    """An object; NotPlainJson when a key occurs twice."""
    value = dict(pairs)
    if len(value) != len(pairs):
        raise NotPlainJson("duplicate key")
    return value


def _constant(name: str) -> Any:
    raise NotPlainJson(f"{name} is not JSON")


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise NotPlainJson(f"{text} is out of range")
    return value


def reader(pairs: Callable[[Pairs], dict[str, Any]]) -> Callable[[str], Any]:
    """A decoder that makes each object with `pairs` and reads numbers exactly."""
    return whole(json.JSONDecoder(object_pairs_hook=pairs, parse_constant=_constant, parse_float=_float))


def whole(decoder: json.JSONDecoder) -> Callable[[str], Any]:
    """`decoder.decode` without its search for white space where there is none: a fifth of the time of a small text."""
    at_once, decode = decoder.raw_decode, decoder.decode

    def read(text: str) -> Any:
        try:
            value, end = at_once(text)
        except json.JSONDecodeError:
            return decode(text)
        return value if end == len(text) or not text[end:].strip(" \t\n\r") else decode(text)

    return read


_read_plain = reader(unique)


def parse(raw: bytes | str, read: Callable[[str], Any] = _read_plain) -> Any:
    """Read JSON exactly; NotPlainJson for anything that would lose or invent something. `read`: from `reader`."""
    try:
        text = raw.decode("utf-8") if isinstance(raw, bytes) else raw
        value = read(text)
    except NotPlainJson:
        raise
    except (ValueError, RecursionError) as error:
        raise NotPlainJson(str(error) or type(error).__name__) from None
    # Each level needs an opening bracket: counting them is cheap and nearly always answers the question.
    if text.count("[") + text.count("{") > DEPTH_LIMIT and _is_deep(value):
        raise NotPlainJson(f"more than {DEPTH_LIMIT} levels deep")
    return value


def _is_deep(value: Any) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEPTH_LIMIT):
        if not level:
            return False
        below = (item.values() if isinstance(item, dict) else item for item in level)
        level = [item for items in below for item in items if isinstance(item, dict | list)]
    return bool(level)


def writer(
    *, ascii_only: bool, sort_keys: bool = False, default: Callable[[Any], Any] | None = None
) -> Callable[[Any], str]:
    """JSON without spaces, of a value that does not contain itself; ValueError for NaN and infinities.

    default: gives something to write in place of a value that JSON does not have; TypeError without it.

    `json.dumps` makes an encoder for every call that has options, and `JSONEncoder.encode` an inner one: for an event
    of a stream that takes as long as the writing. Where the inner one is not to be had, `encode` does the same.
    """
    encoder = json.JSONEncoder(
        ensure_ascii=ascii_only,
        sort_keys=sort_keys,
        separators=(",", ":"),
        allow_nan=False,
        check_circular=False,
        default=default,
    )
    text = json.encoder.encode_basestring_ascii if ascii_only else json.encoder.encode_basestring
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return encoder.encode
    pieces = make(None, encoder.default, text, None, ":", ",", sort_keys, False, False)
    return lambda value: "".join(pieces(value, 0))


_compact = writer(ascii_only=False)
_sorted = writer(ascii_only=True, sort_keys=True)


def compact(value: Any) -> bytes:
    """JSON for the wire: UTF-8, no spaces, keys in their order, characters as they are.

    Half of a surrogate pair, which models emit when a token ends inside an emoji, has no UTF-8: it stays an escape.
    """
    return _compact(value).encode("utf-8", "backslashreplace")


def canonical(value: Any) -> str:
    """Sorted keys, ASCII, no spaces; integers exact, floats by repr, -0.0 as 0.0; absent and null stay apart."""
    text = _sorted(value)
    # The walk is dear and the case rare: only a text that shows a negative zero is walked.
    return _sorted(_without_negative_zero(value)) if "-0.0" in text else text


def _without_negative_zero(value: Any) -> Any:
    if isinstance(value, float):
        return value + 0.0
    if isinstance(value, list):
        return [_without_negative_zero(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_negative_zero(item) for key, item in value.items()}
    return value
