"""Finds what an identity stands for: the recording, where it would be looked up, and who else has the same request."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from stackproof.errors import UsageError
from stackproof.recorder.store import MODELS, parse_name
from stackproof.recordings import corpus, looking
from stackproof.recordings.corpus import Entry
from stackproof.recordings.looking import Place

SCOPE_DIGITS, REQUEST_DIGITS, _FULL, _LEAST = 12, 20, 64, 4
_IDENTITY = re.compile(
    rf"(?P<scope>[0-9a-f]{{{SCOPE_DIGITS},{_FULL}}})-(?P<request>[0-9a-f]{{{REQUEST_DIGITS},{_FULL}}})(?:-(?P<n>\d+))?"
)
_MODELS_NAME = re.compile(rf"{MODELS}-(?P<request>[0-9a-f]{{{REQUEST_DIGITS}}})-[0-9a-f]{{{SCOPE_DIGITS}}}\.json")
_DIGITS = re.compile(r"[0-9a-f]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What is looked for: the first digits of both digests, or of one that may be either, and a number.

    `either`: digits of which nobody said what they are of. `number` is None where none was named: then it is 1.
    """

    scope: str = ""
    request: str = ""
    either: str = ""
    number: int | None = None

    @property
    def name(self) -> str:
        """The name of the file; empty where it takes more to tell."""
        if not self.scope or not self.request:
            return ""
        number = f"-{self.number}" if (self.number or 1) > 1 else ""
        return f"{self.scope[:SCOPE_DIGITS]}-{self.request[:REQUEST_DIGITS]}{number}.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """A recording with its number among equal requests of its scope; 0 for a list of models, which has none."""

    entry: Entry
    number: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Findings:
    """What there is. `scope`: the name behind the digest, None where nobody knows it.

    `places`: where a call of this identity looks, in order, setup by setup; none where the scope is not known.
    `hits`: what was asked for, in whatever folder it lies. `elsewhere`: the same request in other scopes.
    """

    asked: Asked
    scope: str | None
    places: tuple[Place, ...]
    hits: tuple[Hit, ...]
    elsewhere: tuple[Hit, ...]

    @property
    def is_there(self) -> bool:
        """Whether a call would find it; where nothing was said of a scope, whether there is anything at all."""
        if not self.asked.name:
            return bool(self.hits)
        in_place = (path.name == self.asked.name for place in self.places for path in place.files)
        # A list of models answers whoever asks for it.
        return any(in_place) or any(not hit.number for hit in self.hits)


def parse(text: str) -> Asked:
    """Read `<scope>-<request>[-n]`, a file's name or path, or the first digits of one digest. UsageError if it is none.

    >>> parse("recordings/ollama/base/001bc6314b18-1dfe91bf9b9c8e31b7d8-2.json").number
    2
    """
    name = text.strip().rpartition("/")[2]
    models = _MODELS_NAME.fullmatch(name)
    if models is not None:
        return Asked(request=models["request"])
    word = name.removesuffix(".json").lower()
    found = _IDENTITY.fullmatch(word)
    if found is not None:
        return Asked(scope=found["scope"], request=found["request"], number=int(found["n"] or 1))
    if _DIGITS.fullmatch(word) and _LEAST <= len(word) <= _FULL:
        return Asked(either=word)
    hint = (
        "write SCOPE-REQUEST[-N] as a file's name has it, a request's digest or its first digits, or the path of a file"
    )
    if "::" in text or text.endswith(".py"):
        hint = "of a test, `stackproof recordings explain TEST` tells everything"
    raise UsageError(f"{text!r} is no identity of a recording", hint=hint)


def find(
    root: Path, asked: Asked, *, setups: Sequence[str], integration_root: str, known_scopes: Iterable[str] = ()
) -> Findings:
    """Look through the names of all recordings of `setups` (default: all there are), and read those that fit.

    known_scopes: names that may be behind the scope's digest, asked only where no recording tells it.
    """
    hits: list[Hit] = []
    elsewhere: list[Hit] = []
    for path in corpus.paths(root, setups):
        number = _fits(path.name, asked)
        if number is None:
            continue
        entry = corpus.read(path, root)
        parsed = parse_name(path.name)
        own = not asked.scope or parsed is None or asked.scope.startswith(parsed.scope)
        (hits if own else elsewhere).append(Hit(entry=entry, number=number))
    scope = _scope(asked, hits, known_scopes)
    told = corpus.setups(root, setups) if scope is not None and asked.scope else ()
    return Findings(
        asked=asked,
        scope=scope,
        places=places(root, scope or "", setups=told, integration_root=integration_root, hits=hits),
        hits=tuple(sorted(hits, key=_order)),
        elsewhere=tuple(sorted(elsewhere, key=_order)),
    )


def _fits(name: str, asked: Asked) -> int | None:
    """The number of a file that is of interest, 0 for a list of models; None for another file."""
    parsed = parse_name(name)
    if parsed is None:
        models = _MODELS_NAME.fullmatch(name)
        wanted = asked.request or asked.either
        return 0 if models and wanted and _agree(models["request"], wanted) else None
    if asked.either:
        fits = _agree(parsed.request, asked.either) or _agree(parsed.scope, asked.either)
    elif asked.request:
        # Of another scope, too: whoever asks why nothing is there wants to know.
        fits = _agree(parsed.request, asked.request)
    else:
        fits = _agree(parsed.scope, asked.scope)
    return parsed.ordinal if fits else None


def _agree(kept: str, wanted: str) -> bool:
    """Whether two beginnings of digests may be of the same one."""
    return kept.startswith(wanted[: len(kept)])


def _order(hit: Hit) -> tuple[str, str, int]:
    return (hit.entry.setup, hit.entry.scope, hit.number)


def _scope(asked: Asked, hits: Sequence[Hit], known: Iterable[str]) -> str | None:
    told = {hit.entry.scope for hit in hits if hit.entry.scope}
    if asked.scope:
        # A file may say another scope than its name; then whoever computes digests knows better.
        return looking.named(asked.scope, itertools.chain(told, known))
    return told.pop() if len(told) == 1 else None


def places(
    root: Path, scope: str, *, setups: Iterable[str], integration_root: str, hits: Iterable[Hit] = ()
) -> tuple[Place, ...]:
    """Where calls of a scope look, in order, setup by setup; with what of `hits` lies there."""
    found = sorted(hits, key=lambda hit: hit.number)
    return tuple(
        Place(
            setup=setup, folder=folder, files=tuple(hit.entry.path for hit in found if hit.entry.path.parent == folder)
        )
        for setup in setups
        for folder in looking.folders(root, setup, scope, integration_root)
    )
