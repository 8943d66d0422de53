"""Run folders of any content and size, and verdicts over them, without a run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from stackproof.evidence import benchmark, jsonfile, manifest, merge, recordings
from stackproof.evidence.benchmark import BenchmarkFacts, BenchmarkLine
from stackproof.evidence.junit import Case, Report
from stackproof.evidence.machine import Machine
from stackproof.evidence.nodeids import junit_key
from stackproof.evidence.outcomes import Outcome
from stackproof.evidence.recordings import FolderFacts, RecordingFacts
from stackproof.verdict import publish
from stackproof.verdict.publish import Publication
from stackproof.verdict.records import Finding, Rule, Verdict, failed, not_proven

STARTED, STOPPED = "2026-12-01T10:20:00.000+00:00", "2026-12-01T10:22:41.000+00:00"
COMMIT = "4c1d9e2" + "0" * 33


@dataclass(frozen=True, kw_only=True, slots=True)
class Test:
    """One test of a cell that is made up."""

    __test__ = False

    name: str
    outcome: Outcome = Outcome.PASSED
    text: str | None = None
    reason: str | None = None
    seconds: float | None = 0.1
    attempts: int = 1


def rule(name: str, *findings: Finding, title: str | None = None, good: str = "fine", blocking: bool = True) -> Rule:
    """A rule with these findings."""
    return Rule(
        id=name,
        title=name if title is None else title,
        good=good,
        findings=findings,
        proves="what it says",
        excludes="what it does not say",
        evidence=("manifest.json",),
        again=f"nox -s {name.partition(':')[0]}",
        blocking=blocking,
    )


@dataclass(kw_only=True)
class Made:
    """A run folder that is being filled, and the rules over it."""

    folder: Path
    rules: list[Rule] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)

    def cell(self, stack: str, tests: Iterable[Test], *findings: Finding, suite: str = "base") -> Path:
        """What a cell leaves, and its rule."""
        listed, name = list(tests), f"{suite}-ollama-{stack.replace(':', '-')}"
        folder = self.folder / "cells" / name
        events: list[dict[str, Any]] = [{"event": "collected", "nodeids": [test.name for test in listed]}]
        events += [event for test in listed for event in _events(test)]
        events += [{"event": "calls", "replayed": 3}, {"event": "finished", "exitstatus": 0}]
        jsonfile.write_text(folder / "tests.jsonl", "".join(json.dumps(event) + "\n" for event in events))
        text = merge.to_xml({name: Report(path=folder / "junit.xml", cases=tuple(map(_case, listed)))})
        jsonfile.write_text(folder / "junit.xml", text.replace(f'classname="{name}.', 'classname="'))
        times = {"started": STARTED, "stopped": STOPPED, "exit_code": 0, "error": None}
        facts = {"schema": 1, "kind": "cell", "cell": {"id": name, "runner": "pytest"}, "versions": {"pytest": "9.2.0"}}
        machine = {"processor": "p", "cpus": 2, "system": "Linux"}
        jsonfile.write(folder / "result.json", {**facts, **times, "environment": machine})
        self.rules.append(rule(f"cell:{name}", *findings, title=f"{suite} × ollama × {stack}", good="as expected"))
        return folder

    def checks(self) -> None:
        """Benchmarks and recordings."""
        floor = tuple(0.010 + 0.0002 * (number * 7 % 20) for number in range(20))
        turns = tuple(value * (1.1 + 0.01 * (number * 3 % 11)) for number, value in enumerate(floor))
        line = BenchmarkLine(name="turns", turns=turns, floor=floor)
        machine = Machine(processor="p", cpus=2, system="Linux", python="CPython 3.11.7")
        facts = BenchmarkFacts(lines={"turns": line}, machine=machine, date="2026-12-01T10:22:00+00:00")
        jsonfile.write(self.folder / "checks/benchmark.json", benchmark.to_json(facts))
        folder = FolderFacts(setup="ollama", files=41, size=96_000, oldest="2026-10-01T00:00:00+00:00", newest=STARTED)
        looked = RecordingFacts(files=41, folders=(folder,))
        jsonfile.write(self.folder / "checks/recordings.json", recordings.to_json(looked))

    def verdict(self) -> Verdict:
        """The verdict of the rules so far."""
        facts: dict[str, Any] = {"run_id": "7f3c2a", "commit": COMMIT, "started": STARTED, "stopped": STOPPED}
        facts |= {"policy": "ab" * 32, "as_of": "2026-12-01"}
        return Verdict(rules=tuple(self.rules), **{**facts, **self.more})

    def publish(self, **more: Any) -> Publication:
        """Write every output, beside a manifest: what was weighed before it is what this run is compared with."""
        if not (self.folder / manifest.NAME).is_file():
            jsonfile.write(self.folder / manifest.NAME, {"schema": 1, "run_id": "7f3c2a", "files": {}})
        return publish.write(self.folder, self.verdict(), **more)

    def page(self, **more: Any) -> str:
        """The HTML page."""
        self.publish(**more)
        return (self.folder / publish.PAGE).read_text(encoding="utf-8")


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """An empty run folder."""
    return Made(folder=tmp_path / "runs/7f3c2a")


def example(made: Made, kind: str) -> Made:
    """A run that a person would see: of a kind `pass`, `fail` or `unproven`."""
    file = "tests/integration/base/test_chat.py"
    tests = [Test(name=f"{file}::test_turn_{number}", seconds=0.02 * number) for number in range(1, 34)]
    tests.append(
        Test(name=f"{file}::test_vision", outcome=Outcome.SKIPPED, reason="setup ollama names no vision model")
    )
    tests.append(Test(name=f"{file}::test_order", outcome=Outcome.FLAKY, attempts=2))
    made.rules.append(rule("source", good="commit 4c1d9e2"))
    made.rules.append(rule("evidence", good="59 files, as the manifest lists them"))
    made.cell("library:reference", tests)
    if kind == "fail":
        text = f"    def test_two():\n>       assert 1 == 2\nE       assert 1 == 2\n\n{file}:12: AssertionError"
        bad = Test(name=f"{file}::test_two", outcome=Outcome.FAILED, text=text)
        folder = made.cell("server:reference", [*tests, bad], failed(f"{bad.name} failed: assert 1 == 2"))
        miss = {"kind": "no-match", "test_id": bad.name, "message": _MISS}
        jsonfile.write_text(folder / "misses.jsonl", json.dumps(miss) + "\n")
        jsonfile.write_text(folder / "stack.log", "INFO started\nERROR no recording for POST /v1/chat/completions\n")
    else:
        made.cell("server:reference", tests)
    absent = not_proven("no Docker engine answered at unix:///var/run/docker.sock (default)")
    made.rules.append(
        rule("cell:base-ollama-docker-reference", absent, title="base × ollama × docker:reference", blocking=False)
    )
    made.rules.append(rule("types", *([not_proven("mypy has not run")] if kind == "unproven" else [])))
    made.rules.append(rule("benchmark:turns", title="benchmark turns", good="1.15 × floor (gate 1.20)"))
    made.rules.append(rule("claim:no-lost-turn", title="claim no-lost-turn", good="held in 3 tests"))
    made.checks()
    return made


_MISS = """\
no recording for POST /v1/chat/completions (model smollm2:135m, call 2 of this test)
nearest: recordings/ollama/base/9c1f-3f9a.json, same test, differs in
  messages[1].content   recorded "Hello there."   sent "Hello there!"
  temperature           recorded 0                sent 0.2"""


def _events(test: Test) -> Iterable[dict[str, Any]]:
    word = "passed" if test.outcome is Outcome.FLAKY else test.outcome.value
    yield {
        "event": "test",
        "nodeid": test.name,
        "outcome": word,
        "duration": test.seconds,
        "reason": test.reason,
        "text": test.text,
        "attempt": test.attempts,
    }


def _case(test: Test) -> Case:
    classname, name = junit_key(test.name)
    alike = {Outcome.FLAKY: Outcome.PASSED, Outcome.XPASSED: Outcome.PASSED}.get(test.outcome, test.outcome)
    said = test.reason or (test.text or "").partition("\n")[0]
    return Case(suite="pytest", classname=classname, name=name, outcome=alike, seconds=test.seconds, message=said)
