"""At the end of a run: has everything combined, and says what came of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from stackproof.evidence import coverage
from stackproof.measure import begin, combine
from stackproof.plan import Plan
from stackproof.recorder.serve import measure
from stackproof.stack.process import shown

_WITHIN = 600.0  # seconds


def gathered(plan: Plan, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Combine what the cells of a run have; the lines for its summary, none where no cell has got so far."""
    if not any(plan.run_dir.glob(f"cells/*/{coverage.FOLDER}/{begin.ASKED}")):
        return ()
    command = [sys.executable, "-P", "-m", combine.__name__, str(plan.run_dir)]
    variables = {name: value for name, value in environment.items() if name != measure.VARIABLE}
    try:
        ended = subprocess.run(
            command,
            cwd=plan.project,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_WITHIN,
            check=False,
        )
        last = ended.stderr.strip().splitlines() or [f"exit code {ended.returncode}"]
        wrong = last[-1] if ended.returncode else ""
    except subprocess.TimeoutExpired:
        wrong = f"it took more than {_WITHIN:g} s"
    found = coverage.read(plan.run_dir)
    if wrong or found is None:
        return (f"coverage: what was measured could not be combined: {wrong or 'it left no summary'}",)
    return tuple(lines(found, plan.run_dir / coverage.FOLDER))


def lines(found: coverage.Coverage, folder: Path) -> Iterator[str]:
    """For people: one line with the number, one for every process and cell that is not in it."""
    if found.total is None:
        yield "coverage: nothing was measured"
    else:
        yield f"coverage: {found.total}; from {found.origin}   {shown(folder / combine.HTML / 'index.html')}"
    yield from (f"  {line}" for line in found.gaps)
