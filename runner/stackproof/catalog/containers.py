"""Reads `stacks/<name>/container.yaml`: what runs in a container of its own beside a stack."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from stackproof.catalog import templates
from stackproof.catalog.names import check_name
from stackproof.catalog.records import BesideSpec, Until
from stackproof.catalog.stacks import docker, readiness
from stackproof.catalog.yaml_source import Section, read
from stackproof.suggest import did_you_mean

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Each has a log of its own beside these in the folder of the cell.
_TAKEN = ("stack", "service", "cell", "pytest", "post-command", "edge")
_FILLED = ("host", "port")


def load_container(path: Path, *, shown: str) -> tuple[BesideSpec, Section]:
    """The container that `path` (`<folder>/container.yaml`) describes, named after its folder, and where it says so."""
    name = path.parent.name
    section = read(path, what=f"container {name!r}", shown=shown)
    word = _ready_word(section)
    section.only("description", "docker", "command", "env", "memory", word, "until", "needs", "provides")
    check_name(section, "container", name)
    if name in _TAKEN:
        section.fail(f"a container cannot be called {name!r}: {name}.log is the log of something else")
    if name == "localhost":
        section.fail("a container cannot be called 'localhost': others call it by its name")
    image = docker(section, path.parent)
    if image is None:
        section.fail(f"{section.what} lacks 'docker'")
    until = _until(section)
    waits = section.section(word, f"{word!r} of {section.what}")
    asked = () if waits is None else waits.texts("command")
    if waits is not None:
        waits.only("timeout", *((("command",) if asked else ("path", "status")) if until is Until.HEALTHY else ()))
    elif until is Until.HEALTHY:
        section.fail(
            f"{section.what} does not say when it is ready",
            hint="readiness: {command: […]} is run inside, readiness: {path: /…} is asked over HTTP; "
            "for what ends by itself: until: completed",
        )
    for item in section.texts("memory"):
        if not item.startswith("/"):
            section.fail(f"'memory' of {section.what} names folders from '/' on, not {item!r}", key="memory")
    spec = BesideSpec(
        name=name,
        description=section.required_text("description"),
        folder=path.parent,
        docker=image,
        command=section.texts("command"),
        env=_variables(section, "env"),
        memory=section.texts("memory"),
        asked=asked,
        readiness=readiness(section, word, inside=True),
        until=until,
        needs=section.texts("needs"),
        provides=_variables(section, "provides"),
        source=path,
    )
    templates.check(section, "command", templates.IN_A_CONTAINER, elsewhere=templates.OF_A_STACK)
    for variable, value in spec.provides.items():
        for word in re.findall(r"\{(\w+)\}", value):
            if word not in _FILLED:
                section.fail(
                    f"{{{word}}} in {variable} of {section.what} is not known{did_you_mean(word, _FILLED)}",
                    key="provides",
                    hint="{host} and {port} are where the stack finds it",
                )
        if until is Until.COMPLETED and "{host}" in value:
            section.fail(f"{variable} of {section.what} names a host that has ended by then", key="provides")
    return spec, section


def check_needs(found: Mapping[str, tuple[BesideSpec, Section]]) -> None:
    """UsageError, with file and line, for a container that needs one that is not there, or itself in a circle."""
    for name, (spec, section) in found.items():
        for other in spec.needs:
            if other not in found:
                section.fail(
                    f"{section.what} needs {other!r}, which is not known{did_you_mean(other, found)}",
                    key="needs",
                    hint=f"known containers: {', '.join(sorted(found))}",
                )
        circle = _circle({each: item.needs for each, (item, _) in found.items()}, (name,))
        if circle:
            section.fail(f"containers need each other in a circle: {' → '.join(circle)}", key="needs")


def in_order(names: Iterable[str], known: Mapping[str, BesideSpec]) -> tuple[BesideSpec, ...]:
    """These and all that they need, each behind what it needs."""
    order: dict[str, BesideSpec] = {}

    def visit(name: str) -> None:
        if name not in order:
            for other in known[name].needs:
                visit(other)
            order[name] = known[name]

    for name in names:
        visit(name)
    return tuple(order.values())


def _circle(needs: Mapping[str, Sequence[str]], path: tuple[str, ...]) -> tuple[str, ...]:
    """A way from the first of `path` back to it; empty where there is none."""

    def ways(path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        for other in needs.get(path[-1], ()):
            if other == path[0]:
                yield (*path, other)
            elif other not in path:
                yield from ways((*path, other))

    return next(ways(path), ())


def _ready_word(section: Section) -> str:
    """The key that says when it is ready. `ready` is its former name, which files that are there may go on to have."""
    if "ready" not in section.data:
        return "readiness"
    if "readiness" in section.data:
        section.fail(
            f"{section.what} has 'readiness' and 'ready', its former name",
            key="ready",
            hint="leave 'ready' out",
        )
    return "ready"


def _until(section: Section) -> Until:
    word = section.text("until") or Until.HEALTHY.value
    words = [until.value for until in Until]
    if word not in words:
        section.fail(
            f"'until' of {section.what} cannot be {word!r}{did_you_mean(word, words)}",
            key="until",
            hint=f"known words: {', '.join(words)}",
        )
    return Until(word)


def _variables(section: Section, key: str) -> dict[str, str]:
    found = section.text_map(key)
    for name in found:
        if not _VARIABLE.fullmatch(name):
            section.fail(f"{name!r} in {key!r} of {section.what} is no name of a variable", key=key)
    return found
