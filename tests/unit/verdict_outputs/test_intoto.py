"""In-toto statements about the commit, in the words of the published predicates (in-toto/attestation, spec/)."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped, unused-ignore]
import pytest
from tests.unit.verdict_outputs.conftest import COMMIT, Made, Test, example, rule

from stackproof.evidence.outcomes import Outcome

DIGESTS = {"type": "object", "minProperties": 1, "additionalProperties": {"type": "string", "pattern": "^[0-9a-f]+$"}}
DESCRIPTOR = {
    "type": "object",
    "anyOf": [{"required": ["uri"]}, {"required": ["digest"]}, {"required": ["content"]}],
    "properties": {"name": {"type": "string"}, "uri": {"type": "string"}, "digest": DIGESTS},
}
STATEMENT: dict[str, Any] = {
    "type": "object",
    "required": ["_type", "subject", "predicateType", "predicate"],
    "additionalProperties": False,
    "properties": {
        "_type": {"const": "https://in-toto.io/Statement/v1"},
        "subject": {"type": "array", "minItems": 1, "items": {**DESCRIPTOR, "required": ["digest"]}},
        "predicateType": {"type": "string"},
        "predicate": {"type": "object"},
    },
}
NAMES = {"type": "array", "items": {"type": "string"}}
TEST_RESULT = {
    "type": "object",
    "required": ["result", "configuration"],
    "properties": {
        "result": {"enum": ["PASSED", "WARNED", "FAILED"]},
        "configuration": {"type": "array", "items": DESCRIPTOR},
        "url": {"type": "string"},
        **dict.fromkeys(("passedTests", "warnedTests", "failedTests"), NAMES),
    },
}
SVR = {
    "type": "object",
    "required": ["verifier", "timeCreated", "properties"],
    "properties": {
        "verifier": {
            "type": "object",
            "required": ["id", "policies"],  # policies: what version 0.2 added
            "properties": {
                "id": {"type": "string", "pattern": "^[a-z][a-z0-9+.-]*:.+$"},
                "policies": {"type": "array", "items": DESCRIPTOR},
            },
        },
        "timeCreated": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"},
        "properties": NAMES,
    },
}


def predicate(made: Made, name: str, schema: dict[str, Any]) -> dict[str, Any]:
    statement = json.loads((made.folder / f"intoto/{name}.json").read_text())
    jsonschema.validate(statement, STATEMENT)
    assert statement["subject"] == [{"digest": {"gitCommit": COMMIT}}]
    kind = "https://in-toto.io/attestation/"
    assert statement["predicateType"] == f"{kind}{name}/v0.1"
    found: dict[str, Any] = statement["predicate"]
    jsonschema.validate(found, schema)
    assert found["stackproof_signed"] is False
    return found


@pytest.mark.parametrize(("kind", "result"), [("pass", "WARNED"), ("fail", "FAILED"), ("unproven", "FAILED")])
def test_only_a_pass_says_that_it_passed(made: Made, kind: str, result: str) -> None:
    example(made, kind).publish()
    tests, verified = predicate(made, "test-result", TEST_RESULT), predicate(made, "svr", SVR)
    assert tests["result"] == result  # a flaky test is a warning
    assert bool(tests["failedTests"]) is (result == "FAILED")
    assert ("STACKPROOF_RELEASE_PASS" in verified["properties"]) is (kind == "pass")
    assert verified["timeCreated"] == "2026-12-01T10:22:41Z"


def test_tests_are_in_the_list_of_their_outcome(made: Made) -> None:
    made.cell("server:reference", [Test(name=f"a.py::{outcome.value}", outcome=outcome) for outcome in Outcome])
    made.publish()
    found = predicate(made, "test-result", TEST_RESULT)
    short = {
        kind: [name.rpartition("::")[2] for name in found[f"{kind}Tests"]] for kind in ("passed", "warned", "failed")
    }
    # A test that is flaky by its log alone is written with one attempt here, and has passed.
    assert short["passed"][:1] == ["passed"]
    assert short["failed"] == ["failed", "error"]
    assert "xpassed" in short["warned"]
    assert not any("skipped" in names for names in short.values())


def test_a_clean_pass_is_passed(made: Made) -> None:
    made.cell("server:reference", [Test(name="a.py::test_a")])
    made.publish()
    assert predicate(made, "test-result", TEST_RESULT)["result"] == "PASSED"
    assert predicate(made, "svr", SVR)["properties"] == [
        "STACKPROOF_RELEASE_PASS",
        "STACKPROOF_cell:base-ollama-server-reference",
    ]


def test_the_policy_is_named_by_its_digest_and_the_run_by_its_page(made: Made, tmp_path: Path) -> None:
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci/release.yaml").write_text("version: 1\n")
    run = {"GITHUB_SERVER_URL": "https://git.example.org", "GITHUB_REPOSITORY": "a/b", "GITHUB_RUN_ID": "7"}
    made.rules.append(rule("source"))
    made.publish(project=tmp_path, environ=run)
    found = predicate(made, "test-result", TEST_RESULT)
    assert found["url"] == "https://git.example.org/a/b/actions/runs/7"
    (policy,) = found["configuration"]
    assert policy["digest"] == {"sha256": hashlib.sha256(b"version: 1\n").hexdigest()}
    assert predicate(made, "svr", SVR)["verifier"]["policies"] == [policy]


@pytest.mark.parametrize("more", [{"dirty": True}, {"commit": None}])
def test_without_a_commit_that_was_weighed_there_is_no_statement(made: Made, more: dict[str, Any]) -> None:
    made.rules.append(rule("source"))
    made.publish()
    assert (made.folder / "intoto/svr.json").is_file()
    made.more = more
    made.publish()
    assert not (made.folder / "intoto/svr.json").exists()
    assert not (made.folder / "intoto/test-result.json").exists()
