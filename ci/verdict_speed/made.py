"""A run folder with very many tests, made up: the report as pytest writes it, the plugin's log, result and manifest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from xml.sax.saxutils import quoteattr

from stackproof.evidence import jsonfile, running
from stackproof.evidence.digests import file as digest
from stackproof.shards import left
from stackproof.shards.records import Shard
from stackproof.verdict.current import Current
from stackproof.verdict.expected import Expectation
from stackproof.verdict.policy import CellPolicy, Policy, SourceRule

WANTED = CellPolicy(suite="base", setup="ollama", stack="server:reference")
_COMMIT, _POLICY = "c" * 40, "p" * 64
_REASON = "needs a vision model"
_FILES = 500  # test files over which the tests are spread


def nodeids(cases: int) -> Iterator[str]:
    """Names of the length that real suites have, every tenth with a parameter."""
    for number in range(cases):
        parameter = f"[model-{number % 7}-stream]" if number % 10 == 0 else ""
        yield f"tests/integration/area_{number % _FILES}/test_part.py::test_answer_number_{number}_is_whole{parameter}"


def skipped(number: int) -> bool:
    """One test in fifty is skipped, as is expected of it."""
    return number % 50 == 7


def write_report(path: Path, cases: int, *, cell: str = "pytest") -> None:
    """A `junit.xml` as pytest writes it, with one line for each test."""
    _write_report(path, list(enumerate(nodeids(cases))), cell)


def _write_report(path: Path, tests: Sequence[tuple[int, str]], cell: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        skips = sum(1 for number, _ in tests if skipped(number))
        file.write('<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests">')
        file.write(f'<testsuite name="{cell}" errors="0" failures="0" skipped="{skips}" ')
        file.write(f'tests="{len(tests)}" time="9.1">\n')
        for number, nodeid in tests:
            module, _, name = nodeid.partition("::")
            classname = module.removesuffix(".py").replace("/", ".")
            file.write(f'<testcase classname={quoteattr(classname)} name={quoteattr(name)} time="0.{number % 1000:03}"')
            mark = f'<skipped type="pytest.skip" message="{_REASON}">{module}:7: {_REASON}</skipped>'
            file.write(f">{mark}</testcase>\n" if skipped(number) else " />\n")
        file.write("</testsuite></testsuites>")


def write_run(run_dir: Path, cases: int) -> None:
    """One cell that ended well, and the manifest over its files."""
    _write_cell(run_dir, "abc123", list(enumerate(nodeids(cases))), None)


def write_shards(root: Path, cases: int, total: int) -> None:
    """The same cell in shards, each of a run of its own below `root`."""
    every = list(enumerate(nodeids(cases)))
    for index in range(1, total + 1):
        run_id = f"{index:06x}"
        shard = Shard(index=index, total=total)
        own = every[index - 1 :: total]
        facts = left.ShardFacts(
            shard=shard,
            whole=WANTED.id,
            partition="d" * 64,
            tests=cases,
            own=len(own),
            known=cases,
            estimated=len(own) / 2,
            estimated_whole=cases / 2,
        )
        _write_cell(root / run_id, run_id, own, facts)


def _write_cell(run_dir: Path, run_id: str, tests: Sequence[tuple[int, str]], part: left.ShardFacts | None) -> None:
    name = WANTED.id if part is None else f"{WANTED.id}.{part.shard.slug}"
    cell = run_dir / "cells" / name
    cell.mkdir(parents=True)
    if part is not None:
        left.write(cell, part)
    _write_report(cell / "junit.xml", tests, "pytest")
    names = [nodeid for _, nodeid in tests]
    with (cell / "tests.jsonl").open("w", encoding="utf-8") as file:
        file.write(json.dumps({"event": "collected", "nodeids": names}) + "\n")
        for number, nodeid in tests:
            fact = {
                "event": "test",
                "nodeid": nodeid,
                "outcome": "skipped" if skipped(number) else "passed",
                "duration": (number % 1000) / 1000,
                "reason": _REASON if skipped(number) else None,
                "text": None,
                "attempt": 1,
            }
            file.write(json.dumps(fact) + "\n")
        file.write(json.dumps({"event": "calls", "replayed": len(tests), "missed": 0, "unused": 0}) + "\n")
        file.write(json.dumps({"event": "finished", "exitstatus": 0}) + "\n")
    (cell / running.NAME).write_bytes(running.record(names[-1], 1))
    names_of_cell = {"id": name, "suite": WANTED.suite, "setup": WANTED.setup, "stack": "reference"}
    jsonfile.write(
        cell / "result.json",
        {
            "schema": 1,
            "kind": "cell",
            "cell": {
                **names_of_cell,
                "mode": "server",
                "inference_mode": "replay",
                "whole": WANTED.id,
                "shard": None if part is None else {"index": part.shard.index, "total": part.shard.total},
            },
            "run_id": run_id,
            "commit": _COMMIT,
            "dirty": False,
            "digests": {"policy": _POLICY, "suite": "s", "recordings": "r"},
            "exit_code": 0,
            "sealed": "namespace",
            "started": "2030-01-01T10:00:00.000+00:00",
            "stopped": "2030-01-01T10:02:41.000+00:00",
        },
    )
    files = {f"cells/{name}/{each.name}": {"sha256": digest(each)} for each in cell.iterdir()}
    jsonfile.write(
        run_dir / "manifest.json",
        {
            "schema": 1,
            "run_id": run_id,
            "commit": _COMMIT,
            "dirty": False,
            "policy": _POLICY,
            "nodeids": {name: sorted(names)},
            "files": files,
        },
    )


def asked(cases: int) -> tuple[Policy, Current]:
    """A policy that asks for that cell, and a project that expects each of its tests."""
    names = list(nodeids(cases))
    expectation = Expectation(
        nodeids=frozenset(names),
        skips={nodeid: _REASON for number, nodeid in enumerate(names) if skipped(number)},
    )
    current = Current(
        commit=_COMMIT,
        dirty=False,
        policy=_POLICY,
        today=date(2030, 1, 1),
        suites={WANTED.id: "s"},
        recordings={WANTED.id: "r"},
        expected={WANTED.id: expectation},
    )
    return Policy(cells=(WANTED,), source=SourceRule.COMMITTED), current
