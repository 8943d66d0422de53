"""How a file came by its name, step by step from what it says, and whether a run would look for it where it lies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from stackproof.catalog.records import Catalog
from stackproof.errors import UsageError
from stackproof.recorder import redact, rules
from stackproof.recorder.identity import Form, Identity, digest
from stackproof.recorder.miss import form_of
from stackproof.recorder.recording import Recording
from stackproof.recorder.scope import Scope
from stackproof.recorder.store import MODELS, digest_of_models, parse_name
from stackproof.recordings import folding, looking
from stackproof.recordings.corpus import Entry
from stackproof.recordings.folding import Active

_STAR_RULES = frozenset({"long_decimals", "file_search"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """Why no call finds the file, and what to do about it."""

    what: str
    hint: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Explained:
    """One file.

    form: what is compared, as the file has it, folded. identity: its two digests, computed from the file. number: from
    1, and 0 for a list of models. computed: the name that follows. active: the rules in force now, once for each suite
    with other ones. acted: names of rules that changed the form when it was recorded; unfolded: the digest before that.
    folded_at, masked_at: JSON paths of `*` and `***`. folders: where a run looks, in order. numbers: of the recordings
    of this identity beside it.
    """

    entry: Entry
    form: Form
    identity: Identity
    number: int
    computed: str
    active: tuple[Active, ...]
    acted: tuple[str, ...]
    unfolded: str | None
    folded_at: tuple[str, ...]
    masked_at: tuple[str, ...]
    folders: tuple[Path, ...]
    numbers: tuple[int, ...]
    faults: tuple[Fault, ...]

    @property
    def agrees(self) -> bool:
        """Whether the file has the name that follows from it."""
        return self.computed == self.entry.path.name


def explain(entry: Entry, root: Path, catalog: Catalog) -> Explained:
    """Explain a file that can be read. UsageError when it is neither a recording's nor a model list's name."""
    content = entry.content
    if content is None:
        raise UsageError(f"{entry.path} {entry.damage}", hint="restore it from version control")
    request = content["request"]
    form = form_of(request)
    identity = Identity(scope=Scope(name=entry.scope).digest, request=digest(form))
    parsed = parse_name(entry.path.name)
    is_models = parsed is None and entry.path.name.startswith(f"{MODELS}-")
    number = 0 if is_models else parsed.ordinal if parsed else 1
    active = folding.active(catalog, entry.setup, entry.scope)
    acted = tuple(map(str, content.get("rules") or ()))
    unfolded = request.get("unfolded")
    explained = Explained(
        entry=entry,
        form=form,
        identity=identity,
        number=number,
        computed=_models_name(content, identity) if is_models else identity.file_name(number),
        active=active,
        acted=acted,
        unfolded=unfolded if isinstance(unfolded, str) else None,
        folded_at=tuple(folding.marked(form, rules.FOLDED)) if _STAR_RULES.intersection(acted) else (),
        masked_at=tuple(folding.marked(form, redact.MASK)),
        folders=_folders(entry, root, catalog, is_models=is_models),
        numbers=_numbers(entry, identity),
        faults=(),
    )
    return _with_faults(explained, is_models=is_models)


def _models_name(content: Recording, identity: Identity) -> str:
    body = content["response"].get("body") or {}
    if not isinstance(body.get("json"), dict):
        return f"{MODELS}-{identity.request[:20]}-(it holds no list of models)"
    return f"{MODELS}-{identity.request[:20]}-{digest_of_models(content['response'])}.json"


def _folders(entry: Entry, root: Path, catalog: Catalog, *, is_models: bool) -> tuple[Path, ...]:
    scope = "stack" if is_models else entry.scope
    return looking.folders(root, entry.setup, scope, catalog.integration_root)


def _numbers(entry: Entry, identity: Identity) -> tuple[int, ...]:
    found = []
    for path in entry.path.parent.glob(f"{identity.scope[:12]}-{identity.request[:20]}*.json"):
        parsed = parse_name(path.name)
        if parsed is not None:
            found.append(parsed.ordinal)
    return tuple(sorted(found))


def _with_faults(one: Explained, *, is_models: bool) -> Explained:
    faults = [*_of_name(one), *_of_place(one)]
    if not is_models:
        faults += [*_of_rules(one), *_of_number(one)]
    return replace(one, faults=tuple(faults))


def _of_name(one: Explained) -> list[Fault]:
    if one.agrees:
        return []
    return [
        Fault(
            what=f"its name is {one.entry.path.name}, and what it says makes {one.computed}",
            hint="`stackproof recordings rekey` gives files the names that they should have; "
            "if nobody changed the file on purpose, restore it from version control",
        )
    ]


def _of_place(one: Explained) -> list[Fault]:
    if one.entry.path.parent in one.folders:
        return []
    return [
        Fault(
            what=f"it lies in {one.entry.path.parent.name}/, where no call of its scope looks",
            hint=f"move it to {one.folders[0]}",
        )
    ]


def _of_rules(one: Explained) -> list[Fault]:
    faults = []
    now = [folding.changed_by(one.form, active.rules) for active in one.active]
    if all(form != one.form for form in now):
        name = Identity(scope=one.identity.scope, request=digest(now[0])).file_name(one.number)
        names = ", ".join(str(rule["name"]) for rule in rules.acted(one.form, one.active[0].rules))
        faults.append(
            Fault(
                what=f"rule {names}, in force now, would change its request: a run asks for {name}",
                hint="`stackproof recordings rekey` folds what is recorded by the rules that are in force",
            )
        )
    gone = [name for name in one.acted if all(name not in _names(active) for active in one.active)]
    if gone:
        faults.append(
            Fault(
                what=f"rule {', '.join(gone)} changed its request when it was recorded, and is not in force any more: "
                f"a run asks for another name",
                hint="put the rule back, or record the test again: what stood there before is not in the file",
            )
        )
    return faults


def _names(active: Active) -> set[str]:
    return {str(rule["name"]) for rule in active.rules}


def _of_number(one: Explained) -> list[Fault]:
    missing = [number for number in range(1, one.number) if number not in one.numbers]
    if not missing or not one.agrees:
        return []
    return [
        Fault(
            what=f"it is number {one.number}, and number {missing[0]} is not there: a run fails before it gets here",
            hint="record the test again, or restore the missing file from version control",
        )
    ]
