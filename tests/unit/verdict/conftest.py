"""A small project under Git and run folders as a release leaves them, honest unless a test spoils them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from stackproof import catalog, options, plan
from stackproof.evidence import benchmark, digests, git, jsonfile, machine, manifest, merge, recordings, typecheck
from stackproof.evidence.benchmark import BenchmarkFacts, BenchmarkLine
from stackproof.evidence.cell import write_result
from stackproof.evidence.junit import Case, Report
from stackproof.evidence.nodeids import junit_key
from stackproof.evidence.outcomes import Outcome
from stackproof.evidence.recordings import RecordingFacts
from stackproof.evidence.typecheck import TypecheckFacts, TypecheckState
from stackproof.recorder.identity import Identity, digest
from stackproof.recorder.miss import form_of
from stackproof.recorder.scope import Scope
from stackproof.shards import left
from stackproof.shards.partition import divide
from stackproof.verdict import expected, update
from stackproof.verdict.expected import Expectation
from stackproof.verdict.records import Rule, Verdict
from stackproof.verdict.weigh import weigh

TODAY = date(2026, 12, 1)
TEST_FILE = "tests/integration/base/test_chat.py"
LIBRARY, SERVER = "base-ollama-library-reference", "base-ollama-server-reference"
POLICY = """\
version: 1
cells:
  - {suite: base, setup: ollama, stack: "library:reference"}
  - {suite: base, setup: ollama, stack: "server:reference"}
typecheck: {paths: [pkg]}
benchmarks:
  turns: {gate: 1.2}
"""


SCOPE = Scope(name="tests/integration/base/test_a.py::test_one")


def asked_for(path: str) -> dict[str, Any]:
    """A request to a provider, as a recording has it."""
    url = f"{{OLLAMA_URL}}{path}"
    return {"provider": "ollama", "method": "POST", "url": url, "path": path, "query": [], "body": {"json": {}}}


def name_of(path: str) -> str:
    """The file in which the answer to a request to `path` is looked up, below the recording directory."""
    request = digest(form_of(asked_for(path)))
    return f"ollama/base/{Identity(scope=SCOPE.digest, request=request).file_name(1)}"


RECORDING: Mapping[str, Any] = {
    "format": 1,
    "test_id": SCOPE.name,
    "scope": SCOPE.name,
    "request": asked_for("/a"),
    "response": {"status": 200, "headers": {}, "body": {"json": {}}, "complete": True, "is_exception": False},
}


def update_expected(project: Path, run_dir: Path) -> list[str]:
    """Expect what a run has shown, as `stackproof policy update` does; its lines."""
    planned = update.planned(project, [run_dir])
    update.write(project, planned)
    return list(planned.lines)


def node(name: str) -> str:
    """The node id of a test of the suite."""
    return f"{TEST_FILE}::{name}"


GOOD: Mapping[str, Outcome] = {
    node("test_one"): Outcome.PASSED,
    node("test_two[x]"): Outcome.PASSED,
    node("test_vision"): Outcome.SKIPPED,
}
REASON = "needs a vision model"


@dataclass(kw_only=True)
class Project:
    """A project in `folder`. Change its files, then `commit()`."""

    folder: Path
    runs: int = 0

    def write(self, name: str, text: str) -> None:
        """Write a file of the project."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def expect(self, tests: Mapping[str, Outcome] = GOOD) -> None:
        """Expect these tests of both cells."""
        for cell in (LIBRARY, SERVER):
            expected.save(
                self.folder,
                cell,
                Expectation(
                    nodeids=frozenset(tests),
                    skips={test: REASON for test, outcome in tests.items() if outcome is Outcome.SKIPPED},
                    xfails=frozenset(test for test, outcome in tests.items() if outcome is Outcome.XFAILED),
                ),
            )

    def commit(self) -> None:
        """Commit everything there is."""
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
        self.git("add", "-A")
        self.git(*identity, "commit", "-q", "--allow-empty", "-m", "state")

    def git(self, *arguments: str) -> None:
        """Run Git in the project."""
        subprocess.run(["git", *arguments], cwd=self.folder, check=True, capture_output=True, timeout=120)

    def run(self) -> Run:
        """An empty run folder."""
        self.runs += 1
        return Run(project=self, run_id=f"{self.runs:06x}")

    def good_run(self) -> Run:
        """A run that proves everything, with its manifest."""
        run = self.run()
        run.cell("library:reference")
        run.cell("server:reference")
        run.checks()
        run.finish()
        return run


