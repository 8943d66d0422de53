"""Keys of the setups that the project uses: set or not, by name alone. No value is told, nor how long it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from stackproof.catalog.records import SetupSpec
from stackproof.doctor.finding import Finding, odd, ok
from stackproof.doctor.place import Place

_PLACEHOLDERS = frozenset(
    {
        "changeme", "change-me", "change_me", "none", "null", "empty", "dummy", "placeholder", "fake", "test", "secret",
        "key", "apikey", "api-key", "api_key", "token", "xxx", "todo", "tbd", "...", "sk-...", "stackproof-replay",
        "undefined", "foo", "bar", "foobar", "example",
    }
)  # fmt: skip
_LIKE_ONE = re.compile(
    r"<.*>|\$\{?\w+\}?|\{\{.*\}\}|x{4,}|\*{3,}|(?:sk|gsk|hf|tvly)[-_](?:x{3,}|\.{3}|your|fake|test|dummy|placeholder).*"
    r"|(?:your|my|insert|enter|replace|paste|put)[-_ ].*|.*[-_ ]here",
    re.IGNORECASE,
)
_ASSIGNMENT = re.compile(r"^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=", re.MULTILINE)
_FILES = (".env", ".env.local", ".envrc")


class State(StrEnum):
    """What a variable is, as far as may be told."""

    SET = "set"
    UNSET = "not set"
    BLANK = "set to nothing but blanks"
    PLACEHOLDER = "set to what reads like a placeholder"
    WRAPPED = "set, with a blank or a quotation mark around it"

    @property
    def wrong(self) -> bool:
        """Whether a provider would not take it."""
        return self in (State.BLANK, State.PLACEHOLDER, State.WRAPPED)


@dataclass(frozen=True, kw_only=True, slots=True)
class SetupKeys:
    """What a real call of one setup needs from the caller. given: URLs of it that the caller's environment replaces."""

    setup: str
    states: Mapping[str, State]
    given: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyFacts:
    """in_files: variables that are not set, and that a file of the project (`.env`) assigns."""

    setups: tuple[SetupKeys, ...] = ()
    in_files: Mapping[str, str] | None = None


def look(place: Place) -> KeyFacts:
    """Read which variables are set, and of files in the project which names they assign."""
    known, planned = place.chosen.known, place.chosen.planned
    if known is None:
        return KeyFacts()
    cells = planned.cells if planned is not None else ()
    chosen = dict.fromkeys(cell.setup.name for cell in cells)
    used = dict.fromkeys((*chosen, *(suite.default_setup for suite in known.suites.values()), *_recorded(place)))
    setups = tuple(
        SetupKeys(
            setup=name,
            states={key: state_of(place.environ.get(key)) for key in needed(known.setups[name])},
            given=tuple(urls_of(known.setups[name], place.environ)),
        )
        for name in used
        if name in known.setups
    )
    unset = {name for setup in setups for name, state in setup.states.items() if state is State.UNSET}
    return KeyFacts(setups=setups, in_files=dict(_in_files(place.project, unset)))


def judge(facts: KeyFacts) -> Iterator[Finding]:
    """Could each of them be called, if somebody wanted to?"""
    without = [setup.setup for setup in facts.setups if not setup.states]
    if without:
        many = len(without) > 1
        yield ok("keys.none", f"setup{'s' if many else ''} {', '.join(without)}", f"need{'' if many else 's'} no key")
    seen: set[str] = set()
    for setup in facts.setups:
        names = ", ".join(f"{name}, which is {state.value}" for name, state in setup.states.items() if not state.wrong)
        if names:
            yield ok("keys.setup", f"setup {setup.setup}", f"records with {names}")
        if setup.given:
            many = len(setup.given) > 1
            said = f"{'are' if many else 'is'} set here, and {'win' if many else 'wins'} over setup {setup.setup}"
            yield ok("keys.url", ", ".join(setup.given), said)
        for name, state in setup.states.items():
            if state.wrong and name not in seen:
                seen.add(name)
                yield odd(
                    "keys.value",
                    name,
                    f"is {state.value}: a provider that asks for a key will not take it (setup {setup.setup})",
                    f"set it to the key alone, or `unset {name}`: a replay does without",
                )
    if any(State.UNSET in setup.states.values() for setup in facts.setups):
        yield ok("keys.replay", "a replay", "needs no key")
    for name, file in (facts.in_files or {}).items():
        yield odd(
            "keys.in-file",
            name,
            f"is not set, and {file} has it: Stackproof reads no such file",
            f"before recording: `set -a; . ./{file}; set +a`",
        )


def needed(setup: SetupSpec) -> tuple[str, ...]:
    """What the caller gives for real calls: secrets that the setup has no value for, and what else it needs."""
    return tuple(dict.fromkeys((*(name for name in setup.secrets if name not in setup.env), *setup.needs)))


def urls_of(setup: SetupSpec, environ: Mapping[str, str]) -> Iterator[str]:
    """Variables with the address of a provider that the environment has, by name."""
    for provider in setup.providers:
        if provider.variable is not None and environ.get(provider.variable):
            yield provider.variable


def state_of(value: str | None) -> State:
    """What may be told of a value."""
    if value is None or value == "":
        return State.UNSET
    bare = value.strip()
    if not bare:
        return State.BLANK
    if bare.strip("\"'").lower() in _PLACEHOLDERS or _LIKE_ONE.fullmatch(bare.strip("\"'")):
        return State.PLACEHOLDER
    return State.WRAPPED if bare != value or bare[:1] in "\"'" else State.SET


def _recorded(place: Place) -> list[str]:
    try:
        folders = sorted((place.project / place.chosen.recordings).iterdir())
    except OSError:
        return []
    return [folder.name for folder in folders if folder.is_dir()]


def _in_files(project: Path, names: set[str]) -> Iterator[tuple[str, str]]:
    for file in _FILES:
        try:
            # Managers of passwords put a pipe there, which asks somebody when it is read.
            text = (project / file).read_text(encoding="utf-8", errors="replace") if (project / file).is_file() else ""
        except OSError:
            continue
        yield from ((name, file) for name in _ASSIGNMENT.findall(text) if name in names)
