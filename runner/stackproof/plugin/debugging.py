"""With `--debug`: what a server told of a test's calls is shown with that test, as what the test itself told is."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from stackproof.recorder import debug

_TITLE = "stderr of the stack"


class StackTold:
    """Hooks that put the stack's blocks of `debug.log` into the reports of the test whose calls they tell of.

    pytest shows them for a test that fails, and for each with -rA, as it does with captured output.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._read = 0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Before a phase is reported, and once more at the very end: by then what its requests still did is over."""
        told = self._told(item.nodeid)
        if told:
            item.add_report_section(call.when, _TITLE, told)
        report = yield
        if call.when == "teardown" and (told := self._told(item.nodeid)):
            report.sections.append((f"Captured {_TITLE} teardown", told))
        return report

    def _told(self, nodeid: str) -> str:
        try:
            with self._log.open("rb") as file:
                file.seek(self._read)
                data = file.read()
        except OSError:
            return ""
        # A block is written whole, and what is being written now is read the next time.
        data = data[: data.rfind(b"\n") + 1]
        self._read += len(data)
        return debug.of_test(data.decode("utf-8", "replace"), nodeid, "stack")