@dataclass(kw_only=True)
class Run:
    """A run folder that is being filled."""

    project: Project
    run_id: str
    folder: Path = field(init=False)

    def __post_init__(self) -> None:
        self.folder = self.project.folder / ".stackproof/runs" / self.run_id
        self.folder.mkdir(parents=True)

    def cell(
        self,
        stack: str,
        tests: Mapping[str, Outcome] = GOOD,
        *,
        exit_code: int | None = None,
        calls: Mapping[str, Any] | None = None,
        events: Iterable[Mapping[str, Any]] = (),
        finished: bool = True,
        mode: str = "replay",
        shard: str | None = None,
        seconds: Mapping[str, float] | None = None,
        **outcome: Any,
    ) -> Path:
        """Write what a cell leaves, `result.json` too; `outcome` overrides fields of `outcome.json`.

        shard: `2/3`, and only its part of `tests` is run, as they are divided by `seconds`.
        """
        project = self.project.folder
        given = {"suite": "base", "setup": "ollama", "stack_config": stack, "inference_mode": mode, "shard": shard}
        chosen = options.resolve(given, {}, project)
        planned = plan.make(chosen, catalog.load(project), project, self.run_id)
        cell = planned.cells[0]
        folder = self.folder / "cells" / cell.id
        if shard is not None:
            tests = _divided(folder, cell, tests, seconds or {})
        bad = any(each.bad for each in tests.values())
        code = exit_code if exit_code is not None else int(bad) if tests else 5
        log: list[Mapping[str, Any]] = [{"event": "collected", "nodeids": list(tests)}, *events]
        log += [_event(test, each) for test, each in tests.items()]
        log.append({"event": "calls", "replayed": 3, "missed": 0, "unused": 0, **(calls or {})})
        if finished:
            log.append({"event": "finished", "exitstatus": code})
        jsonfile.write_text(folder / "tests.jsonl", "".join(json.dumps(line) + "\n" for line in log))
        merged = Report(path=folder / "junit.xml", cases=tuple(_case(test, each) for test, each in tests.items()))
        text = merge.to_xml({cell.id: merged}).replace(f'classname="{cell.id}.', 'classname="')
        jsonfile.write_text(folder / "junit.xml", text)
        facts: dict[str, Any] = {"exit_code": code, "error": None, "signal": None, "sealed": "namespace", "stack": {}}
        times = {"started": "2026-12-01T10:00:00.000+00:00", "stopped": "2026-12-01T10:02:41.000+00:00"}
        jsonfile.write(folder / "outcome.json", {**facts, **times, **outcome})
        self.result(folder, cell)
        return folder

    def result(self, folder: Path, cell: plan.Cell) -> None:
        """Write `result.json` of a cell."""
        write_result(
            folder,
            cell=cell,
            project=self.project.folder,
            recordings=self.project.folder / "recordings",
            run_id=self.run_id,
            command=f"nox -s integration -- --stack-config {cell.stack_config}"
            + ("" if cell.shard is None else f" --shard {cell.shard}"),
        )

    def checks(self, *, types: TypecheckFacts | None = None, ratio: float = 1.1, samples: int = 20) -> None:
        """Write the checks beside the cells."""
        project = self.project.folder
        source, policy = git.state(project), digests.policy(project)
        facts = types or TypecheckFacts(
            state=TypecheckState.SUCCESS, exit_code=0, files=("pkg/a.py", "pkg/b.py"), roots=("pkg",)
        )
        facts = replace(facts, commit=source.commit, dirty=source.dirty, policy=policy)
        jsonfile.write(self.folder / "checks/typecheck.json", typecheck.to_json(facts))
        floor = tuple(0.01 + 0.0001 * number for number in range(samples))
        line = BenchmarkLine(name="turns", turns=tuple(value * ratio for value in floor), floor=floor)
        measured = BenchmarkFacts(
            lines={"turns": line},
            machine=machine.Machine(processor="p", cpus=2, system="s", python="y"),
            date="2026-12-01T10:02:00+00:00",
            commit=source.commit,
            dirty=source.dirty,
            policy=policy,
        )
        jsonfile.write(self.folder / "checks/benchmark.json", benchmark.to_json(measured))
        looked = RecordingFacts(files=1, commit=source.commit, policy=policy)
        jsonfile.write(self.folder / "checks/recordings.json", recordings.to_json(looked))

    def finish(self) -> None:
        """Write the manifest."""
        manifest.write(self.folder, run_id=self.run_id, project=self.project.folder)

    def verdict(self, *, today: date = TODAY, environ: Mapping[str, str] | None = None) -> Verdict:
        """Weigh the run against what the project is now."""
        return weigh(self.project.folder, self.folder, environ=environ or {}, today=today)


