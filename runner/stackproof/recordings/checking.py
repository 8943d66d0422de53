"""Looks at recordings one after the other and says what is wrong with each; holds none of them."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from stackproof.recorder import miss, redact
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope
from stackproof.recordings import corpus, leftovers, placing
from stackproof.recordings.ageing import Age, Undated, age
from stackproof.recordings.corpus import Entry
from stackproof.recordings.disuse import Disuse
from stackproof.recordings.findings import Finding, Kind
from stackproof.recordings.missing import Missing, Recorded
from stackproof.recordings.query import Query
from stackproof.recordings.rewriting import rewrite
from stackproof.recordings.usage import Use

PRUNE = "stackproof recordings prune --dry-run"
NORMALIZE = "stackproof recordings normalize --dry-run"
OF_USE = frozenset({Kind.DELETED, Kind.UNUSED})
REKEY = "stackproof recordings rekey --dry-run"


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """How old a recording may be, in days. binding: a policy says so, so that one beyond it makes a check fail."""

    days: int
    binding: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """What to look for, and what is known. secrets: setup → values by the name of their variable. program: how runs
    are started here, for commands.
    """

    root: Path
    shown: str
    integration_root: str
    query: Query
    kinds: frozenset[Kind]
    secrets: Mapping[str, Mapping[str, str]]
    disuse: Disuse
    limit: Limit | None
    now: datetime
    program: str

    def command(self, entry_setup: str, scope: str, test: str, mode: Mode) -> str:
        """The command that records a scope."""
        stem = f"{self.program} --setup {shlex.quote(entry_setup)}"
        return miss.command_for(stem, Scope(name=scope, test_id=test or None), mode)

    def asks_for(self, one: Missing) -> bool:
        """Whether the filters ask for a test that has no file to look into."""
        content = {"scope": one.test, "request": {}}
        return self.query.matches(Entry(path=self.root, name=one.setup, setup=one.setup, content=content))

    def named(self, name: str) -> str:
        """A file as a person would type it."""
        return f"{self.shown.rstrip('/')}/{name}"


@dataclass(kw_only=True, slots=True)
class Tally:
    """What is counted on the way. unobserved: by setup, suite and reason."""

    files: int = 0
    used: int = 0
    unobserved: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    undated: Counter[Undated] = field(default_factory=Counter)
    recorded: Recorded = field(default_factory=Recorded)


def look(terms: Terms, paths: Iterable[Path], tally: Tally) -> Iterator[Finding]:
    """What is wrong with the files at `paths` (those of `leftovers.files`), file by file."""
    for path in paths:
        if leftovers.is_recording(path):
            entry = corpus.read(path, terms.root)
            if terms.query.matches(entry):
                tally.files += 1
                yield from (found for found in _recording(terms, entry, tally) if found.kind in terms.kinds)
        elif not terms.query.is_narrow and (left := leftovers.leftover(path)) is not None and left[0] in terms.kinds:
            name = path.relative_to(terms.root).as_posix()
            yield Finding(
                kind=left[0], file=terms.named(name), what=left[1], action=PRUNE, setup=name.partition("/")[0]
            )


def lacking(terms: Terms, seen: Iterable[Missing], tally: Tally) -> Iterator[Finding]:
    """Tests that lack recordings; call it when every file has been looked at."""
    existing, usage = terms.disuse.existing, terms.disuse.usage
    if Kind.MISSING not in terms.kinds or existing.first is None:
        return
    wanted = set(corpus.setups(terms.root, terms.query.setups))
    for one in (*seen, *tally.recorded.elsewhere(usage.suites)):
        if one.setup not in wanted or not terms.asks_for(one) or not existing.has(one.setup, one.test):
            continue
        if not one.seen and usage.observed(one.setup, one.test):
            continue  # a run has shown that it needs none
        yield Finding(
            kind=Kind.MISSING,
            file=one.test,
            what=one.what,
            action=terms.command(one.setup, one.test, one.test, Mode.RECORD_IF_MISSING),
            fails=one.seen,
            setup=one.setup,
            test=one.test,
        )


def _recording(terms: Terms, entry: Entry, tally: Tally) -> Iterator[Finding]:
    file = terms.named(entry.name)
    if entry.content is None:
        action = f"git restore {shlex.quote(file)}"
        yield Finding(kind=Kind.DAMAGED, file=file, what=entry.damage or "", action=action, setup=entry.setup)
        return

    def finding(kind: Kind, what: str, action: str, *, where: str = "", fails: bool = True) -> Finding:
        return Finding(
            kind=kind, file=file, what=what, action=action, where=where, fails=fails, setup=entry.setup,
            test=entry.scope,
        )  # fmt: skip

    tally.recorded.note(entry.setup, entry.scope)
    again = terms.command(entry.setup, entry.scope, entry.test_id, Mode.RECORD)
    wrong_place = placing.misplaced(entry, terms.integration_root)
    if wrong_place is not None:
        moved = "" if wrong_place.right is None else terms.named(wrong_place.right)
        action = f"git mv {shlex.quote(file)} {shlex.quote(moved)}" if moved else REKEY
        yield finding(Kind.MISPLACED, wrong_place.what, action)
    elif (number := placing.gap_before(entry, terms.integration_root)) is not None:
        yield finding(Kind.GAP, f"number {number} of its request is not there, so no run comes to it", again)
    if Kind.SECRET in terms.kinds:
        hit = redact.find(entry.content, terms.secrets.get(entry.setup, {}))
        if hit is not None:
            action = f"make that key worthless, take the file out of version control's history too, then: {again}"
            yield finding(Kind.SECRET, f"{hit[0]} is in it", action, where=hit[1])
    if Kind.UNNORMALISED in terms.kinds:
        made = rewrite(entry, dry_run=True)
        if made:
            rules = ", ".join(dict.fromkeys(change.rule for change in made))
            where = next((change.path for change in made if change.path), "")
            yield finding(Kind.UNNORMALISED, f"it would be written differently now: {rules}", NORMALIZE, where=where)
    if wrong_place is None and not terms.kinds.isdisjoint(OF_USE):
        yield from (finding(*told) for told in _use(terms, entry, tally))
    if terms.limit is not None:
        old = age(entry.content, terms.now)
        if isinstance(old, Age):
            if old.days > terms.limit.days:
                what = f"recorded on {old.recorded_at:%Y-%m-%d}, {old.days} days ago; {terms.limit.days} are allowed"
                yield finding(Kind.STALE, what, again, where="provenance.recorded_at", fails=terms.limit.binding)
        else:
            tally.undated[old] += 1


def _use(terms: Terms, entry: Entry, tally: Tally) -> Iterator[tuple[Kind, str, str]]:
    kind, judged = terms.disuse.of(entry)
    if kind is not None:
        yield kind, judged.why, PRUNE
    elif judged.use is Use.USED:
        tally.used += 1
    else:
        tally.unobserved[entry.setup, ", ".join(judged.suites) or "–", judged.why] += 1
