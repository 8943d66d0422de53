"""What live smokes left: `checks/live.json` of a run folder, and copies of it elsewhere. Nothing in them can raise.

A smoke runs on a schedule and on another machine than the one that weighs a release, so its evidence may come from
`.stackproof/live/` of the project, and from a file or a folder that `STACKPROOF_LIVE_EVIDENCE` names: what a CI job
downloaded, whole run folders say.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from stackproof.evidence import jsonfile
from stackproof.plaintext import one_line, shortened

SCHEMA = 1
SUITE = "live"  # whose tests make the calls, unless somebody asks for another
RESULT = Path("checks/live.json")
FOLDER = Path(".stackproof/live")
VARIABLE = "STACKPROOF_LIVE_EVIDENCE"

_LARGEST = 4 << 20  # bytes of one file; ours have a few thousand
_MOST = 10_000  # files of a folder that are looked at by name
_LONGEST = 300  # characters of a text


class LiveOutcome(StrEnum):
    """How a smoke ended, from the best to the worst. stopped: by its budget. blocked: by a key or its credit."""

    PASSED = "passed"
    SKIPPED = "skipped"
    STOPPED = "stopped"
    BLOCKED = "blocked"
    FAILED = "failed"

    @property
    def severity(self) -> int:
        """0 for the best."""
        return _SEVERITY[self]


_SEVERITY = {outcome: number for number, outcome in enumerate(LiveOutcome)}


@dataclass(frozen=True, kw_only=True, slots=True)
class DriftCounts:
    """How answers differ from the recordings of the same tests. unrecorded: calls with nothing to compare with."""

    breaking: int = 0
    additive: int = 0
    note: int = 0
    unrecorded: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveModelFacts:
    """One model that was called. tests: how many by outcome. requests: None where the file does not say. refused: of
    these, the ones without an answer of use; older files do not say. drift: None where nothing was compared. called:
    hosts, as far as the file says. own_address: whether the setup names them all.
    """

    model: str
    setup: str
    outcome: LiveOutcome
    reason: str | None = None
    tests: Mapping[str, int] = field(default_factory=dict)
    requests: int | None = None
    refused: int = 0
    drift: DriftCounts | None = None
    called: tuple[str, ...] = ()
    own_address: bool = False

    @property
    def answered(self) -> int:
        """How many requests got an answer."""
        return (self.requests or 0) - self.refused


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveFacts:
    """One smoke. stopped: when it ended, in UTC. origin: the file, as people name it. ended_by: which budget.

    suite, arguments: what it ran, as far as the file says; with arguments for pytest perhaps a part of it.
    """

    origin: str
    outcome: LiveOutcome
    stopped: datetime
    models: tuple[LiveModelFacts, ...] = ()
    run_id: str | None = None
    commit: str | None = None
    dirty: bool = False
    ended_by: str | None = None
    suite: str | None = None
    arguments: tuple[str, ...] = ()

    def of(self, setup: str) -> tuple[LiveModelFacts, ...]:
        """The models of one setup."""
        return tuple(model for model in self.models if model.setup == setup)


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveEvidence:
    """Every smoke that was found, and what is wrong with files that hold none, as sentences."""

    smokes: tuple[LiveFacts, ...] = ()
    problems: tuple[str, ...] = ()

    def __add__(self, other: LiveEvidence) -> LiveEvidence:
        return LiveEvidence(smokes=(*self.smokes, *other.smokes), problems=(*self.problems, *other.problems))


NONE = LiveEvidence()


def together(found: Iterable[LiveEvidence]) -> LiveEvidence:
    """All of it as one."""
    return sum(found, start=NONE)


def of_run(run_dir: Path) -> LiveEvidence:
    """What the smoke in a run folder left; nothing where there was none."""
    path = run_dir / RESULT
    return _read(path, RESULT.as_posix()) if path.is_file() else LiveEvidence()


def elsewhere(project: Path, environ: Mapping[str, str]) -> LiveEvidence:
    """What lies in `.stackproof/live/` and where the variable says."""
    found = LiveEvidence()
    for path in sorted((project / FOLDER).glob("*.json")):
        found += _read(path, f"{FOLDER.as_posix()}/{_shown(path.name)}")
    named = environ.get(VARIABLE)
    return found + _named(project / named, _shown(named)) if named else found


def names_some(environ: Mapping[str, str]) -> bool:
    """Whether the variable says that there is evidence, so that where it is missing counts."""
    return bool(environ.get(VARIABLE))


def _named(path: Path, shown: str) -> LiveEvidence:
    try:
        if path.is_file():
            return _read(path, shown)
        if not path.is_dir():
            return LiveEvidence(problems=(f"{VARIABLE} names {shown}, which is not there",))
    except (OSError, ValueError):  # a name that no file can have
        return LiveEvidence(problems=(f"{VARIABLE} names {shown}, which cannot be looked at",))
    found = LiveEvidence()
    for each in _candidates(path):
        found += _read(each, f"{shown.rstrip('/')}/{_shown(each.relative_to(path).as_posix())}")
    if not found.smokes and not found.problems:
        return LiveEvidence(problems=(f"{VARIABLE} names {shown}, in which there is no live smoke",))
    return found


def _candidates(folder: Path) -> Iterator[Path]:
    """Files of a folder that may be ours: those at its top, and `live.json` and `live/*.json` wherever they lie.

    Whoever made the folder did not have to be careful: links are not followed, and what is no file is not opened.
    """
    seen = 0
    for place, below, names in os.walk(folder, followlinks=False):
        below.sort()
        here = Path(place)
        for name in sorted(names):
            seen += 1
            if seen > _MOST:
                return
            wanted = name == RESULT.name or (name.endswith(".json") and (here == folder or here.name == FOLDER.name))
            if wanted and _is_regular(here / name):
                yield here / name


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


class _UnusableError(Exception):
    """A file that should be evidence and is not; the message goes on after its name."""


def _read(path: Path, shown: str) -> LiveEvidence:
    try:
        facts = _facts(path, shown)
    except _UnusableError as error:
        return LiveEvidence(problems=(f"{shown} {error}",))
    return LiveEvidence(smokes=(facts,)) if facts is not None else LiveEvidence()


def _facts(path: Path, shown: str) -> LiveFacts | None:
    """None for a file of another kind, which is no fault: a folder may hold other JSON files beside ours."""
    try:
        if not path.is_file():
            return None
        too_large = path.stat().st_size > _LARGEST
    except (OSError, ValueError):
        raise _UnusableError("cannot be looked at") from None
    data = None if too_large else jsonfile.read(path)
    if data is None:
        raise _UnusableError("cannot be read as the evidence of a live smoke")
    if data.get("kind") != "live":
        return None
    if data.get("schema") != SCHEMA:
        raise _UnusableError(f"is of schema {_shown(str(data.get('schema')))}, not {SCHEMA}")
    outcome, stopped = _outcome(data), _moment(data.get("stopped"))
    if outcome is None or stopped is None:
        raise _UnusableError(f"does not say {'how' if outcome is None else 'when'} the smoke ended")
    return LiveFacts(
        origin=shown,
        outcome=outcome,
        stopped=stopped,
        models=tuple(_models(data.get("models"))),
        run_id=_text(data, "run_id"),
        commit=_text(data, "commit"),
        dirty=data.get("dirty") is not False,
        ended_by=_text(jsonfile.table(data, "budget"), "ended_by"),
        suite=_text(data, "suite"),
        arguments=tuple(_texts(data.get("arguments"))),
    )


def _models(items: object) -> Iterator[LiveModelFacts]:
    """A model that does not say how it ended has failed: nothing may get better by being unreadable."""
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, dict):
            continue
        outcome, setup = _outcome(item), jsonfile.text(item, "setup")
        if setup is None:
            continue
        tests = jsonfile.table(item, "tests")
        drift = item.get("drift")
        yield LiveModelFacts(
            model=_text(item, "model") or "a model without a name",
            setup=setup,
            outcome=outcome or LiveOutcome.FAILED,
            reason=_text(item, "reason") if outcome is not None else "its outcome cannot be read",
            tests={_shown(name): number for name in tests if (number := jsonfile.number(tests, name)) is not None},
            requests=jsonfile.number(item, "requests"),
            refused=jsonfile.number(item, "refused") or 0,
            drift=_drift(drift) if isinstance(drift, dict) else None,
            called=tuple(_texts(item.get("called"))),
            own_address=item.get("own_address") is True,
        )


def _texts(items: object) -> Iterator[str]:
    yield from (_shown(item) for item in (items if isinstance(items, list) else ()) if isinstance(item, str))


def _drift(data: Mapping[str, Any]) -> DriftCounts | None:
    """None where one of the numbers that decide something is missing: then nobody knows."""
    breaking, additive = jsonfile.number(data, "breaking"), jsonfile.number(data, "additive")
    if breaking is None or additive is None:
        return None
    return DriftCounts(
        breaking=breaking,
        additive=additive,
        note=jsonfile.number(data, "note") or 0,
        unrecorded=jsonfile.number(data, "unrecorded") or 0,
    )


def _outcome(data: Mapping[str, Any]) -> LiveOutcome | None:
    try:
        return LiveOutcome(str(data.get("outcome")))
    except ValueError:
        return None


def _moment(value: object) -> datetime | None:
    """In UTC; a time without a zone is taken for UTC."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        return None if moment is None else (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):  # the year 1 in a zone east of here
        return None


def _text(data: Mapping[str, Any], key: str) -> str | None:
    found = jsonfile.text(data, key)
    return None if found is None else _shown(found)


def _shown(text: str) -> str:
    return shortened(one_line(text), _LONGEST)


def newest_first(smokes: Iterable[LiveFacts]) -> list[LiveFacts]:
    """Without copies of the same smoke; of two that ended at one time the worse comes first."""
    distinct: dict[tuple[str | None, datetime, str], LiveFacts] = {}
    for smoke in smokes:
        distinct.setdefault((smoke.run_id, smoke.stopped, f"{smoke.outcome} {smoke.models}"), smoke)
    return sorted(distinct.values(), key=lambda smoke: (smoke.stopped, smoke.outcome.severity), reverse=True)
