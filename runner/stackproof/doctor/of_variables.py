"""Variables of the environment that change what a run does, of Stackproof's and of Python's; names, and no values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stackproof.ci import kind
from stackproof.doctor.finding import Finding, odd, ok
from stackproof.doctor.place import Place
from stackproof.option_table import OPTIONS

_OF_A_RUN = ("STACKPROOF_CHILD", "STACKPROOF_RECORDER", "STACKPROOF_RUN_DIR")
_MODE = "STACKPROOF_INFERENCE_MODE"
_PYTHON = {
    "PYTHONOPTIMIZE": "Python leaves out every `assert`, so tests that fail pass",
    "PYTHONHOME": "programs of other Pythons, a stack's own among them, do not start",
    "PYTHONWARNINGS": "a warning of the stack, or of an SDK, may become its error",
    "PYTHONPATH": "every Python that a run starts imports from there first",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class VariableFacts:
    """options: variables that are set and stand for options of `stackproof run`. mode: the inference mode among them.

    python: those of Python that are set. within: those that only a process of a run has. ci: one is set.
    """

    options: tuple[str, ...]
    mode: str | None
    python: tuple[str, ...]
    within: tuple[str, ...]
    ci: bool


def look(place: Place) -> VariableFacts:
    """Read the environment."""
    environ: Mapping[str, str] = place.environ
    known = {option.variable for option in OPTIONS if option.variable is not None}
    return VariableFacts(
        options=tuple(sorted(name for name in known if environ.get(name))),
        mode=environ.get(_MODE) or None,
        python=tuple(name for name in _PYTHON if environ.get(name)),
        within=tuple(name for name in _OF_A_RUN if name in environ),
        ci=kind.of(environ) is not kind.Kind.NONE,
    )


def judge(facts: VariableFacts) -> Iterator[Finding]:
    """Would a plain run do something else than the files say?"""
    if facts.within:
        yield odd(
            "variables.within-a-run",
            ", ".join(facts.within),
            "is what a run gives to its tests: a run from here takes no variable for an option",
            f"`unset {' '.join(facts.within)}`",
        )
    if facts.mode is not None and facts.mode != "replay":
        yield odd(
            "variables.mode",
            _MODE,
            "is set, so a plain run, and pytest by itself, does not replay"
            + (": it calls providers" if facts.mode != "live" else ", and nothing is recorded"),
            f"`unset {_MODE}`, and name the mode where it is meant: --inference-mode",
        )
    for name in facts.python:
        yield odd("variables.python", name, f"is set: {_PYTHON[name]}", f"`unset {name}`, unless it is meant")
    others = [name for name in facts.options if name != _MODE]
    said = f"set options of a run: {', '.join(others)}" if others else "set no option of a run"
    yield ok("variables.options", "variables of Stackproof", said)
    if facts.ci:
        yield ok("variables.ci", "CI", "is set, so record modes refuse to run and output is plain")
