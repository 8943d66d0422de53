"""What a person reads about a claim that does not hold stays readable, however much was observed."""

from __future__ import annotations

from stackproof.faults import claim_events
from stackproof.faults.claim import Observation, compare, told
from stackproof.faults.claim_file import Claim

CLAIM = Claim(
    name="cut", invariant="i", fault="f", events=(claim_events.expected("a"),), residue={"n": 0}, excludes=("e",)
)


def test_the_seed_is_among_what_is_told() -> None:
    seen = Observation(events=[{"type": "a"}], residue={"n": 1}, seed=7)
    assert told(CLAIM, seen, compare(CLAIM, seen)).splitlines() == [
        "claim cut does not hold: i",
        "  fault    f",
        "  seed     7",
        "  differs  residue.n: expected 0, observed 1",
        "  expected a",
        "  observed a",
    ]


def test_thousands_of_events_and_differences_are_told_in_few_lines() -> None:
    seen = Observation(
        events=[{"type": "text_delta", "text": "x" * 50}] * 5000, residue={f"k{number}": 0 for number in range(500)}
    )
    lines = told(CLAIM, seen, compare(CLAIM, seen)).splitlines()
    assert len(lines) < 30
    assert "  differs  … in 482 more places" in lines
    assert max(map(len, lines)) < 2100


def test_nothing_is_told_as_nothing() -> None:
    seen = Observation(events=[], residue={"n": 0})
    assert told(CLAIM, seen, compare(CLAIM, seen)).splitlines()[-2:] == ["  expected a", "  observed nothing"]
