"""At the end of a run: has everything combined, and says what came of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from stackproof.evidence import jsonfile
from stackproof.measure import begin, combine
from stackproof.plan import Plan
from stackproof.recorder.serve import measure
from stackproof.stack.process import shown

_WITHIN = 600.0  # seconds


def gathered(plan: Plan, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Combine what the cells of a run have; the lines for its summary, none where nobody asked for coverage."""
    if not any(plan.run_dir.glob(f"cells/*/{begin.FOLDER}/{begin.ASKED}")):
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
        wrong = ended.stderr.strip().splitlines()[-1:] if ended.returncode else []
    except subprocess.TimeoutExpired:
        wrong = [f"it took more than {_WITHIN:g} s"]
    if wrong:
        return (f"coverage: what was measured could not be combined: {wrong[0]}",)
    return tuple(lines(summary(plan.run_dir) or {}, shown(plan.run_dir / begin.FOLDER)))


def summary(run_dir: Path) -> dict[str, Any] | None:
    """What `summary.json` of a run says; None without one."""
    found = jsonfile.read(run_dir / begin.FOLDER / combine.SUMMARY)
    return found if found is not None and found.get("schema") == 1 else None


def lines(found: Mapping[str, Any], where: str) -> Iterator[str]:
    """For people: one line with the number, one for every process and cell that is not in it."""
    total = found.get("total")
    if not isinstance(total, dict):
        yield "coverage: nothing was measured"
    else:
        yield f"coverage: {percent(total)}; {_origin(found)}   {where}{os.sep}{combine.HTML}{os.sep}index.html"
    yield from (f"  {line}" for line in gaps(found))


def percent(total: Mapping[str, Any]) -> str:
    """`83.33 % of 24 statements and 6 branches in 3 files`."""
    branches = f" and {_counted(total.get('num_branches') or 0, 'branch')}" if total.get("branch") else ""
    of = f"{_counted(total.get('num_statements') or 0, 'statement')}{branches}"
    return f"{total['percent']:.1f} % of {of} in {_counted(total.get('files') or 0, 'file')}"


def gaps(found: Mapping[str, Any]) -> Iterator[str]:
    """What is not in the number, a line each."""
    for cell, kinds in jsonfile.table(found, "cells").items():
        for who, facts in kinds.items():
            lost, without = facts.get("lost") or 0, facts.get("without") or ()
            if not facts.get("processes"):
                yield f"{cell}: its {who} gave none: {_why(lost, without)}"
                continue
            # Beside a stack of their own, tests need not run a line of what is tested.
            if not facts.get("lines") and (who == begin.STACK or begin.STACK not in kinds):
                many = _counted(facts["processes"], "process")
                yield f"{cell}: its {who} gave none: no line of what is measured ran in {many}"
            if lost:
                yield f"{cell}: {_counted(lost, 'process')} of its {who} ended before anything was written"
            for python in without:
                yield f"{cell}: a process of its {who} was not measured: no coverage in {python}"


def _why(lost: int, without: Sequence[str]) -> str:
    if lost:
        return f"{_counted(lost, 'process')} ended before anything was written"
    return f"no coverage in {without[0]}" if without else "no Python process of it was measured"


def _origin(found: Mapping[str, Any]) -> str:
    """`from 1 process of tests and 3 of stacks in 2 cells`: those that ran what is measured."""
    cells = jsonfile.table(found, "cells")
    giving = [kinds for kinds in cells.values() if any(facts.get("lines") for facts in kinds.values())]
    words = []
    for who, of in ((begin.TESTS, "tests"), (begin.STACK, "stacks")):
        each = [kinds[who] for kinds in giving if who in kinds and kinds[who].get("lines")]
        if number := sum(facts.get("processes") or 0 for facts in each):
            words.append(f"{number if words else _counted(number, 'process')} of {of}")
    return f"from {' and '.join(words)} in {_counted(len(giving), 'cell')}"


def _counted(number: int, what: str) -> str:
    if number == 1:
        return f"1 {what}"
    return f"{number} {what}{'es' if what.endswith(('s', 'ch')) else 's'}"
