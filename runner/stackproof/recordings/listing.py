"""What a list says of each recording, and the order in which it says it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, assert_never

from stackproof.recordings import frame
from stackproof.recordings.corpus import Entry


class Order(StrEnum):
    """What a list may be sorted by; only NAME needs no memory for the whole of it."""

    NAME = "name"
    AGE = "age"
    SIZE = "size"
    TEST = "test"
    MODEL = "model"


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One file. `bytes` counts its side file too; `recorded_at` is ISO 8601; `damage` says why it is no recording."""

    file: str
    setup: str
    scope: str = ""
    method: str = ""
    endpoint: str = ""
    provider: str = ""
    model: str = ""
    status: int | None = None
    exception: str = ""
    streaming: bool = False
    bytes: int = 0
    recorded_at: str = ""
    synthetic: bool = False
    damage: str | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """The row as JSON data; what is not known is null."""
        values = ((key, getattr(self, key)) for key in self.__slots__)  # `asdict` would take longer than the reading
        return {key: None if value == "" else value for key, value in values}


@dataclass(slots=True, kw_only=True)
class Total:
    """What a list adds up to while it is written."""

    files: int = 0
    bytes: int = 0
    damaged: int = 0

    def count(self, row: Row) -> None:
        """Take one row in."""
        self.files += 1
        self.bytes += row.bytes
        self.damaged += row.damage is not None


def row(entry: Entry) -> Row:
    """What a list says of a file."""
    try:
        size = entry.path.stat().st_size
    except OSError:
        size = 0
    if entry.content is None:
        return Row(file=entry.name, setup=entry.setup, bytes=size, damage=entry.damage)
    response, origin = entry.content["response"], frame.origin(entry.content)
    beside = (response.get("body") or {}).get("bytes") or b""
    return Row(
        file=entry.name,
        setup=entry.setup,
        scope=entry.scope,
        method=entry.method,
        endpoint=entry.endpoint,
        provider=entry.provider,
        model=entry.model,
        status=response.get("status"),
        exception=str(response["exception"].get("kind")) if response["is_exception"] else "",
        streaming=bool(response.get("is_streaming")),
        bytes=size + len(beside),
        recorded_at=str(origin.get("recorded_at") or ""),
        synthetic=bool(frame.marks(entry.content)),
    )


def ordered(rows: Iterable[Row], order: Order) -> Iterator[Row]:
    """The rows in this order: the oldest and the largest first, names from a to z."""
    key: Callable[[Row], Any]
    match order:
        case Order.NAME:
            yield from rows
            return
        case Order.AGE:
            key = _age
        case Order.SIZE:
            key = _size
        case Order.TEST:
            key = _test
        case Order.MODEL:
            key = _model
        case _:
            assert_never(order)
    yield from sorted(rows, key=key)


def _age(item: Row) -> Any:
    return not item.recorded_at, item.recorded_at, item.file


def _size(item: Row) -> Any:
    return -item.bytes, item.file


def _test(item: Row) -> Any:
    return not item.scope, item.scope, item.file


def _model(item: Row) -> Any:
    return not item.model, item.model, item.file
