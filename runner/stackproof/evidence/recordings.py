"""What a run did with the recordings, cell by cell, and whether the files can be read at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from stackproof.evidence import jsonfile
from stackproof.recorder import recording, redact

SCHEMA = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class FolderFacts:
    """The recordings of one setup. size: bytes of their JSON files. oldest, newest: when they were made, as they say
    themselves; None where none says it.
    """

    setup: str
    files: int = 0
    size: int = 0
    oldest: str | None = None
    newest: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class DayFacts:
    """The recordings of one day (in UTC, `2026-12-01`). first: the one whose path comes first."""

    day: str
    files: int
    first: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Looked:
    """What is found out about one recording beyond its being one.

    damage: why no run comes to it, None where one does. rules: those that would change it if it were written now. day:
    on which it was made, None where it does not say so. ages: False where no provider stands behind it.
    """

    damage: str | None = None
    rules: tuple[str, ...] = ()
    day: str | None = None
    ages: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordingFacts:
    """files: recordings in the folders that the run read. damaged: those that are none, by path. secrets: what looks
    like one, or is one that this environment knows, as file, place and kind; never the value. folders: one a setup.

    unnormalised: those that would be written differently now, with the rules. days: when they were made, by day.
    undated: how many should say it and do not. All three are None where nobody looked.
    """

    files: int = 0
    folders: tuple[FolderFacts, ...] = ()
    damaged: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    unnormalised: tuple[str, ...] | None = None
    days: tuple[DayFacts, ...] | None = None
    undated: int | None = None
    commit: str | None = None
    policy: str | None = None


def inspect(
    folder: Path,
    setups: Iterable[str],
    *,
    values: Mapping[str, str] | None = None,
    look: Callable[[Path, recording.Recording], Looked] | None = None,
    form: bool = True,
) -> RecordingFacts:
    """Look at every recording of `setups` below the recording directory `folder`.

    values: secrets by the name of their variable, searched for beside the shapes of keys. look: what else there is to
    find out about a recording and its file. form: whether that tells how it would be written now, and its age.
    """
    unnormalised: list[str] = []
    days: dict[str, DayFacts] = {}
    undated = 0
    damaged: list[str] = []
    secrets: list[str] = []
    folders: list[FolderFacts] = []
    for setup in sorted(set(setups)):
        files = sorted((folder / setup).rglob("*.json"))
        made: set[str] = set()
        for path in files:
            name = path.relative_to(folder).as_posix()
            found, damage = open_one(path)
            if damage is not None:
                damaged.append(f"{name}: {damage}")
            hit = redact.find(found, values or {})
            if hit is not None:
                secrets.append(f"{name}: {hit[0]} in {hit[1]}")
            made.update(_made(found))
            if look is not None and found is not None:
                seen = look(path, found)
                if seen.damage is not None:
                    damaged.append(f"{name}: {seen.damage}")
                if seen.rules:
                    unnormalised.append(f"{name}: {', '.join(seen.rules)}")
                if seen.day is not None:
                    before = days.get(seen.day, DayFacts(day=seen.day, files=0, first=name))
                    days[seen.day] = replace(before, files=before.files + 1)
                undated += seen.ages and seen.day is None
        folders.append(
            FolderFacts(
                setup=setup,
                files=len(files),
                size=sum(_size(path) for path in files),
                oldest=min(made, default=None),
                newest=max(made, default=None),
            )
        )
    return RecordingFacts(
        files=sum(each.files for each in folders),
        folders=tuple(folders),
        damaged=tuple(damaged),
        secrets=tuple(secrets),
        unnormalised=None if look is None or not form else tuple(unnormalised),
        days=None if look is None or not form else tuple(days[day] for day in sorted(days)),
        undated=None if look is None or not form else undated,
    )


def _made(found: recording.Recording | None) -> Iterator[str]:
    provenance = found.get("provenance") if found else None
    if isinstance(provenance, dict) and (day := jsonfile.text(provenance, "recorded_at")):
        yield day


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def open_one(path: Path) -> tuple[recording.Recording | None, str | None]:
    """The recording in a file, or what is wrong with it, without the path; neither where there is no such file."""
    try:
        return recording.read(str(path)), None
    except recording.DamagedRecordingError as error:
        return None, str(error).removeprefix(str(path)).strip()


def to_json(facts: RecordingFacts) -> dict[str, Any]:
    """What `checks/recordings.json` holds."""
    return {"schema": SCHEMA, "kind": "recordings", **asdict(facts)}


def read(path: Path) -> RecordingFacts | None:
    """Read `checks/recordings.json`; None when it is missing or is something else."""
    data = jsonfile.read(path)
    if data is None or data.get("schema") != SCHEMA or data.get("kind") != "recordings":
        return None
    files = jsonfile.number(data, "files")
    if files is None:
        return None
    return RecordingFacts(
        files=files,
        folders=tuple(_folders(data.get("folders"))),
        damaged=jsonfile.strings(data, "damaged"),
        secrets=jsonfile.strings(data, "secrets"),
        unnormalised=jsonfile.strings(data, "unnormalised") if isinstance(data.get("unnormalised"), list) else None,
        days=tuple(_days(data["days"])) if isinstance(data.get("days"), list) else None,
        undated=jsonfile.number(data, "undated"),
        commit=jsonfile.text(data, "commit"),
        policy=jsonfile.text(data, "policy"),
    )


def _days(items: Iterable[object]) -> Iterator[DayFacts]:
    for item in items:
        match item:
            case {"day": str(day), "files": int(files), "first": str(first)}:
                yield DayFacts(day=day, files=files, first=first)
            case _:
                continue


def _folders(items: object) -> Iterator[FolderFacts]:
    """Runs from before there were any have none."""
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and (setup := jsonfile.text(item, "setup")) is not None:
            yield FolderFacts(
                setup=setup,
                files=jsonfile.number(item, "files") or 0,
                size=jsonfile.number(item, "size") or 0,
                oldest=jsonfile.text(item, "oldest"),
                newest=jsonfile.text(item, "newest"),
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Misses:
    """What `misses.jsonl` says, a first line for each. network: connections that were refused. tests: those that
    missed a recording, whatever else went wrong with them.
    """

    damaged: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    tests: frozenset[str] = frozenset()


def misses(path: Path) -> Misses:
    """Read `misses.jsonl`; a line that is no JSON object counts as damage."""
    damaged: list[str] = []
    network: list[str] = []
    tests: set[str] = set()
    for miss in jsonfile.lines(path):
        if miss is None:
            damaged.append(f"{path.name} holds a line that is no JSON object")
            continue
        test = jsonfile.text(miss, "test_id")
        match miss.get("kind"):
            case "network":
                network.append(_first_line(miss))
                continue
            case "damaged":
                damaged.append(_first_line(miss))
            case _:
                pass
        if test is not None:
            tests.add(test)
    return Misses(damaged=tuple(damaged), network=tuple(network), tests=frozenset(tests))


def _first_line(miss: Mapping[str, Any]) -> str:
    message = jsonfile.text(miss, "message") or "a provider call was not answered"
    return message.strip().partition("\n")[0]
