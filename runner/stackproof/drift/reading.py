"""Calls as they lie on disk: what a cell observed, and what is recorded of the same scopes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackproof.drift import answer, asked
from stackproof.drift.pairing import Call
from stackproof.evidence import jsonfile
from stackproof.evidence.recordings import open_one
from stackproof.recorder import store
from stackproof.recorder.recording import Recording
from stackproof.recorder.scope import Scope

OBSERVED = "observed"
MODELS = "model lists"  # the scope of what belongs to none


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    """What a cell observed: the files of each scope by attempt; and which number each call was, by its path's end."""

    cell_dir: Path
    scopes: Mapping[str, Mapping[str, tuple[Path, ...]]]
    order: Mapping[str, int]
    damaged: tuple[str, ...] = ()

    def calls(self, scope: str, damaged: list[str]) -> dict[str, list[Call]]:
        """The calls of a scope by attempt; names of files that are no recordings are added to `damaged`."""
        found: dict[str, list[Call]] = {}
        for attempt, paths in self.scopes.get(scope, {}).items():
            for path in paths:
                name = path.relative_to(self.cell_dir).as_posix()
                content, damage = open_one(path)
                if content is None:
                    damaged.append(f"{name}: {damage or 'is gone'}")
                    continue
                made = (self.order.get(_end(name), len(self.order)), name)
                found.setdefault(attempt, []).append(call_of(content, path.name, file=name, made=made))
        return found


def observed(cell_dir: Path) -> Observed:
    """Look at what a cell observed, one file of each scope: the rest is read when its turn comes."""
    order: dict[str, int] = {}
    for number, line in enumerate(jsonfile.lines(cell_dir / "calls.jsonl")):
        # A container has its own path for the same file: what is below the folder is the same.
        order.setdefault(_end(jsonfile.text(line or {}, "file") or ""), number)
    scopes: dict[str, dict[str, tuple[Path, ...]]] = {}
    damaged: list[str] = []
    for folder in sorted((cell_dir / OBSERVED).glob("*")):
        attempts = {each.name: tuple(sorted(each.glob("*.json"))) for each in (folder, *sorted(folder.glob("*/")))}
        attempts = {name: paths for name, paths in attempts.items() if paths}
        read = (open_one(path)[0] for paths in attempts.values() for path in paths)
        content = next((each for each in read if each is not None), None)
        if folder.name == store.MODELS:
            scopes[MODELS] = attempts
        elif content is not None:
            scopes.setdefault(str(content.get("scope") or ""), {}).update(attempts)
        else:
            names = (path.relative_to(cell_dir).as_posix() for paths in attempts.values() for path in paths)
            damaged += (f"{name}: cannot be read as a recording" for name in names)
    return Observed(cell_dir=cell_dir, scopes=scopes, order=order, damaged=tuple(damaged))


def _end(path: str) -> str:
    return "/".join(path.split("/")[-3:])


def recorded(folders: Iterable[Path], scope: str, root: Path, shown: str, damaged: list[str]) -> list[Call]:
    """Everything recorded of a scope in these folders; `shown` is how a person names the recording directory."""
    prefix = f"{store.MODELS}-" if scope == MODELS else f"{Scope(name=scope).digest[:12]}-"
    calls = []
    for folder in folders:
        for path in sorted(folder.glob(f"{prefix}*.json")):
            if scope != MODELS and store.parse_name(path.name) is None:
                continue
            name = f"{shown}/{path.relative_to(root).as_posix()}"
            content, damage = open_one(path)
            if content is None:
                damaged.append(f"{name}: {damage or 'is gone'}")
                continue
            when = str((content.get("provenance") or {}).get("recorded_at", ""))
            calls.append(call_of(content, path.name, file=name, made=(when, name)))
    return calls


def everything(root: Path, setup: str, limit: int) -> Iterator[Call]:
    """The recordings of a setup, one after the other, at most `limit`; what cannot be read is left out."""
    for path in sorted((root / setup).rglob("*.json"))[:limit]:
        content, _ = open_one(path)
        if content is not None:
            yield call_of(content, path.name, file=path.name, made=())


def call_of(content: Recording, name: str, *, file: str, made: tuple[object, ...]) -> Call:
    """A recording as a call to be compared. name: of its file, whose digits say which request it is."""
    request: dict[str, Any] = content["request"]
    parsed = store.parse_name(name)
    is_models = name.startswith(f"{store.MODELS}-")
    return Call(
        file=file,
        scope=MODELS if is_models else str(content.get("scope") or ""),
        test_id=str(content.get("test_id") or ""),
        provider=str(request.get("provider") or ""),
        method=str(request.get("method") or ""),
        path=asked.endpoint_of(request),
        model=str(request.get("model") or ""),
        request=parsed.request if parsed else name.split("-")[1] if is_models else name,
        ordinal=parsed.ordinal if parsed else 1,
        asked=asked.key_of(request),
        streamed=bool(content["response"].get("is_streaming")),
        made=made,
        answer=answer.shape_of(content),
        stack=(content.get("provenance") or {}).get("stack"),
    )
