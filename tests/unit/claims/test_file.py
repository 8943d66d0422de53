"""`claims.yaml`: what is wrong in it is named with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof.errors import UsageError
from stackproof.faults import claim_environment, claim_file

GOOD = """\
version: 1
claims:
  cut:
    invariant: A stream that is cut off never completes a turn
    fault: the connection is lost after the third event
    events: [turn_started, "text_delta*", {type: turn_failed, reason: cut}]
    residue: {pending: [], terminal: failed}
    excludes: [what a real provider sends]
    environment: [linux, /proc, program git]
"""


def load(folder: Path, text: str) -> dict[str, claim_file.Claim]:
    (folder / "claims.yaml").write_text(text, encoding="utf-8")
    return claim_file.load(folder, Path("claims.yaml"))


def test_a_claim_has_everything_that_it_says(tmp_path: Path) -> None:
    (claim,) = load(tmp_path, GOOD).values()
    assert claim.name == "cut"
    assert [each.written for each in claim.events] == [
        "turn_started",
        "text_delta*",
        {"type": "turn_failed", "reason": "cut"},
    ]
    assert claim.residue == {"pending": [], "terminal": "failed"}
    assert claim.excludes == ("what a real provider sends",)
    assert claim.environment == ("linux", "/proc", "program git")
    assert claim.line == 3


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("version: 1", "version: 2", "claims.yaml:1: the claims file must say 'version: 1'"),
        ("  cut:", "  'cut it':", "claims.yaml:4: a claim must be named with letters"),
        (
            "    invariant: A stream that is cut off never completes a turn\n",
            "",
            "claims.yaml:4: claim 'cut' lacks 'inv",
        ),
        ("    fault:", "    falt:", "claims.yaml:5: unknown key 'falt' in claim 'cut', did you mean 'fault'"),
        ("events: [turn_started, ", "events: [3, ", "claims.yaml:6: 'events' of claim 'cut': an event must be a text"),
        ('"text_delta*"', '"text*delta"', r"claims.yaml:6: 'events' of claim 'cut': 'text\*delta' is no event"),
        ("events: [", "happens: [", "claims.yaml:6: unknown key 'happens'"),
        (
            "residue: {pending: [], terminal: failed}",
            "residue: {}",
            "claims.yaml:7: claim 'cut' does not say what is le",
        ),
        ("terminal: failed", "terminal: 2026-01-01", "claims.yaml:7: 'residue' of claim 'cut': 'terminal' is no JSON"),
        ("[what a real provider sends]", "[]", "claims.yaml:8: claim 'cut' does not say what it 'excludes'"),
        ("linux, ", "linus, ", "claims.yaml:9: 'environment' of claim 'cut' says 'linus'"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert old in GOOD
    with pytest.raises(UsageError, match=told):
        load(tmp_path, GOOD.replace(old, new))


@pytest.mark.parametrize("text", ["version: 1\n", "version: 1\nclaims: {}\n"])
def test_a_file_without_claims_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="lists no claim"):
        load(tmp_path, text)


def test_a_name_that_is_not_there_has_its_nearest_named(tmp_path: Path) -> None:
    claims = load(tmp_path, GOOD)
    with pytest.raises(UsageError, match=r"unknown claim 'cot' \(test_x\), did you mean 'cut'"):
        claim_file.named(claims, "cot", file=Path("claims.yaml"), where="test_x")


def test_the_file_is_the_one_of_the_policy_else_the_nearest_above_the_test(tmp_path: Path) -> None:
    test = tmp_path / "tests/faults/deep/test_x.py"
    test.parent.mkdir(parents=True)
    with pytest.raises(UsageError, match=r"no claims.yaml lies beside test_x.py or above it"):
        claim_file.find(tmp_path, test)
    (tmp_path / "claims.yaml").touch()
    assert claim_file.find(tmp_path, test) == tmp_path / "claims.yaml"
    (tmp_path / "tests/faults/claims.yaml").touch()
    assert claim_file.find(tmp_path, test) == tmp_path / "tests/faults/claims.yaml"
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci/release.yaml").write_text("version: 1\nclaims: {file: elsewhere.yaml}\n")
    assert claim_file.find(tmp_path, test) == tmp_path / "elsewhere.yaml"


def test_a_file_outside_the_project_is_not_found(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "claims.yaml").touch()
    with pytest.raises(UsageError, match=r"no claims\.yaml"):
        claim_file.find(project, project / "test_x.py")


def test_what_a_machine_lacks_is_said_word_by_word() -> None:
    words = ("/", "/no/such/path", "program sh", "program no-such-program-anywhere")
    assert claim_environment.lacking(words) == ("/no/such/path", "program no-such-program-anywhere")
    assert len(claim_environment.lacking(("linux", "macos"))) >= 1
