"""Suites whose tests are not pytest's: a command of their own runs them, and a JUnit report says how each ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stackproof.catalog import templates
from stackproof.catalog.preparing import PrepareSpec, preparing
from stackproof.catalog.yaml_source import Section

# Options of a run that only a command which knows them can follow.
OPTIONS = ("pattern", "test_timeout", "workers")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunnerSpec:
    """A command that runs tests against a server.

    name: how messages call it. folder: where it runs, a folder of the project; `shown` as the file has it. A node id is
    `<folder>/<class name>::<name>` with the two names that the report has. command: argv; {junit} in it is where
    the report goes, {prepared} the folder of what `prepare` made, {folder} the one that it runs in. options:
    arguments that follow where an option of the run is given, {value} in them filled in; {milliseconds} too for a
    time. pattern: for `--pattern`. test_timeout: for `--test-timeout`. workers: for `--workers`. prepare: what is
    made of the folder first.
    """

    name: str
    folder: Path
    shown: str
    command: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    prepare: PrepareSpec | None = None


def runner(section: Section, project: Path) -> RunnerSpec | None:
    """The `runner` of a suite; None where it is pytest."""
    inner = section.section("runner", f"'runner' of {section.what}")
    if inner is None:
        return None
    inner.only("name", "folder", "command", "options", "prepare")
    shown = inner.required_text("folder").rstrip("/")
    folder = project / shown
    if not folder.is_dir() or not folder.resolve().is_relative_to(project.resolve()):
        inner.fail(f"'folder' of {inner.what} names {shown!r}, which is no folder of the project", key="folder")
    command = inner.texts("command")
    templates.check(inner, "command", templates.RUNNER)
    if not any("{junit}" in part for part in command):
        inner.fail(f"'command' of {inner.what} must say where the report goes: {{junit}}", key="command")
    more = inner.section("options", f"'options' of {inner.what}")
    if more is not None:
        more.only(*OPTIONS)
        for name in more.data:
            templates.check(more, name, templates.OPTION)
    return RunnerSpec(
        name=inner.required_text("name"),
        folder=folder,
        shown=shown,
        command=command,
        options={} if more is None else {name: more.texts(name) for name in more.data},
        prepare=preparing(inner, folder),
    )
