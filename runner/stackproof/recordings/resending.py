"""An SDK sends something else than it did: what a run missed is held against the recordings that nobody asked for.

Whether the provider would still give the recorded answer is a person's to say, path by path.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from stackproof.errors import UsageError
from stackproof.recorder.identity import Form, Identity, digest
from stackproof.recorder.miss import differences, form_of
from stackproof.recorder.mode import Mode
from stackproof.recorder.recording import Recording
from stackproof.recorder.scope import Scope
from stackproof.recorder.store import folder_of, parse_name
from stackproof.recordings import corpus, looking
from stackproof.recordings.corpus import Entry
from stackproof.recordings.observed import Observed
from stackproof.recordings.query import Query
from stackproof.recordings.relocating import Move
from stackproof.recordings.renaming import with_form

LAST = "last"
# A call that is not the first of its kind misses as one too many, once the first was re-keyed.
_KINDS = ("no-match", "exhausted")
_INDEX = re.compile(r"\[\d+\]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Resent:
    """Recordings of one request, in the order of their numbers, and the request that came in its place.

    taken: how many answers of the new request there are already. differing: path (`[]` is any item) → recorded, sent.
    """

    setup: str
    scope: str
    files: tuple[str, ...]
    form: Form
    taken: int
    differing: dict[str, tuple[Any, Any]]

    def is_accepted(self, patterns: Sequence[str]) -> bool:
        """Whether somebody said of every difference that the answer stays the same."""
        return all(any(fits(path, pattern) for pattern in patterns) for path in self.differing)

    def moves(self, integration_root: str) -> Iterator[Move]:
        """Each file and where look-up goes for the new request."""
        identity = Identity(scope=Scope(name=self.scope).digest, request=digest(self.form))
        folder = f"{self.setup}/{folder_of(self.scope, integration_root)}".removesuffix("/.")
        for number, name in enumerate(self.files, start=self.taken + 1):
            yield Move(source=name, target=f"{folder}/{identity.file_name(number)}")

    def content(self, before: Recording) -> Recording:
        """The recording with the new request."""
        return {**before, "request": with_form(before["request"], self.form)}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Miss:
    """A request that no recording fits. hidden: a secret was taken out of the form, so its key cannot be told."""

    form: Form
    wanted: int
    hidden: bool


@dataclass(kw_only=True, slots=True)
class Resending:
    """What a run says: pairs, misses that no unused recording comes near, and those whose form hides a secret."""

    run: str
    pairs: list[Resent] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)  # scopes
    alone: list[str] = field(default_factory=list)  # scopes


def chosen(observed: Iterable[Observed], run: str) -> tuple[Observed, ...]:
    """The cells of a run by its id, or of the newest one. UsageError when none used this recording directory."""
    found = tuple(one for one in observed if one.mode is Mode.REPLAY)
    wanted = found[0].run if run == LAST and found else run
    cells = tuple(one for one in found if one.run == wanted)
    if not cells:
        raise UsageError(
            "no run replayed these recordings" if run == LAST else f"no run {run} replayed these recordings",
            hint="`stackproof run` replays them; runs lie in .stackproof/runs/",
        )
    return cells


def resending(cells: Sequence[Observed], root: Path, query: Query, integration_root: str) -> Resending:
    """Pair what the cells of a run missed with what none of them asked for, nearest first."""
    result = Resending(run=cells[0].run)
    for setup in dict.fromkeys(one.setup for one in cells):
        if query.setups and setup not in query.setups:
            continue
        mine = [one for one in cells if one.setup == setup]
        used = {
            one.name_of(str(call["file"])) for one in mine for call in one.calls() if call.get("kind") == "replayed"
        }
        for scope, misses in _misses(mine).items():
            result.hidden += [scope for miss in misses if miss.hidden]
            entries = [entry for entry in _entries(root, setup, scope, integration_root) if query.matches(entry)]
            _pair(result, setup, scope, misses=[miss for miss in misses if not miss.hidden], entries=entries, used=used)
    return result


def fits(path: str, pattern: str) -> bool:
    """Whether a pattern, in which `*` stands for anything, accepts a path."""
    return fnmatchcase(path, pattern.replace("[", "[[]"))


def _misses(cells: Sequence[Observed]) -> dict[str, list[_Miss]]:
    """Scope → its distinct misses in their order, from the first cell that has some, in its last attempt."""
    found: dict[str, list[_Miss]] = {}
    for one in cells:
        wanted: dict[tuple[str, str], int] = defaultdict(int)
        for call in one.calls():
            if call.get("kind") == "missed":
                key = (str(call.get("scope")), str(call.get("request")))
                wanted[key] = max(wanted[key], int(call.get("n") or 1))
        last: dict[str, tuple[int, dict[str, _Miss]]] = {}
        for line in one.misses():
            form, scope, attempt = line.get("request"), str(line.get("scope")), int(line.get("attempt") or 1)
            if line.get("kind") not in _KINDS or not isinstance(form, dict):
                continue
            if attempt != last.get(scope, (0, {}))[0]:
                last[scope] = (attempt, {})
            request = digest(form)[:20]
            number = wanted.get((scope, request), 0)
            last[scope][1].setdefault(request, _Miss(form=form, wanted=number, hidden=not number))
        for scope, (_, misses) in last.items():
            found.setdefault(scope, list(misses.values()))
    return found


def _entries(root: Path, setup: str, scope: str, integration_root: str) -> list[Entry]:
    digits = Scope(name=scope).digest[:12]
    found = (
        path
        for folder in looking.folders(root, setup, scope, integration_root)
        for path in sorted(folder.glob(f"{digits}-*.json"))
        if parse_name(path.name)
    )
    return [entry for path in dict.fromkeys(found) if (entry := corpus.read(path, root)).content is not None]


def _pair(
    result: Resending, setup: str, scope: str, *, misses: list[_Miss], entries: list[Entry], used: set[str]
) -> None:
    groups: dict[str, list[Entry]] = defaultdict(list)
    for entry in sorted(entries, key=lambda entry: (_recorded(entry), entry.name)):
        groups[_key(entry)].append(entry)
    left = {key: [entry for entry in group if entry.name not in used] for key, group in groups.items()}
    open_ = {
        digest(miss.form)[:20]: miss for miss in misses if len(groups.get(digest(miss.form)[:20], ())) < miss.wanted
    }
    ranked = sorted(
        (len(list(differences(_form(group[0]), miss.form))), i, j, asked, key)
        for i, (asked, miss) in enumerate(open_.items())
        for j, (key, group) in enumerate(left.items())
        if group and key not in open_ and _same_call(_form(group[0]), miss.form)
    )
    for _, _, _, asked, key in ranked:
        if asked not in open_ or not left.get(key):
            continue
        miss, group = open_.pop(asked), left.pop(key)
        result.pairs.append(
            Resent(
                setup=setup,
                scope=scope,
                files=tuple(entry.name for entry in sorted(group, key=_ordinal)),
                form=miss.form,
                taken=len(groups.get(asked, ())),
                differing={
                    _INDEX.sub("[]", path): (old, new) for path, old, new in differences(_form(group[0]), miss.form)
                },
            )
        )
    result.alone += [scope for _ in open_]


def _same_call(recorded: Form, sent: Form) -> bool:
    return all(recorded[key] == sent[key] for key in ("provider", "method", "path"))


def _form(entry: Entry) -> Form:
    return {} if entry.content is None else form_of(entry.content["request"])


def _key(entry: Entry) -> str:
    return digest(_form(entry))[:20]


def _ordinal(entry: Entry) -> int:
    parsed = parse_name(entry.path.name)
    return parsed.ordinal if parsed else 1


def _recorded(entry: Entry) -> str:
    return "" if entry.content is None else str((entry.content.get("provenance") or {}).get("recorded_at") or "")
