"""Whose call a request to the edge is. Runs in the edge: standard library and recorder only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from stackproof.edge.announced import announced
from stackproof.recorder import scope as scopes
from stackproof.recorder.interaction import Call
from stackproof.recorder.miss import Miss
from stackproof.recorder.scope import Scope
from stackproof.recorder.serve.serving import split_baggage
from stackproof.recorder.settings import Settings

PROBE = "probe:"
"""What the scope of a probe's name begins with: such a call is asked of nobody."""


class How(StrEnum):
    """How it became known whose call it is."""

    HEADER = "header"
    BAGGAGE = "baggage"
    ANNOUNCED = "announced"
    NOT = "not"


@dataclass(frozen=True, kw_only=True, slots=True)
class Whose:
    """owner: None where nothing says. headers: what is left of the request's headers without our own."""

    owner: Scope | None
    how: How
    headers: tuple[tuple[str, str], ...]

    @property
    def is_probe(self) -> bool:
        """Whether the run only wants to know how its ids arrive."""
        return self.owner is not None and self.owner.name.startswith(PROBE)


def without_scope(call: Call) -> Miss:
    """What is said of a call that carries no id while tests are at work, and could be any of theirs."""
    text = (
        f"no scope for {call.shown} of {call.form['provider']}: it carried no test id, and tests are at work\n"
        f"  have the stack send its id header, or W3C baggage, along with each provider call, those of its threads "
        f"and tasks, too"
    )
    return Miss(kind="no-scope", text=text)


def whose(headers: Iterable[tuple[str, str]], settings: Settings) -> Whose:
    """The id header is believed first, then W3C baggage, then what is announced."""
    owner: Scope | None = None
    baggage: str | None = None
    rest: list[tuple[str, str]] = []
    wanted = settings.header.lower()
    for name, value in headers:
        lowered = name.lower()
        if lowered == wanted:
            owner, left = scopes.from_header(value, settings.run_dir)
            if left is not None:
                rest.append((name, left))
        elif lowered == "baggage":
            baggage, others = split_baggage(value)
            if others:
                rest.append((name, others))
        else:
            rest.append((name, value))
    how = How.HEADER
    if owner is None and baggage:
        how = How.BAGGAGE
        owner = Scope(name=baggage, test_id=None if baggage.startswith("fixture:") else baggage)
    if owner is None:
        owner = announced(settings.run_dir)
        how = How.NOT if owner is None or owner is scopes.UNKNOWN else How.ANNOUNCED
    return Whose(owner=owner, how=how, headers=tuple(rest))
