"""Which recordings a command is about: by setup, suite, test, model, endpoint and provider."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from stackproof.recordings import corpus
from stackproof.recordings.corpus import Entry


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """Several values of one kind widen, several kinds narrow; an empty one asks for everything.

    `suites` are names with their roots. `tests` are node ids, files or folders as pytest takes them, or patterns with
    `*`; a fixture's recordings belong to the file or folder of its base id. `models`, `endpoints`, `providers` are
    patterns.
    """

    setups: tuple[str, ...] = ()
    suites: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tests: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    endpoints: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()

    @property
    def is_narrow(self) -> bool:
        """Whether anything beside the setup is asked for."""
        return bool(self.suites or self.tests or self.models or self.endpoints or self.providers)

    def matches(self, entry: Entry) -> bool:
        """Whether a recording is asked for; a damaged file only matches where nothing but the setup is asked for."""
        if entry.content is None:
            return not self.is_narrow
        owner = owner_of(entry.scope)
        return (
            (not self.suites or any(is_below(owner, root) for roots in self.suites.values() for root in roots))
            and (not self.tests or any(is_of(entry.scope, test) for test in self.tests))
            and _fits(entry.model, self.models)
            and _fits(entry.endpoint, self.endpoints)
            and _fits(entry.provider, self.providers)
        )


def select(root: Path, query: Query, found: Iterable[Path] | None = None) -> Iterator[Entry]:
    """The recordings below `root` that `query` asks for, read one after the other.

    found: the paths to look at, where the caller has them (to show how far it is); default: all of the setups.
    """
    for path in corpus.paths(root, query.setups) if found is None else found:
        entry = corpus.read(path, root)
        if query.matches(entry):
            yield entry


def owner_of(scope: str) -> str:
    """The node id, file or folder that a scope belongs to; empty for what belongs to none (start-up, sessions)."""
    if scope.startswith("fixture:"):
        # A node id may hold `::` and so may a fixture's parameter: the base id ends before the last name.
        return scope.removeprefix("fixture:").partition("[")[0].rpartition("::")[0]
    return scope if "::" in scope else ""


def is_below(owner: str, root: str) -> bool:
    """Whether a node id, file or folder is `root` or lies below it, as pytest's arguments mean it."""
    root = root.rstrip("/")
    return owner == root or owner.startswith((f"{root}/", f"{root}::", f"{root}["))


def suites_of(scope: str, suites: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Names of the suites (name → roots) that a scope belongs to."""
    owner = owner_of(scope)
    return tuple(name for name, roots in suites.items() if any(is_below(owner, root) for root in roots))


def is_of(scope: str, test: str) -> bool:
    """Whether a scope is meant by a node id, a file or folder, or a pattern with `*`."""
    return test == scope or is_below(owner_of(scope), test) or ("*" in test and fnmatchcase(scope, _literal(test)))


def _fits(value: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatchcase(value, pattern) for pattern in patterns)


def _literal(pattern: str) -> str:
    # Brackets in a node id are a parameter, not a set of characters.
    return pattern.replace("[", "[[]")
