"""Whatever a workflow, a pipeline or a script of them calls is there: sessions, commands, options, files."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from stackproof.cli.main import cli

_SCRIPTS = ("machine", "gitlab-prepare", "gitlab-live-evidence")
_SESSION = re.compile(r"\bnox -s ([a-z_]+)")
_COMMAND = re.compile(r"(?:^|\n|\$\(|\s&& )\s*(stackproof [^\n|)]*)")


@pytest.fixture(scope="session")
def scripts(
    steps: list[tuple[str, dict[str, Any]]], gitlab: dict[str, Any], gitlab_child: dict[str, Any], project: Path
) -> list[tuple[str, str]]:
    """Every piece of shell, with its place."""
    found = [(place, step["run"]) for place, step in steps if "run" in step]
    for name, job in {**gitlab, **gitlab_child}.items():
        if isinstance(job, dict):
            found += [(name, line) for key in ("before_script", "script", "after_script") for line in job.get(key, ())]
    found.append(("variables", gitlab["variables"]["STACKPROOF_PREPARE"]["value"]))
    found += [(name, (project / "ci" / name).read_text(encoding="utf-8")) for name in _SCRIPTS]
    return found


def test_every_session_of_nox_is_there(scripts: list[tuple[str, str]], project: Path) -> None:
    noxfile = (project / "noxfile.py").read_text(encoding="utf-8")
    known = set(re.findall(r"^@nox\.session\ndef ([a-z_]+)\(", noxfile, re.MULTILINE))
    called = {(place, name) for place, script in scripts for name in _SESSION.findall(script)}
    assert {name for _, name in called} >= {"lane", "lint", "live_smoke", "tests", "verify_release"}
    assert {each for each in called if each[1] not in known} == set()


def test_every_command_of_stackproof_and_each_of_its_options_is_there(scripts: list[tuple[str, str]]) -> None:
    called = list(_calls(scripts))
    assert len(called) >= 8
    for place, words in called:
        command, rest = _command(words)
        options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        assert [word for word in rest if word.startswith("--") and word not in options] == [], (place, words)


def test_every_script_of_this_repository_is_there_and_can_be_run(scripts: list[tuple[str, str]], project: Path) -> None:
    named = {path for _, script in scripts for path in re.findall(r"(?<![\w./-])(ci/[a-z-]+)(?=\s|$)", script)}
    assert {"ci/machine", "ci/gitlab-prepare", "ci/base-image"} <= named
    assert [path for path in named if not (project / path).stat().st_mode & 0o100] == []


def test_scripts_inside_workflows_are_short(steps: list[tuple[str, dict[str, Any]]]) -> None:
    long = {place for place, step in steps if len(step.get("run", "").strip().splitlines()) > 6}
    # These talk to GitHub about one issue, one comment, and the runs of one workflow.
    assert long <= {"actions/tracking-issue", "actions/comment", "actions/live-evidence", "record-apply/apply"}


def test_what_may_not_be_skipped_is_the_same_as_for_a_submission(
    jobs: dict[str, dict[str, Any]], gitlab: dict[str, Any], project: Path
) -> None:
    text = (project / ".ci" / "run").read_text(encoding="utf-8")
    asked = dict(re.findall(r'export (STACKPROOF_[A-Z_]+)="\$\{\1:-([^}"]+)\}"', text))
    wanted = {name: asked[name] for name in ("STACKPROOF_REQUIRE", "STACKPROOF_MAY_SKIP")}
    (tests,) = (step for step in jobs["replay/tests"]["steps"] if "env" in step)
    assert tests["env"] == wanted
    assert gitlab["tests"]["variables"] == wanted


def test_base_images_are_those_that_the_scripts_make(
    workflows: dict[str, dict[str, Any]], gitlab: dict[str, Any], project: Path
) -> None:
    made = set(re.findall(r"ci/base-image \S+ (\S+)", (project / "ci" / "machine").read_text(encoding="utf-8")))
    for variables in (workflows["replay"]["env"], workflows["release"]["env"], gitlab["variables"]):
        used = {value for name, value in variables.items() if name.startswith("STACKPROOF_DOCKER_BASE")}
        assert used == made


def _calls(scripts: list[tuple[str, str]]) -> Iterator[tuple[str, list[str]]]:
    for place, script in scripts:
        for line in _COMMAND.findall(script.replace("\\\n", " ")):
            words = shlex.split(re.sub(r"\s>.*", "", line))
            yield place, words[1:]


def _command(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that `words` name, and what follows its name."""
    command: click.Command = cli
    rest = list(words)
    context = click.Context(cli, info_name="stackproof", **cli.context_settings)
    while isinstance(command, click.Group):
        found = command.get_command(context, rest[0])
        assert found is not None, f"there is no stackproof {' '.join(words)}"
        command, rest = found, rest[1:]
        context = click.Context(command, parent=context)
    return command, rest
