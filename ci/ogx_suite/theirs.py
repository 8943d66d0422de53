"""A suite with OGX's own recorder, by OGX's own script, in server mode and in replay."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ci.ogx_suite import measured
from ci.ogx_suite.what import Suite


def run(suite: Suite, *, checkout: Path, environment: Mapping[str, str], folder: Path) -> measured.Measured:
    """Run it. Its server is the script's own, on the first free port from 8321 on."""
    words = [str(checkout / "scripts" / "integration-tests.sh"), "--stack-config", "server:ci-tests"]
    words += ["--inference-mode", "replay", "--setup", suite.setup]
    words += ["--subdirs", ",".join(suite.subdirs)] if suite.subdirs else ["--suite", suite.name]
    options = f"{environment['PYTEST_ADDOPTS']} --junitxml={folder / 'junit.xml'} -o junit_family=xunit2"
    return measured.command(
        words,
        suite=suite.name,
        side="theirs",
        cwd=checkout,
        environment={**environment, "PYTEST_ADDOPTS": options},
        folder=folder,
    )
