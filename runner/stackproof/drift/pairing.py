"""Which recording an observed call belongs to, within one scope. Pure: files are read elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from stackproof.drift.answer import Answer


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One call with its answer. `file` is its path for people, `made` orders the calls of a scope.

    request, ordinal: from its file's name: digits of the request's digest, and its number among equal ones. asked: what
    decides the form of its answer (`asked.key_of`). place: provider, method, endpoint and model, and whether it asked
    for a stream.
    """

    file: str
    scope: str
    test_id: str
    provider: str
    method: str
    path: str
    model: str
    request: str
    ordinal: int
    asked: str
    streamed: bool
    made: tuple[object, ...]
    answer: Answer
    stack: str | None = None

    @property
    def place(self) -> Hashable:
        """What a call must have in common with a recording at the least."""
        return (self.provider, self.method, self.path, self.model, self.streamed)


@dataclass(frozen=True, kw_only=True, slots=True)
class Pairs:
    """paired: (recorded, observed). unrecorded: calls without a partner.

    refused: calls that the provider refused or failed (429, 5xx, a wrong key, a reset): they say nothing about its
    answers, and they take no recording away from the call that was tried again.
    """

    paired: tuple[tuple[Call, Call], ...] = ()
    unrecorded: tuple[Call, ...] = ()
    refused: tuple[Call, ...] = ()


_KEYS: tuple[Callable[[Call], Hashable], ...] = (
    # A later turn holds what the model said before, so its request is another one each time.
    lambda call: (call.asked, call.streamed),
    lambda call: call.place,
)


def pair(recorded: Sequence[Call], observed: Sequence[Call]) -> Pairs:
    """The n-th of equal requests belongs to the n-th recording; else the n-th of those that ask for the same kind."""
    expected = {call.request for call in recorded if call.answer.is_refusal}
    refused = [call for call in observed if call.answer.is_refusal and call.request not in expected]
    left = sorted((call for call in observed if call not in refused), key=lambda call: call.made)
    rest = sorted(recorded, key=lambda call: call.made)
    paired: list[tuple[Call, Call]] = []
    equal = _in_turn(
        sorted(rest, key=lambda call: call.ordinal), sorted(left, key=lambda call: call.ordinal), _same_request
    )
    for key in (None, *_KEYS):
        for before, now in equal if key is None else _in_turn(rest, left, key):
            paired.append((before, now))
            rest.remove(before)
            left.remove(now)
    return Pairs(
        paired=tuple(sorted(paired, key=lambda both: both[1].made)),
        unrecorded=tuple(left),
        refused=tuple(refused),
    )


def _same_request(call: Call) -> Hashable:
    return call.request


def _in_turn(
    recorded: Sequence[Call], observed: Sequence[Call], key: Callable[[Call], Hashable]
) -> list[tuple[Call, Call]]:
    groups: dict[Hashable, list[Call]] = {}
    for call in recorded:
        groups.setdefault(key(call), []).append(call)
    return [(group.pop(0), call) for call in observed if (group := groups.get(key(call)))]
