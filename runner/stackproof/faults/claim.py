"""What a test says about a claim: it injects the fault, observes what follows, and hands both over.

```python
@pytest.mark.claim("cut-stream-fails-the-turn")
def test_a_cut_stream(claim: ClaimUnderTest) -> None:
    ...
    claim.observed(events=session.events, residue={"pending": session.pending, "terminal": session.terminal})
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from stackproof.faults import claim_events, claim_values
from stackproof.faults.claim_file import Claim
from stackproof.faults.claim_values import Json

_DIFFERENCES, _LINE = 20, 2000  # how many a person is shown, and how many characters of all events


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """What one test observed, as JSON. seed: what decides the order of things in it, None where nothing does."""

    events: Sequence[Mapping[str, Json]]
    residue: Mapping[str, Json]
    seed: int | str | None = None


def compare(claim: Claim, observation: Observation) -> tuple[str, ...]:
    """Sentences for what differs between a claim and an observation, events and residue alike; none when it holds."""
    about_events = claim_events.difference(claim.events, observation.events)
    return (
        *(() if about_events is None else (f"events: {about_events}",)),
        *claim_values.differences(claim.residue, observation.residue, "residue"),
    )


def told(claim: Claim, observation: Observation, differences: Sequence[str]) -> str:
    """What a person reads about a claim that did not hold."""
    lines = [f"claim {claim.name} does not hold: {claim.invariant}", f"  fault    {claim.fault}"]
    if observation.seed is not None:
        lines.append(f"  seed     {observation.seed}")
    lines += [f"  differs  {text}" for text in differences[:_DIFFERENCES]]
    if len(differences) > _DIFFERENCES:
        lines.append(f"  differs  … in {len(differences) - _DIFFERENCES} more places")
    wanted = " ".join(claim_events.words(each.written) for each in claim.events) or "nothing"
    happened = " ".join(map(claim_events.words, claim_events.written(observation.events))) or "nothing"
    sides = (f"  expected {wanted}", f"  observed {happened}")
    return "\n".join([*lines, *(claim_values.short(side, _LINE) for side in sides)])


class ClaimUnderTest:
    """The fixture `claim`: the claim that a test serves, to be told what the test observed."""

    def __init__(self, claim: Claim, *, keep: Callable[[Observation], None], fail: Callable[[str], None]) -> None:
        self.claim = claim
        self._keep = keep
        self._fail = fail

    @property
    def name(self) -> str:
        """The claim's name."""
        return self.claim.name

    def observed(
        self, *, events: Iterable[object], residue: Mapping[str, object], seed: int | str | None = None
    ) -> None:
        """Compare what happened and what is left with the claim; the test fails where they differ.

        events: texts, mappings with a `type`, or objects with an attribute `type` (of a dataclass, its fields too).
        residue: JSON values by name, tuples and enums among them. seed: of a schedule, so that it can be run again. May
        be called several times, for several schedules; each must hold. The first that does not ends the test.
        """
        observation = _observation(events, residue, seed)
        if isinstance(observation, str):
            self._fail(f"claim {self.name} was given what it cannot compare: {observation}")
            return
        self._keep(observation)
        if differences := compare(self.claim, observation):
            self._fail(told(self.claim, observation, differences))


def _observation(events: Iterable[object], residue: Mapping[str, object], seed: int | str | None) -> Observation | str:
    """The observation, or what is wrong with it; failing where the error is handled would show that, too."""
    try:
        left = claim_values.as_json(dict(residue), "residue")
        assert isinstance(left, dict)  # noqa: S101 - a mapping stays one
        return Observation(events=claim_events.observed(events), residue=left, seed=seed)
    except claim_values.NoJsonError as error:
        return str(error)
