"""What the tests of claims observed: `checks/claims.json` about the session, and what it wrote beside it as it ran."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackproof.evidence import jsonfile, junit, testlog
from stackproof.evidence.junit import Report
from stackproof.evidence.testlog import TestLog
from stackproof.faults import claim_events
from stackproof.faults.claim import Observation
from stackproof.faults.claim_values import NoJsonError, as_json

SCHEMA = 1
RESULT = Path("checks/claims.json")
FOLDER = Path("checks/claims")
OBSERVATIONS, TESTS, REPORT, LOG = "observations.jsonl", "tests.jsonl", "junit.xml", "pytest.log"


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    """One observation of one test. attempt: 1 for the first. held: what the test made of it."""

    claim: str
    test: str
    attempt: int
    observation: Observation
    held: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimFacts:
    """A session of tests that serve claims. `result` is False when nothing that can be read says what it belongs to.

    claims, tests: digests of the claims file and of the tests. exit_code: pytest's, None when it never ended by itself.
    signal: of whoever ended the run. problem: why it was ended otherwise. lacks: what claims need and this machine
    lacks. only: the claims that were asked for, None for all. serves: test -> claim. damaged: lines that are no
    observations.
    """

    result: bool = True
    commit: str | None = None
    dirty: bool = False
    policy: str | None = None
    claims: str | None = None
    tests: str | None = None
    exit_code: int | None = None
    signal: str | None = None
    problem: str | None = None
    lacks: frozenset[str] = frozenset()
    only: tuple[str, ...] | None = None
    serves: Mapping[str, str] = field(default_factory=dict)
    observed: tuple[Observed, ...] = ()
    damaged: int = 0
    report: Report = field(default_factory=lambda: Report(path=Path(REPORT)))
    log: TestLog = field(default_factory=TestLog)


def read(run_dir: Path) -> ClaimFacts | None:
    """Everything that a run folder holds about claims; None when it holds nothing."""
    folder = run_dir / FOLDER
    if not (run_dir / RESULT).is_file() and not folder.is_dir():
        return None
    data = jsonfile.read(run_dir / RESULT)
    usable = data is not None and data.get("schema") == SCHEMA and data.get("kind") == "claims"
    result: dict[str, Any] = data if data is not None and usable else {}
    digests = jsonfile.table(result, "digests")
    serves, observed, damaged = _observations(folder / OBSERVATIONS)
    code = result.get("exit_code")
    return ClaimFacts(
        result=usable,
        commit=jsonfile.text(result, "commit"),
        dirty=result.get("dirty") is not False,
        policy=jsonfile.text(digests, "policy"),
        claims=jsonfile.text(digests, "claims"),
        tests=jsonfile.text(digests, "tests"),
        exit_code=code if isinstance(code, int) and not isinstance(code, bool) else None,
        signal=jsonfile.text(result, "signal"),
        problem=jsonfile.text(result, "problem"),
        lacks=frozenset(jsonfile.strings(result, "lacks")),
        only=jsonfile.strings(result, "only") if isinstance(result.get("only"), list) else None,
        serves=serves,
        observed=observed,
        damaged=damaged,
        report=junit.read(folder / REPORT),
        log=testlog.read(folder / TESTS),
    )


def _observations(path: Path) -> tuple[dict[str, str], tuple[Observed, ...], int]:
    serves: dict[str, str] = {}
    observed: list[Observed] = []
    damaged = 0
    for event in jsonfile.lines(path):
        match event.get("event") if event else None:
            case "serves" if event:
                # With xdist every worker says it, and each the same.
                told = {test: str(claim) for test, claim in jsonfile.table(event, "tests").items()}
                damaged += any(serves.get(test, claim) != claim for test, claim in told.items())
                serves = told | serves
            case "observed" if event and (one := _observed(event)):
                observed.append(one)
            case _:
                damaged += 1
    return serves, tuple(observed), damaged


def _observed(event: Mapping[str, Any]) -> Observed | None:
    claim, test = jsonfile.text(event, "claim"), jsonfile.text(event, "test")
    seen = jsonfile.table(event, "observed")
    events, residue, seed = seen.get("events"), seen.get("residue"), event.get("seed")
    if claim is None or test is None or not isinstance(events, list) or not isinstance(residue, dict):
        return None
    try:
        left = as_json(residue, "residue")
        observation = Observation(
            events=claim_events.observed(events),
            residue=left if isinstance(left, dict) else {},
            seed=seed if isinstance(seed, int | str) else None,
        )
    except NoJsonError:
        return None
    return Observed(
        claim=claim,
        test=test,
        attempt=jsonfile.number(event, "attempt") or 1,
        observation=observation,
        held=event.get("held") is True,
    )
