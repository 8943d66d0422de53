"""A project that has fixtures and options by the names of ours keeps its own, wherever they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.recorder.conftest import Probe, Project

_OPTIONS = ("--setup", "--suite", "--stack-config", "--inference-mode", "--text-model", "--env")
# A conftest at the root brings in a plugin of the project's own, as pytest has it since 8.4.
_CONFTEST = f"""
import pytest

def pytest_addoption(parser):
    for name in {_OPTIONS!r}:
        parser.addoption(name)

def pytest_configure(config):
    config.pluginmanager.import_plugin("team_fixtures")
"""
_FIXTURES = """
import pytest

@pytest.fixture(scope="session")
def openai_client(http_client, request):
    return ("the team's own", request.config.getoption("--setup"))
"""


@pytest.mark.parametrize("stack", ["library", "server"])
@pytest.mark.parametrize("how", ["alone", "in a run"])
def test_a_teams_options_and_fixtures_are_its_own(project: Project, probe: Probe, stack: str, how: str) -> None:
    (project.root / "conftest.py").write_text(_CONFTEST)
    (project.root / "team_fixtures.py").write_text(_FIXTURES)
    project.test("""
def test_ours_and_theirs(openai_client, ask):
    assert openai_client == ("the team's own", "theirs")
    assert ask("hello").json()["text"]
""")
    if how == "alone":
        arguments = ("--setup=theirs", "tests/integration")
        assert project.pytest("record", *arguments, stack=stack, PYTHONPATH=".").code == 0
        ended = project.pytest("replay", *arguments, stack=stack, PYTHONPATH=".")
    else:
        assert project.run("record", "--", "--setup=theirs", stack=stack, PYTHONPATH=".").code == 0
        ended = project.run("replay", "--", "--setup=theirs", stack=stack, PYTHONPATH=".")
    assert ended.code == 0, ended.out
    assert "1 replayed, 0 recorded, 0 missed, 0 unused" in ended.out
