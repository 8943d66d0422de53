"""What a promotion is going to do, written down before it begins: one that was killed can be finished exactly so."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

_ORDER, _DONE = ".order", ".done"


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """`names`: staged file name → file name in place. With `prune`, the scope keeps these, `kept` and no others."""

    scope: str
    names: Mapping[str, str]
    prune: bool
    kept: Sequence[str] = ()


def begin(staging: str, order: Order) -> None:
    """Give the order to move what is in the folder `staging`; from here on it is going to be done."""
    temporary = f"{staging}.{os.urandom(6).hex()}.tmp"
    with open(temporary, "x", encoding="utf-8") as file:
        json.dump(asdict(order), file)
    os.replace(temporary, staging + _ORDER)


def end(staging: str) -> None:
    """The order was carried out. Its mark stays: what is staged from now on came too late."""
    os.replace(staging + _ORDER, staging + _DONE)


def has_ended(staging: str) -> bool:
    """Whether what was in the folder `staging` has been moved."""
    return os.path.exists(staging + _DONE)


def ended(staging: str) -> Order | None:
    """The order that was carried out last for the folder `staging`, if one was."""
    try:
        with open(staging + _DONE, encoding="utf-8") as file:
            return Order(**json.load(file))
    except FileNotFoundError:
        return None


def unfinished(staged: str) -> Iterator[tuple[str, Order]]:
    """Orders below `staged` that nobody has ended: the folder that each is about, and the order."""
    for folder, _, names in sorted(os.walk(staged)):
        for name in sorted(names):
            if name.endswith(_ORDER):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    yield path.removesuffix(_ORDER), Order(**json.load(file))
