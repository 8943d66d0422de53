"""What is said of faults, wherever it is said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stackproof.recorder.inject.fault import INJECTED

_SHOWN = 4


def counted(number: int) -> str:
    """How many faults there were."""
    return "1 fault injected" if number == 1 else f"{number} faults injected"


def never_met(specs: Sequence[str], calls: Sequence[Mapping[str, Any]]) -> str:
    """Why a test fails whose faults did not all happen. calls: lines of the calls' journal, of this test's attempt."""
    named = " and ".join(repr(spec) for spec in specs)
    what = f"fault {named} of this test was" if len(specs) == 1 else f"faults {named} of this test were"
    asked = [_shown(call) for call in calls if call.get("kind") != INJECTED]
    if not asked:
        return f"{what} never met: the test made no provider call that the recorder saw"
    count = "its one provider call was" if len(asked) == 1 else f"its {len(asked)} provider calls were"
    return f"{what} never met: {count} {_listed(asked)}"


def never_met_in_run(specs: Sequence[str], tests: int) -> str:
    """Why a run fails of which a fault for all tests happened to none."""
    named = " and ".join(repr(spec) for spec in specs)
    of = "1 test" if tests == 1 else f"{tests} tests"
    return f"--inject: {named} {'was' if len(specs) == 1 else 'were'} never met: no provider call of {of} fits"


def of_test(specs: Mapping[str, str], calls: Iterable[Mapping[str, Any]]) -> str:
    """A line for each fault of a test, by its key, and what it happened to."""
    happened: dict[str, list[str]] = {}
    for call in calls:
        if call.get("kind") == INJECTED:
            happened.setdefault(str(call.get("planned")), []).append(_shown(call))
    return "\n".join(
        f"{spec}: {_listed(happened[key]) if key in happened else 'not met'}" for key, spec in specs.items()
    )


def _shown(call: Mapping[str, Any]) -> str:
    return f"{call.get('method')} {call.get('path')}"


def _listed(asked: Sequence[str]) -> str:
    counts = {one: asked.count(one) for one in dict.fromkeys(asked)}
    shown = [one if count == 1 else f"{one} ({count} times)" for one, count in counts.items()]
    return ", ".join(shown[:_SHOWN]) + (f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else "")
