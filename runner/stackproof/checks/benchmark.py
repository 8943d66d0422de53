"""`stackproof benchmark`: times offline turns against their floor and keeps the times as evidence."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path

from stackproof import console
from stackproof.checks import stack_benchmarks
from stackproof.checks.stack_benchmarks import Measured
from stackproof.errors import ExitCode, UsageError
from stackproof.evidence import benchmark, benchmark_formats, digests, git, jsonfile, machine
from stackproof.evidence.benchmark import BenchmarkFacts, BenchmarkLine
from stackproof.run.rundir import new_run_dir
from stackproof.verdict import policy

DEADLINE = 300.0  # seconds, for each of recording and replaying
NAME = Path("checks/benchmark.json")
BASELINE = Path("ci/baseline.json")


def run(project: Path, argv: Sequence[str], *, run_dir: Path | None = None) -> int:
    """Measure, print a line per benchmark, write the evidence, and return the exit code.

    argv: `--baseline FILE` compares with an older `benchmark.json` (default: ci/baseline.json where there is one). 0
    when no gate of the policy is exceeded, 1 when one is for certain, 7 when nothing was measured. A project without a
    policy has no gates, and measures the benchmarks of its stacks, or the recorder's own turns where it has none.
    `--full` alone measures all that docs/benchmarks.md shows and writes that page, without gates.
    """
    if list(argv) == ["--full"]:
        from stackproof.checks import benchmark_full  # noqa: PLC0415 - it loads an SDK

        return benchmark_full.run(project, os.environ)
    baseline = _baseline(project, argv)
    run_dir = new_run_dir(project) if run_dir is None else run_dir
    listed = policy.load(project).benchmarks if _has_policy(project) else ()
    facts = measure(project, run_dir, names=[each.name for each in listed] or None)
    gates = {each.name: each.gate for each in listed}
    for text in lines(facts, gates):
        console.out(text)
    for name in sorted(gates.keys() - facts.lines.keys()) if facts.lines else ():
        console.out(f"? benchmark {name}  not proven: nothing of that name was measured, but {', '.join(facts.lines)}")
    if baseline is not None:
        for text in compared(facts, baseline):
            console.out(f"  {text}")
    exceeded = False
    for name, gate in gates.items():
        line = facts.lines.get(name)
        ratio = line.ratio if line is not None else None
        if ratio is None or ratio.low is None:
            return ExitCode.NOT_PROVEN
        exceeded = exceeded or ratio.low > gate
    if not facts.lines or facts.problem is not None:
        return ExitCode.NOT_PROVEN
    return ExitCode.TESTS if exceeded else ExitCode.PASS


def measure(project: Path, run_dir: Path, *, names: Collection[str] | None = None) -> BenchmarkFacts:
    """Measure in a temporary folder, write `run_dir/checks/benchmark.json` and return the facts in it.

    names: what is wanted; `<stack>:<name>` is of a stack's own benchmark, any other of the recorder's turns. None: the
    benchmarks of the project's stacks, or the recorder's where they have none.
    """
    stacks = stack_benchmarks.wanted(stack_benchmarks.of_project(project), names)
    found: list[Measured] = []
    with tempfile.TemporaryDirectory(prefix="stackproof-benchmark-") as temporary:
        if _wants_turns(names, stacks):
            found.append(_turns(temporary))
        for stack in stacks.values():
            assert stack.benchmark is not None  # noqa: S101 - by `of_project`
            found.append(
                stack_benchmarks.measured(
                    stack, stack.benchmark, project=project, folder=Path(temporary), environ=os.environ
                )
            )
    source = git.state(project)
    facts = BenchmarkFacts(
        lines={line.name: line for each in found for line in each.lines},
        machine=machine.fingerprint(),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        problem="; ".join(each.problem for each in found if each.problem is not None) or None,
        commit=source.commit,
        dirty=source.dirty,
        policy=digests.policy(project),
    )
    jsonfile.write(run_dir / NAME, benchmark.to_json(facts))
    return facts


def lines(facts: BenchmarkFacts, gates: dict[str, float]) -> list[str]:
    """What a person sees: one line per benchmark, and where it was measured."""
    if not facts.lines:
        return [f"? benchmark  not proven: {facts.problem or 'nothing was measured'}"]
    width = max(len(name) for name in facts.lines)
    return [
        *(_line(line, gates.get(name), width) for name, line in facts.lines.items()),
        f"  {facts.machine.words()}; {facts.date}",
    ]


def compared(facts: BenchmarkFacts, baseline: BenchmarkFacts) -> list[str]:
    """Each benchmark against an older one, line by line. It informs: no exit code depends on it."""
    if facts.machine != baseline.machine:
        return [
            "baseline not comparable: it is of another machine",
            f"  baseline: {baseline.machine.words()}",
            f"  here:     {facts.machine.words()}",
        ]
    found = []
    for name, line in facts.lines.items():
        now, then = line.ratio, baseline.lines[name].ratio if name in baseline.lines else None
        if now is None or then is None or None in (now.low, now.high, then.low, then.high):
            found.append(f"baseline: {name} has nothing to compare with")
            continue
        change = (
            f"{now.estimate:.2f} × floor, was {then.estimate:.2f} ({(now.estimate / then.estimate - 1) * 100:+.0f} %)"
        )
        apart = (now.low or 0.0) > (then.high or 0.0) or (now.high or 0.0) < (then.low or 0.0)
        found.append(f"baseline: {name} {change}; {'the intervals do not overlap' if apart else 'within the noise'}")
    return found


def _line(line: BenchmarkLine, gate: float | None, width: int) -> str:
    ratio = line.ratio
    if ratio is None:
        return f"? benchmark {line.name.ljust(width)}  not proven: nothing was measured"
    interval = f", 95 % {ratio.low:.2f} to {ratio.high:.2f}" if ratio.low is not None and ratio.high is not None else ""
    limit = "no gate" if gate is None else f"gate {gate:.2f}"
    mark = "–" if gate is None else "?" if ratio.low is None else "✗" if ratio.low > gate else "✓"
    return (
        f"{mark} benchmark {line.name.ljust(width)}  {ratio.estimate:.2f} × floor ({limit}{interval}); {line.words()}"
    )


def _wants_turns(names: Collection[str] | None, stacks: Collection[str]) -> bool:
    return not stacks if names is None else any(stack_benchmarks.SEPARATOR not in name for name in names)


def _turns(folder: str) -> Measured:
    problem = _child("record", folder) or _child("replay", folder)
    if problem is not None:
        return Measured(problem=problem)
    data = jsonfile.read(Path(folder) / "turns.json") or {"lines": []}
    return Measured(lines=tuple(benchmark.lines_of(data).values()))


def _child(what: str, folder: str) -> str | None:
    """Run one half of the workload; why it failed, None when it did not."""
    command = [sys.executable, "-m", "stackproof.checks.benchmark_turns", what, folder]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=DEADLINE,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return f"the turns did not end within {DEADLINE:.0f} s while they were to {what}"
    if done.returncode == 0:
        return None
    said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return f"the turns could not {what}: {said[-1] if said else f'exit code {done.returncode}'}"


def _baseline(project: Path, argv: Sequence[str]) -> BenchmarkFacts | None:
    if argv and (argv[0] != "--baseline" or len(argv) != 2):
        raise UsageError(
            f"stackproof benchmark does not know {argv[0]!r} here", hint="it takes --baseline FILE, or --full"
        )
    path = project / (argv[1] if argv else BASELINE)
    if not argv and not path.is_file():
        return None
    found = benchmark_formats.read(path)
    if found.facts is None:
        raise UsageError(
            f"{path.name} holds no benchmark: {found.damage[0]}",
            hint="a baseline is a checks/benchmark.json of an older run, or a file as stackproof docs evidence has it",
        )
    return found.facts


def _has_policy(project: Path) -> bool:
    return (project / policy.PATH).is_file()