def _divided(
    folder: Path, cell: plan.Cell, tests: Mapping[str, Outcome], seconds: Mapping[str, float]
) -> dict[str, Outcome]:
    """Its own tests, after writing down which part it is."""
    assert cell.shard is not None
    parts = divide(list(tests), cell.shard.total, seconds=seconds)
    own = parts.of(cell.shard.index)
    facts = left.ShardFacts(
        shard=cell.shard,
        whole=cell.whole_id,
        partition=parts.digest,
        tests=len(tests),
        own=len(own),
        known=parts.known,
        estimated=1.0,
        estimated_whole=3.0,
    )
    left.write(folder, facts)
    return {test: tests[test] for test in own}


def rule(verdict: Verdict, name: str) -> Rule:
    """The rule of that id; a cell may be named without `cell:`."""
    return next(each for each in verdict.rules if each.id in (name, f"cell:{name}"))


def _event(test: str, outcome: Outcome) -> dict[str, Any]:
    reason = REASON if outcome in (Outcome.SKIPPED, Outcome.XFAILED) else None
    text = "E   assert 1 == 2" if outcome.bad else None
    flaky = outcome is Outcome.FLAKY
    word = "passed" if flaky else outcome.value
    attempt = 2 if flaky else 1
    return {
        "event": "test", "nodeid": test, "outcome": word, "duration": 0.1, "reason": reason, "text": text,
        "attempt": attempt,
    }  # fmt: skip


def _case(test: str, outcome: Outcome) -> Case:
    classname, name = junit_key(test)
    alike = {Outcome.FLAKY: Outcome.PASSED, Outcome.XPASSED: Outcome.PASSED}.get(outcome, outcome)
    message = "assert 1 == 2" if outcome.bad else REASON if outcome in (Outcome.SKIPPED, Outcome.XFAILED) else ""
    return Case(suite="pytest", classname=classname, name=name, outcome=alike, seconds=0.1, message=message)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A committed project whose policy asks for two cells, types and a benchmark."""
    made = Project(folder=tmp_path / "project")
    made.write(".gitignore", ".stackproof/\n")
    made.write("ci/release.yaml", POLICY)
    sessions = ("integration", "verify_release", "typecheck", "benchmark", "live_smoke")
    made.write("noxfile.py", "".join(f"def {name}(session): ...  # stackproof\n" for name in sessions))
    made.write(
        "tests/suites.yaml",
        "suites:\n  base: {description: d, roots: [tests/integration/base], default_setup: ollama}\n",
    )
    made.write(TEST_FILE, "def test_one(): pass\n")
    made.write(f"recordings/{name_of('/a')}", json.dumps(RECORDING))
    made.expect()
    made.git("init", "-q")
    made.commit()
    return made
