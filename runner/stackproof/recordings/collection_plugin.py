"""Loaded by the pytest that collects for us: writes down what there is, also what will not run, and what broke."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

NAME = "collection.json"
_ERROR = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Warning|Interrupt|Exit)\b")

_tests: list[str] = []
_modules: list[str] = []
_skipped: list[str] = []
_errors: list[tuple[str, str]] = []


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Note each collector: a file that was read, one that skipped itself, one that cannot be read."""
    if report.failed:
        _errors.append((report.nodeid, _first_error(report.longreprtext)))
    elif report.skipped:
        _skipped.append(report.nodeid)
    elif report.nodeid.endswith(".py"):
        _modules.append(report.nodeid)


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """A test that is left out by a marker or a pattern is there all the same."""
    _tests.extend(item.nodeid for item in items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """The tests that would run."""
    _tests.extend(item.nodeid for item in session.items)


def pytest_sessionfinish() -> None:
    """Write it all down."""
    facts = {"tests": _tests, "modules": _modules, "skipped": _skipped, "errors": _errors}
    Path(os.environ["STACKPROOF_RUN_DIR"], NAME).write_text(json.dumps(facts), encoding="utf-8")


def _first_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line[1:].strip() for line in lines if line.startswith("E ")]
    # pytest shows a syntax error with its place and its text first.
    named = [line for line in told if _ERROR.match(line)]
    return (named or told or lines or ["it cannot be collected"])[0]
