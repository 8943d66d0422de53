"""What changed since an earlier run: verdict, rules, benchmarks; tests that fail now, are fixed, gone, new or skipped.

How long single tests took is not compared: one time has no noise that a change could be beyond of. Benchmarks have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackproof.errors import UsageError
from stackproof.evidence import age, benchmark, benchmark_changes, gather, jsonfile
from stackproof.evidence.benchmark import BenchmarkFacts
from stackproof.evidence.benchmark_changes import BenchmarkChanges, ChangeKind
from stackproof.evidence.live import DriftCounts
from stackproof.evidence.outcomes import Outcome
from stackproof.evidence.read import Evidence
from stackproof.verdict.records import Verdict
from stackproof.verdict.render import SCHEMA
from stackproof.verdict.tests_of import tests_of

FILE = "verdict.json"
SECTION = "results"
_SHOWN = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Results:
    """What a later run is compared with. tests: by cell and name. partly: cells of which shards are missing. state,
    rules: of the verdict and of each of its rules by title; none where nobody weighed the run. drift: of live smokes,
    by setup, as far as it is known.
    """

    run_id: str | None = None
    commit: str | None = None
    state: str | None = None
    rules: Mapping[str, str] = field(default_factory=dict)
    drift: Mapping[str, DriftCounts] = field(default_factory=dict)
    tests: Mapping[str, Mapping[str, Outcome]] = field(default_factory=dict)
    partly: frozenset[str] = frozenset()
    benchmark: BenchmarkFacts | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """The changes, each test as `name in cell`. cells: those that only one of the two runs has, or has whole.

    verdict, rules: what is in another state, and the rules that only one of the two verdicts has, as sentences. drift:
    of live smokes, where it is another one.
    """

    run_id: str | None
    commit: str | None
    verdict: str | None = None
    rules: tuple[str, ...] = ()
    newly_failing: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    newly_skipped: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    drift: tuple[str, ...] = ()
    benchmarks: BenchmarkChanges | None = None

    @property
    def slower(self) -> tuple[str, ...]:
        """Benchmarks that take longer, beyond the noise."""
        return self._of(ChangeKind.SLOWER)

    @property
    def faster(self) -> tuple[str, ...]:
        """Benchmarks that take less time, beyond the noise."""
        return self._of(ChangeKind.FASTER)

    def _of(self, kind: ChangeKind) -> tuple[str, ...]:
        changes = self.benchmarks.changes if self.benchmarks is not None else ()
        return tuple(change.words() for change in changes if change.kind is kind)


def results_of(evidence: Evidence, verdict: Verdict | None = None) -> Results:
    """What there is to compare in evidence, and in the verdict over it."""
    return Results(
        run_id=evidence.manifest.run_id,
        commit=evidence.manifest.commit,
        state=None if verdict is None else verdict.state.value,
        rules={} if verdict is None else {rule.title: rule.state.value for rule in verdict.rules},
        drift={each.setup: each.drift for each in (verdict.live if verdict else ()) if each.drift is not None},
        tests={
            name: {fact.name: fact.outcome for fact in tests_of(cell).facts} for name, cell in evidence.cells.items()
        },
        partly=frozenset(
            name for name, cell in evidence.cells.items() if cell.shards is not None and not cell.shards.complete
        ),
        benchmark=evidence.benchmark,
    )


def to_json(results: Results) -> dict[str, Any]:
    """The section `results` of `verdict.json`: names by cell and outcome, and the benchmark as its file has it."""
    tests: dict[str, dict[str, list[str]]] = {}
    for cell, outcomes in results.tests.items():
        by = tests.setdefault(cell, {})
        for name, outcome in sorted(outcomes.items()):
            by.setdefault(outcome.value, []).append(name)
    return {
        "tests": tests,
        "partly": sorted(results.partly),
        "benchmark": None if results.benchmark is None else benchmark.to_json(results.benchmark),
    }


def read(path: Path) -> Results:
    """What `verdict.json` of an earlier run has, or the evidence of its folder; UsageError when it is neither."""
    hint = "a verdict.json, or a run by its id or folder"
    data = jsonfile.read(path / FILE if path.is_dir() else path)
    if data is not None and _usable(data):
        return _of_verdict(data)
    if path.is_dir():
        evidence = gather.gather([path])
        if evidence.manifest.run_id is None and not evidence.cells:
            raise UsageError(f"{path.name} holds no run", hint=f"name {hint}")
        return results_of(evidence)
    if data is not None and data.get("kind") == "verdict" and data.get("schema", SCHEMA) != SCHEMA:
        raise UsageError(
            f"{path.name} is a verdict of schema {data['schema']}, and this version reads {SCHEMA}",
            hint="give the verdict anew from its run: stackproof verdict RUN",
        )
    raise UsageError(f"{path.name} is no verdict that names its tests", hint=f"name {hint}")


def _usable(data: Mapping[str, Any]) -> bool:
    """Whether a verdict that was read is of our schema and names its tests."""
    tests = jsonfile.table(data, SECTION).get("tests")
    return data.get("kind") == "verdict" and data.get("schema", SCHEMA) == SCHEMA and isinstance(tests, dict)


def _of_verdict(data: Mapping[str, Any]) -> Results:
    section = jsonfile.table(data, SECTION)
    tests: dict[str, dict[str, Outcome]] = {}
    for cell, by in jsonfile.table(section, "tests").items():
        found = tests.setdefault(cell, {})
        for outcome in Outcome:
            names = jsonfile.strings(by, outcome.value) if isinstance(by, dict) else ()
            found.update(dict.fromkeys(names, outcome))
    measured = jsonfile.table(section, "benchmark")
    listed = data.get("rules")
    rules = [rule for rule in listed if isinstance(rule, dict)] if isinstance(listed, list) else []
    return Results(
        run_id=jsonfile.text(data, "run_id"),
        commit=jsonfile.text(data, "commit"),
        state=jsonfile.text(data, "verdict"),
        rules={str(rule.get("title")): str(rule.get("state")) for rule in rules},
        drift=dict(_drift_of(data.get("live"))),
        tests=tests,
        partly=frozenset(jsonfile.strings(section, "partly")),
        benchmark=benchmark.of_json(measured) if measured else None,
    )


def _drift_of(items: object) -> Iterator[tuple[str, DriftCounts]]:
    """Verdicts from before there were live smokes have none."""
    for item in items if isinstance(items, list) else ():
        match item:
            case {"setup": str(setup), "drift": {"breaking": int(breaking), "additive": int(additive)}}:
                yield setup, DriftCounts(breaking=breaking, additive=additive)
            case _:
                continue


def newest_before(run_dir: Path, *beside: Path) -> Path | None:
    """The verdict of the newest other run beside this one that was written before it; None where there is none.

    beside: folders that are weighed together with this one.
    """
    weighed = {path.resolve() for path in (run_dir, *beside)}
    try:
        mine = (run_dir / "manifest.json").stat().st_mtime
        others = [
            path
            for path in run_dir.parent.glob(f"*/{FILE}")
            if path.parent.resolve() not in weighed and path.stat().st_mtime < mine
        ]
    except OSError:
        return None
    named = [path for path in others if _usable(jsonfile.read(path) or {})]
    return max(named, key=age.changed, default=None)


def compare(now: Results, then: Results) -> Compared:
    """What is different now. A cell that only one of them has is named, and its tests are not."""
    changes: dict[str, list[str]] = {name: [] for name in ("failing", "fixed", "skipped", "removed", "added")}
    for cell in sorted(now.tests.keys() & then.tests.keys()):
        for what, name in _changes(now.tests[cell], then.tests[cell]):
            # A test of a shard that is missing is not gone, nor was it when it was missing then.
            if cell not in {"removed": now.partly, "added": then.partly}.get(what, ()):
                changes[what].append(f"{name} in {cell}")
    measured = None
    if now.benchmark is not None and then.benchmark is not None:
        measured = benchmark_changes.compare(now.benchmark, then.benchmark)
    return Compared(
        run_id=then.run_id,
        commit=then.commit,
        verdict=_turned(now.state, then.state),
        rules=tuple(_rules(now.rules, then.rules)),
        newly_failing=tuple(changes["failing"]),
        fixed=tuple(changes["fixed"]),
        newly_skipped=tuple(changes["skipped"]),
        removed=tuple(changes["removed"]),
        added=tuple(changes["added"]),
        cells=(
            *(f"{cell} is new" for cell in sorted(now.tests.keys() - then.tests.keys())),
            *(f"{cell} is there in part now" for cell in sorted(now.partly & then.tests.keys())),
            *(f"{cell} was there in part before" for cell in sorted(then.partly & now.tests.keys())),
            *(f"{cell} did not run now" for cell in sorted(then.tests.keys() - now.tests.keys())),
        ),
        drift=tuple(_drifts(now.drift, then.drift)),
        benchmarks=measured,
    )


def _turned(now: str | None, before: str | None) -> str | None:
    return f"{now} now, {before} before" if now and before and now != before else None


def _rules(now: Mapping[str, str], then: Mapping[str, str]) -> Iterator[str]:
    """Nothing where one of the two runs was not weighed."""
    if not now or not then:
        return
    for title, state in now.items():
        if title not in then:
            yield f"{title}: {state} now, not asked for before"
        elif turned := _turned(state, then[title]):
            yield f"{title}: {turned}"
    yield from (f"{title}: not asked for now, {then[title]} before" for title in sorted(then.keys() - now.keys()))


def _drifts(now: Mapping[str, DriftCounts], then: Mapping[str, DriftCounts]) -> Iterator[str]:
    for setup in sorted(now.keys() & then.keys()):
        new, old = now[setup], then[setup]
        if (new.breaking, new.additive) != (old.breaking, old.additive):
            yield (
                f"live {setup}: {new.breaking} breaking and {new.additive} additive differences now, "
                f"{old.breaking} and {old.additive} before"
            )


def _changes(now: Mapping[str, Outcome], then: Mapping[str, Outcome]) -> Iterable[tuple[str, str]]:
    for name, outcome in sorted(now.items()):
        before = then.get(name)
        if outcome.bad and (before is None or not before.bad):
            yield "failing", name
        elif before is None:
            yield "added", name
        elif outcome is Outcome.SKIPPED and before is not Outcome.SKIPPED:
            yield "skipped", name
        elif before.bad and not outcome.bad:
            yield "fixed", name
    for name in sorted(then.keys() - now.keys()):
        yield "removed", name


def as_json(compared: Compared) -> dict[str, Any]:
    """The section `compared` of `verdict.json`."""
    found = compared.benchmarks
    return {
        "with": {"run_id": compared.run_id, "commit": compared.commit},
        "verdict": compared.verdict,
        "rules": list(compared.rules),
        "newly_failing": list(compared.newly_failing),
        "fixed": list(compared.fixed),
        "newly_skipped": list(compared.newly_skipped),
        "removed": list(compared.removed),
        "added": list(compared.added),
        "cells": list(compared.cells),
        "drift": list(compared.drift),
        "benchmarks": [
            {"name": change.name, "kind": change.kind.value, "by": change.by, "of": change.of}
            for change in (found.changes if found is not None else ())
        ],
        "benchmarks_not_comparable": found.not_comparable if found is not None else None,
    }


def lines(compared: Compared) -> list[str]:
    """For people: a line with the numbers, and below it what has to be looked at."""
    parts = {
        "newly failing": compared.newly_failing,
        "fixed": compared.fixed,
        "newly skipped": compared.newly_skipped,
        "removed": compared.removed,
        "added": compared.added,
        "slower": compared.slower,
        "faster": compared.faster,
    }
    changed = len(compared.rules)
    numbers = [f"{len(found)} {word}" for word, found in parts.items() if found]
    numbers += [f"{changed} rule{'' if changed == 1 else 's'} changed"] if changed else []
    numbers += [f"drift of {len(compared.drift)} changed"] if compared.drift else []
    numbers = numbers or ["no test or benchmark changed"]
    numbers = [compared.verdict, *numbers] if compared.verdict is not None else numbers
    commit = f" (commit {compared.commit[:7]})" if compared.commit else ""
    told = [f"Compared with run {compared.run_id or 'unknown'}{commit}: {', '.join(numbers)}"]
    told += [f"  {each}" for each in compared.rules[:_SHOWN]]
    told += [f"  … and {changed - _SHOWN} more rules"] if changed > _SHOWN else []
    for word, found in parts.items():
        if word != "added":
            told += [f"  {word}: {each}" for each in found[:_SHOWN]]
            told += [f"  … and {len(found) - _SHOWN} more {word}"] if len(found) > _SHOWN else []
    told += [f"  {each}" for each in (*compared.drift, *compared.cells)]
    if compared.benchmarks is not None and compared.benchmarks.not_comparable:
        told.append(f"  benchmarks {compared.benchmarks.not_comparable}")
    return told
