"""When a cell is shut off, and what is said when it cannot be."""

from __future__ import annotations

import pytest

from stackproof.errors import NotProvenError
from stackproof.run import namespace
from stackproof.run.namespace import Seal

NOWHERE = Seal(sealed=False, reason="unshare: Operation not permitted")
HERE = Seal(sealed=True, prefix=("unshare", "--net", "--"))


@pytest.mark.parametrize(
    ("seal", "replay", "machine", "expected"),
    [
        ("auto", True, HERE, (True, "")),
        ("auto", True, NOWHERE, (False, "unshare: Operation not permitted")),
        ("never", True, HERE, (False, "--seal never")),
        ("auto", False, HERE, (False, "providers are called")),
        ("require", False, NOWHERE, (False, "providers are called")),
        ("require", True, HERE, (True, "")),
    ],
)
def test_only_a_replay_is_sealed_and_only_where_that_works(
    monkeypatch: pytest.MonkeyPatch, seal: str, replay: bool, machine: Seal, expected: tuple[bool, str]
) -> None:
    monkeypatch.setattr(namespace, "available", lambda _: machine)
    found = namespace.decide(seal, replay=replay, environment={})
    assert (found.sealed, found.reason) == expected


def test_a_required_seal_that_is_not_to_be_had_is_an_error_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespace, "available", lambda _: NOWHERE)
    with pytest.raises(NotProvenError, match="Operation not permitted"):
        namespace.decide("require", replay=True, environment={})


def test_inside_a_sealed_cell_nothing_is_nested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespace, "isolated", lambda: True)
    assert namespace.available({}) == Seal(sealed=True)
