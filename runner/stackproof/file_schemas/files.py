"""The files of a project that have schemas, and what this project's own show of each."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from stackproof.catalog import catalog
from stackproof.catalog.records import BesideSpec, ServiceSpec, SetupSpec, StackMode, StackSpec
from stackproof.catalog.suites import Suites
from stackproof.faults import claim_file
from stackproof.file_schemas.schemas import DIALECT, Schema, of_mapping
from stackproof.file_schemas.watching import Watch, watching
from stackproof.lanes import read as lanes
from stackproof.lanes.records import Matrix
from stackproof.recorder.mode import Mode
from stackproof.verdict import policy
from stackproof.verdict.policy_records import Policy

_VERSION: Schema = {"const": 1, "description": "the version of the file's format"}


@dataclass(frozen=True, kw_only=True, slots=True)
class File:
    """One kind of file. name: as it is called. path: where it lies in a project. record: what is read from it.

    also: by key, what no question of its reader shows.
    """

    name: str
    path: str
    title: str
    record: type
    also: dict[str, Schema] = field(default_factory=dict)

    @property
    def schema_name(self) -> str:
        """The file name of its schema."""
        return f"{self.name.removesuffix('.yaml')}.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Claims:
    """The claims file. claims: name -> what must follow when something breaks."""

    claims: dict[str, claim_file.Claim]


_MODES = [mode.value for mode in StackMode if mode is not StackMode.REMOTE]
_NPM: Schema = {"or": ({"const": "npm"},)}
FILES = (
    File(
        name="stack.yaml", path="stacks/NAME/stack.yaml", title="Software under test, and how it runs",
        record=StackSpec,
        also={"modes": {"items": {"enum": _MODES}}, "prepare": _NPM, "edge.probe.body": {}},
    ),
    File(
        name="container.yaml", path="stacks/NAME/container.yaml", title="What runs in a container beside a stack",
        record=BesideSpec,
    ),
    File(
        name="service.yaml", path="stacks/NAME/service.yaml", title="A model provider that runs on this machine",
        record=ServiceSpec,
    ),
    File(
        name="setups.yaml", path="stacks/setups.yaml", title="Named environments", record=SetupSpec,
        also={"*.description": {"optional": True}},
    ),
    File(
        name="suites.yaml", path="tests/suites.yaml", title="Named sets of tests", record=Suites,
        also={"suites.*.runner.prepare": _NPM},
    ),
    File(
        name="release.yaml", path="ci/release.yaml", title="What must be there before a release", record=Policy,
        also={
            "version": _VERSION,
            "benchmarks.*.gate": {"minimum": 1},
            "claims.required": {"or": ({"const": policy.ALL},), "default": policy.ALL},
        },
    ),
    File(
        name="matrix.yaml", path="ci/matrix.yaml", title="Which jobs CI has, and what each runs", record=Matrix,
        also={"version": _VERSION, "lanes.*.record.mode": {"enum": [mode.value for mode in Mode if mode.records]}},
    ),
    File(
        name="claims.yaml", path="tests/faults/claims.yaml", title="What must follow when something breaks",
        record=_Claims,
        also={
            "version": _VERSION,
            "claims.*.events": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "object"}]}},
        },
    ),
)  # fmt: skip

# What this project's own files have no use for: read beside them, so that every key is asked for once.
_EXAMPLES = {
    "stacks/a/stack.yaml": """
        description: A program that is built first
        modes: [server]
        command: [./server]
        recorder: edge
        edge: {variables: {URL: openai}, probe: {path: /ask, body: {}}}
        prepare: {command: [make], files: [stack.yaml], needs: {make: "4"}}
        """,
    "stacks/b/container.yaml": """
        description: Something beside it
        docker: {image: example}
        readiness: {command: [ready]}
        """,
    "tests/suites.yaml": """
        suites:
          a:
            description: Tests of another runner
            roots: [tests]
            default_setup: ollama
            runner:
              name: make
              folder: tests
              command: [make, "{junit}"]
              options: {pattern: ["{value}"]}
              prepare: {command: [make], files: [suites.yaml]}
        """,
    "tests/claims.yaml": """
        version: 1
        claims: {a: {invariant: a, fault: b, events: [c], residue: {d: 1}, excludes: [e]}}
        """,
    "ci/matrix.yaml": """
        version: 1
        lanes:
          a: {description: One job, triggers: [push], cells: [{suite: a, setup: ollama, stack: "server:a"}]}
        """,
    "ci/release.yaml": """
        version: 1
        cells: [{suite: a, setup: ollama, stack: "server:a"}]
        claims: {file: tests/claims.yaml, tests: [tests], required: [a]}
        flaky: {suites: {a: 1}}
        waivers: [{test: a, reason: b, owner: c, expires: 2030-12-31}]
        """,
}


def schemas(project: Path) -> dict[str, Schema]:
    """File name -> its schema, from the files of `project`, which is Stackproof's own checkout."""
    watch = _watched(project)
    return {
        file.name: {
            "$schema": DIALECT,
            "$id": f"urn:stackproof:schema:{file.schema_name.removesuffix('.json')}:1",
            "title": file.title,
            **of_mapping(
                watch, (file.name,), file.record, {f"{file.name}.{key}": value for key, value in file.also.items()}
            ),
        }
        for file in FILES
    }


@cache
def _watched(project: Path) -> Watch:
    with watching() as watch, tempfile.TemporaryDirectory() as folder:
        things = catalog.load(project)
        policy.load(project)
        lanes.load(project, known=things)
        own = Path(folder)
        for name, text in _EXAMPLES.items():
            (own / name).parent.mkdir(parents=True, exist_ok=True)
            (own / name).write_text(text, encoding="utf-8")
        lanes.load(own)
    return watch
