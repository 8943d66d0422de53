"""One JUnit report for a run of several cells, for the CI systems that show one file."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from junitparser import JUnitXml, JUnitXmlError

_UNREADABLE = (OSError, JUnitXmlError, SyntaxError, ValueError)


def merge(reports: Mapping[str, Path], target: Path) -> None:
    """Write the suites of all `reports` (by cell id) into `target`, each suite named after its cell; one is copied.

    A report that is missing or cannot be read is left out: the evidence of its own cell says so. Nothing is written
    when none is left.
    """
    if len(reports) == 1:
        with suppress(OSError):
            # Byte for byte: a library that reads and writes it may lose what it does not know.
            shutil.copyfile(next(iter(reports.values())), target)
        return
    merged = JUnitXml("stackproof")
    for cell_id, path in reports.items():
        try:
            report = JUnitXml.fromfile(str(path))
        except _UNREADABLE:
            continue
        # pytest always writes <testsuites> around its suites.
        for suite in list(report):
            suite.name = cell_id
            merged.add_testsuite(suite)
    if len(merged):
        partial = target.with_name(f".{target.name}.partial")
        merged.write(str(partial))
        partial.replace(target)
