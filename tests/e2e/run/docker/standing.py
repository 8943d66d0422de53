"""What stands on an engine and, of it, on this machine: counted before and after, to see what was left."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

from stackproof.catalog.catalog import builtin_folder
from stackproof.stack import built
from stackproof.stack.engine import Engine

_PROGRAMS = ("containerd-shim", "docker-proxy")  # of the engine, one or more for each container


def on(engine: Engine, kept: frozenset[str] | set[str] = frozenset()) -> Mapping[str, frozenset[str]]:
    """Everything on the engine, by kind: images are those of stacks, and layers that have no name.

    Images of the built-in stacks and of those in `kept` are left out: they stay for the tests that come next, as they
    do for anybody's runs.
    """
    client = engine._client
    stay = kept | {path.name for path in builtin_folder().iterdir()}
    images = {item.name for item in built.of(engine) if built.stack_of(item) not in stay}
    return {
        "container": frozenset(str(item["Names"][0]) for item in client.containers(all=True)),
        "network": frozenset(str(item["Name"]) for item in client.networks()),
        "volume": frozenset(str(item["Name"]) for item in client.volumes()["Volumes"] or ()),
        "image": frozenset(images | {item.id for item in engine.nameless()}),
    }


def here() -> Mapping[str, frozenset[str]]:
    """What belongs to containers and runs on this machine: the engine's processes, threads, open files, folders."""
    me = Path("/proc/self/fd")
    return {
        "process": frozenset(_processes()),
        "child": frozenset(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()),
        "thread": frozenset(str(item.ident) for item in threading.enumerate()),
        "file": frozenset(f"{item.name} {_target(item)}" for item in me.iterdir() if item.is_symlink()),
        "folder": frozenset(path.name for path in Path(tempfile.gettempdir()).glob("stackproof-*")),
    }


def _processes() -> list[str]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                name = (folder / "comm").read_text()
            except OSError:
                continue
            if name.startswith(_PROGRAMS) and not _is_elsewhere(folder):
                found.append(f"{folder.name} {name.strip()}")
    return found


def _is_elsewhere(process: Path) -> bool:
    """Whether it belongs to an engine that tests have started for themselves, in a world of processes of its own."""
    try:
        return (process / "ns" / "pid").readlink() != Path("/proc/self/ns/pid").readlink()
    except OSError:
        return False


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return "closed"
