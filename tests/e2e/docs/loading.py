"""Loads what a page shows of our files by the code that reads them, and parses what is in other languages."""

from __future__ import annotations

import ast
import json
import re
import shutil
import textwrap
import tomllib
from collections.abc import Callable
from pathlib import Path

import yaml
from tests.e2e.docs.blocks import PROJECT
from tests.e2e.docs.table import Entry

from stackproof.catalog.containers import load_container
from stackproof.catalog.services import load_service
from stackproof.catalog.setups import load_setups
from stackproof.catalog.stacks import load_stack
from stackproof.catalog.suites import load_suites
from stackproof.faults import claim_file
from stackproof.lanes import read as lanes
from stackproof.verdict import policy

# More of the same.
_MORE = re.compile(r",\s*…(?=\s*[\]}])")
_INSTRUCTIONS = frozenset(
    ["ARG", "FROM", "RUN", "COPY", "ADD", "ENV", "WORKDIR", "USER", "LABEL", "CMD", "ENTRYPOINT", "EXPOSE", "VOLUME"]
)
# What every file of the kind must have; a page that shows one key leaves it out.
_REST = {
    "stack": {"description": "shown", "modes": "[server]", "command": '["{python}", "server.py"]'},
    "release": {"version": "1", "cells": '[{suite: base, setup: ollama, stack: "server:reference"}]'},
}
_SUITE = "root: tests\nsuites:\n  shown:\n    description: shown\n    roots: [tests]\n    default_setup: ollama\n"
_PLACES = {
    "stack": "stacks/shown/stack.yaml",
    "service": "stacks/shown/service.yaml",
    "container": "stacks/shown/container.yaml",
    "setups": "stacks/setups.yaml",
    "suites": "tests/suites.yaml",
    "release": "ci/release.yaml",
    "matrix": "ci/matrix.yaml",
    "claims": "tests/faults/claims.yaml",
    "rules": "tests/suites.yaml",
}
_LOADERS: dict[str, Callable[[Path, Path], object]] = {
    "stack": lambda _, path: load_stack(path, shown=path.name),
    "service": lambda _, path: load_service(path, shown=path.name),
    "container": lambda _, path: load_container(path, shown=path.name),
    "setups": lambda _, path: load_setups(path, shown=path.name),
    "suites": lambda _, path: load_suites(path, shown=path.name),
    "release": lambda project, _: policy.load(project),
    "matrix": lambda project, _: lanes.load(project),
    "rules": lambda _, path: load_suites(path, shown=path.name),
    "claims": lambda project, path: claim_file.load(project, path.relative_to(project)),
}


_NOT_NAMED = shutil.ignore_patterns("unit", "e2e", "__pycache__")


def load(entry: Entry, project: Path) -> None:
    """Write the block where it belongs in an empty project, and read it by our own code; UsageError if it is wrong."""
    path = project / _PLACES[entry.load]
    path.parent.mkdir(parents=True, exist_ok=True)
    for name in entry.beside:
        (path.parent / name).parent.mkdir(parents=True, exist_ok=True)
        (path.parent / name).write_text("{}" if name.endswith(".json") else "")
    shown = yaml.safe_load(entry.block.text)
    rest = "".join(f"{key}: {value}\n" for key, value in _REST.get(entry.load, {}).items() if key not in shown)
    if entry.load == "matrix":
        # What lanes name has to be there.
        shutil.copytree(PROJECT / "tests", project / "tests", ignore=_NOT_NAMED, dirs_exist_ok=True)
        shutil.copy(PROJECT / "ci/release.yaml", path.parent)
    if entry.load == "release":
        (project / "tests/faults").mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / "tests/faults/claims.yaml", project / "tests/faults/claims.yaml")
    text = f"{rest}{entry.block.text}\n"
    if entry.load == "rules":
        text = _SUITE + textwrap.indent(text, "    ")
    path.write_text(text, encoding="utf-8")
    _LOADERS[entry.load](project, path)


def parse(language: str, text: str) -> None:
    """Read it by the parser of its language; ValueError, SyntaxError or YAMLError where that cannot."""
    match language:
        case "yaml" | "yml":
            list(yaml.safe_load_all(text))
        case "toml":
            tomllib.loads(text)
        case "json":
            json.loads(_MORE.sub("", text))
        case "python" | "py":
            ast.parse(text)
        case "dockerfile":
            joined = text.replace("\\\n", " ")
            lines = [line for line in joined.splitlines() if line.strip() and not line.startswith("#")]
            if strange := [line for line in lines if line.split()[0] not in _INSTRUCTIONS]:
                raise ValueError(f"no instruction of a Dockerfile: {strange[0]}")
        case _:
            raise ValueError(f"nothing here parses {language!r}; say in tests/e2e/docs/table why it is not run")
