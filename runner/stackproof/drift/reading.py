"""Calls as they lie on disk: what a cell observed, and what is recorded of the same scopes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
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


@dataclass(slots=True)
class Attempts:
    """Observed files by scope, then by attempt; `damaged` are files that are no recordings."""

    by_scope: dict[str, dict[str, list[Call]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    damaged: list[str] = field(default_factory=list)


def observed(cell_dir: Path) -> Attempts:
    """Everything that a cell observed."""
    found = Attempts()
    order: dict[str, int] = {}
    for number, line in enumerate(jsonfile.lines(cell_dir / "calls.jsonl")):
        # A container has its own path for the same file: what is below the folder is the same.
        file = jsonfile.text(line or {}, "file") or ""
        order.setdefault("/".join(file.split("/")[-3:]), number)
    for path in sorted((cell_dir / OBSERVED).rglob("*.json")):
        name = path.relative_to(cell_dir).as_posix()
        content, damage = open_one(path)
        if content is None:
            found.damaged.append(f"{name}: {damage or 'is gone'}")
            continue
        made = order.get("/".join(name.split("/")[-3:]), len(order))
        call = call_of(content, path.name, file=name, made=(made, name))
        found.by_scope[call.scope][path.parent.name].append(call)
    return found


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
