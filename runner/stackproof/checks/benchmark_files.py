"""Figures about the commands that walk over recordings: time for each file, and the most memory, by number of files."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from stackproof.checks.benchmark_answers import MODEL, TEXT
from stackproof.checks.benchmark_child import Taken, measured
from stackproof.checks.benchmark_processes import attempted
from stackproof.checks.benchmark_turns import ROOT, SETUP
from stackproof.evidence.benchmark_table import Figure
from stackproof.recorder.identity import Identity, describe, digest
from stackproof.recorder.recording import dumps
from stackproof.recorder.scope import Scope

COUNTS = (1_000, 100_000)
COMMANDS = ("list", "stats", "check")
DEADLINE = 900.0
_A_TEST, _A_FOLDER = 100, 10_000  # recordings of one test, and of the tests in one folder
_MIB = 1 << 20


def fill(project: Path, root: Path, count: int) -> None:
    """Write `count` recordings as a test suite has them: a hundred for each test, a hundred tests in each folder.

    The tests are there, too, below `project`, so that no command finds fault with the recordings.
    """
    tests = "".join(f"def test_{number}():\n    pass\n\n\n" for number in range(_A_FOLDER // _A_TEST))
    for number in range(count):
        area = f"area{number // _A_FOLDER:02}"
        content, name = _recording(f"{ROOT}/{area}/test_area.py::test_{number // _A_TEST % 100}", number)
        if number % _A_FOLDER == 0:
            (root / SETUP / area).mkdir(parents=True)
            (project / ROOT / area).mkdir(parents=True, exist_ok=True)
            (project / ROOT / area / "test_area.py").write_text(tests, encoding="utf-8")
        (root / SETUP / area / name).write_text(dumps(content), encoding="utf-8")


def figures(folder: Path, environ: Mapping[str, str]) -> Iterator[Figure]:
    """Fill folders below `folder` and run each command over each of them."""
    roots = {count: folder / f"{count}" for count in COUNTS}
    for count, root in roots.items():
        fill(folder, root, count)
    for command in COMMANDS:
        few, many = COUNTS
        time = Figure(
            group="100,000 recordings", what=f"recordings {command}, for each file", unit="µs",
            how=f"`stackproof recordings {command} --json` over {many:,} files, less its time over {few:,}, by the "
            "files between",
        )  # fmt: skip
        peak = Figure(
            group="100,000 recordings", what=f"recordings {command}, the most memory", unit="MiB",
            how=f"resident, over {many:,} files",
        )  # fmt: skip
        taken: dict[int, Taken] = {}

        def run(measuring: Figure, command: str = command, taken: dict[int, Taken] = taken) -> Figure:
            for count, root in roots.items():
                line = [sys.executable, "-m", "stackproof", "recordings", command, "--json", "--recording-dir", root]
                taken[count] = measured(list(map(str, line)), folder=folder, environ=environ, deadline=DEADLINE)
            return of_time(measuring, {count: one.seconds for count, one in taken.items()})

        found = attempted(time, lambda time=time, run=run: run(time))  # type: ignore[misc]
        yield found
        yield of_peak(peak, {count: one.peak for count, one in taken.items()}, found.why)


def of_time(figure: Figure, seconds: Mapping[int, float]) -> Figure:
    """Microseconds for each file, from the seconds over few and over many: starting the command is left out."""
    few, many = min(seconds), max(seconds)
    each = (seconds[many] - seconds[few]) / (many - few) * 1e6
    return replace(figure, value=each, more=f"{seconds[many]:.1f} s for {many:,}, {seconds[few]:.1f} s for {few:,}")


def of_peak(figure: Figure, peaks: Mapping[int, int], why: str) -> Figure:
    """The most memory over many files, and over few."""
    if why or not peaks:
        return replace(figure, why=why or "it was not run")
    few, many = min(peaks), max(peaks)
    return replace(figure, value=peaks[many] / _MIB, more=f"{peaks[few] / _MIB:.0f} MiB over {few:,}")


def _recording(test: str, number: int) -> tuple[dict[str, Any], str]:
    body = {"model": MODEL, "messages": [{"role": "user", "content": f"Turn {number}: {TEXT * 4}"}]}
    form = describe(
        provider="benchmark", method="POST", path="/chat/completions", query="",
        content_type="application/json", body=dumps(body).encode(),
    )  # fmt: skip
    request = {
        "provider": form["provider"], "method": form["method"], "url": "{benchmark}/chat/completions",
        "path": form["path"], "query": form["query"], "endpoint": form["path"], "model": MODEL, "headers": {},
        "body": form["body"],
    }  # fmt: skip
    message = {"role": "assistant", "content": TEXT * 4}
    answer = {
        "id": f"rec-{digest(form)[:12]}", "object": "chat.completion", "created": 0, "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 60, "total_tokens": 80},
    }  # fmt: skip
    response = {
        "status": 200, "headers": {"content-type": "application/json"}, "is_streaming": False,
        "body": {"json": answer}, "complete": True, "is_exception": False, "exception": None,
    }  # fmt: skip
    content = {
        "format": 1, "test_id": test, "scope": test, "request": request, "response": response, "rules": [],
        "provenance": {"server": "loopback", "synthetic": True}, "id_normalization_mapping": {},
    }  # fmt: skip
    return content, Identity(scope=Scope(name=test).digest, request=digest(form)).file_name()
