"""Takes secrets out of everything that pytest reports, before anything else is made of it.

Providers repeat the key that they do not take, and SDKs put that into exceptions. From a report it would get into the
terminal, the log, JUnit and `tests.jsonl`, and from those into every page about the run.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping
from typing import Any, cast

import pytest
from _pytest._code.code import TerminalRepr

from stackproof.live import scrub

_NAME = "stackproof-hiding"


def begin(config: pytest.Config, secrets: Mapping[str, str]) -> None:
    """Hide them from here on, and whatever is shaped like a key; a second call changes nothing."""
    if not config.pluginmanager.has_plugin(_NAME):
        hiding = Hiding(secrets)
        config.pluginmanager.register(hiding, _NAME)
        hiding.cover(config)


class Hiding:
    """Hooks around all others that make reports, and streams that let no secret through.

    The streams are for what is in no report: warnings, pytest's own errors, live logs, and with -s what tests print.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._secrets = secrets
        self._outer: tuple[Any, Any] | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Before this there may be no terminal yet."""
        self.cover(session.config)

    def cover(self, config: pytest.Config) -> None:
        """Have what is there of the terminal let no secret through."""
        if config.pluginmanager.has_plugin("terminalreporter"):  # a worker has none
            writer = vars(config.get_terminal_writer())
            if not isinstance(writer["_file"], scrub.Concealing):
                writer["_file"] = scrub.Concealing(writer["_file"], self._secrets)
        if config.getoption("capture", "fd") == "no" and self._outer is None:
            self._outer = sys.stdout, sys.stderr
            sys.stdout, sys.stderr = (cast("Any", scrub.Concealing(each, self._secrets)) for each in self._outer)

    def pytest_unconfigure(self) -> None:
        """The streams are given back."""
        if self._outer is not None:
            sys.stdout, sys.stderr = self._outer

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Of each phase of a test, after everybody else has added to it."""
        report = yield
        self.hide(report)
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Of a file that could not be collected."""
        report = yield
        self.hide(report)
        return report

    def hide(self, report: Any) -> None:
        """In its failure, its captured output, its properties and the reason of an expected failure."""
        report.sections = self._hidden(report.sections)
        if hasattr(report, "user_properties"):
            report.user_properties = self._hidden(report.user_properties)
        if hasattr(report, "wasxfail"):
            report.wasxfail = self._hidden(report.wasxfail)
        failure = report.longrepr
        if failure is None or isinstance(failure, tuple | str):
            report.longrepr = self._hidden(failure)
            return
        self._change(failure)
        told = str(failure)
        if (shown := scrub.text(told, self._secrets)) != told:  # its shape is one that is not known here
            report.longrepr = shown

    def _hidden(self, value: Any) -> Any:
        if isinstance(value, str):
            return scrub.text(value, self._secrets)
        if isinstance(value, list | tuple):
            return type(value)(self._hidden(item) for item in value)
        if isinstance(value, TerminalRepr):
            self._change(value)
        return value

    def _change(self, failure: TerminalRepr) -> None:
        """In place, so that it keeps its colours and its short form."""
        for name, value in list(vars(failure).items()):
            setattr(failure, name, self._hidden(value))
