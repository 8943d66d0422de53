"""`verdict.json` against its published schema, and that it is the same bytes for the same facts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped, unused-ignore]
import pytest
from tests.unit.verdict.conftest import Project, node, project  # noqa: F401 - the project with a policy is a fixture
from tests.unit.verdict_outputs.conftest import Made, example

from stackproof.evidence.outcomes import Outcome
from stackproof.verdict import publish

SCHEMA = json.loads((Path(__file__).parents[3] / "docs/schemas/verdict.json").read_text())


def closed(schema: Any) -> Any:
    """The schema without room for keys that it does not name: what we write, it has to describe."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) if key not in ("if", "then", "contains") else value for key, value in schema.items()}
    described = schema.get("type") == "object" and "properties" in schema
    return {**inner, "additionalProperties": False} if described else inner


STRICT = closed(SCHEMA)


def written(folder: Path) -> Any:
    return json.loads((folder / "verdict.json").read_text())


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$defs"]["rule"]["required"] == list(SCHEMA["$defs"]["rule"]["properties"])


@pytest.mark.parametrize("kind", ["pass", "fail", "unproven"])
def test_every_verdict_fits_its_schema(made: Made, kind: str) -> None:
    example(made, kind).publish()
    verdict = written(made.folder)
    assert verdict["verdict"] == {"pass": "PASS", "fail": "FAIL", "unproven": "NOT PROVEN"}[kind]
    jsonschema.validate(verdict, STRICT)


def test_verdicts_over_real_runs_fit_it(project: Project) -> None:  # noqa: F811
    run = project.good_run()
    publish.write(run.folder, run.verdict())
    jsonschema.validate(written(run.folder), STRICT)
    bad = project.run()
    bad.cell("server:reference", {node("test_one"): Outcome.FAILED}, finished=False, signal="SIGTERM")
    publish.write(bad.folder, bad.verdict())
    assert written(bad.folder)["verdict"] == "FAIL"
    jsonschema.validate(written(bad.folder), STRICT)


@pytest.mark.parametrize(
    ("key", "value"),
    [("verdict", "pass"), ("exit_code", 1), ("commit", "4c1d9e2"), ("rules", []), ("as_of", None), ("schema", 2)],
)
def test_what_does_not_fit_is_refused(made: Made, key: str, value: object) -> None:
    example(made, "pass").publish()
    spoilt = {**written(made.folder), key: value}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(spoilt, SCHEMA)


def test_the_same_facts_give_the_same_bytes_in_every_output(made: Made) -> None:
    example(made, "fail").publish()
    names = ("verdict.json", "verdict.md", "verdict.html", "junit.xml", "ctrf/report.json", "intoto/svr.json")
    first = {name: (made.folder / name).read_bytes() for name in (*names, "intoto/test-result.json")}
    made.publish()
    assert {name: (made.folder / name).read_bytes() for name in first} == first


def test_no_order_of_a_set_is_in_it(project: Project) -> None:  # noqa: F811
    run = project.run()
    tests = {node(f"test_{number}"): Outcome.FAILED for number in range(12)}
    run.cell("server:reference", tests)
    run.finish()
    (run.folder / "cells/stray").mkdir()
    command = [sys.executable, "-m", "stackproof", "verdict", run.run_id, "--json"]
    said = [
        subprocess.run(
            command,
            cwd=project.folder,
            env={**os.environ, "PYTHONHASHSEED": seed, "CI": ""},
            capture_output=True,
            timeout=300,
            check=False,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1]
    assert json.loads(said[0])["verdict"] == "FAIL"
