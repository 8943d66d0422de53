"""What is made of a folder first, and who runs a suite, as the YAML files say it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof import catalog
from stackproof.catalog.preparing import PrepareSpec
from stackproof.catalog.runners import RunnerSpec
from stackproof.errors import UsageError

STACK = "description: d\nmodes: [server]\ncommand: [node, server.js]\n"
SUITE = "suites:\n  ts:\n    description: d\n    roots: [tests/ts]\n    default_setup: ollama\n    runner:\n"
RUNNER = "      name: vitest\n      folder: tests/ts\n      command: [vitest, '{junit}']\n"


@pytest.fixture(name="project")
def _project(tmp_path: Path) -> Path:
    files = {
        "stacks/shop/package.json": '{"engines": {"node": ">=20.10"}}',
        "stacks/shop/package-lock.json": "{}",
        "stacks/shop/stack.yaml": STACK,
        "tests/ts/a.test.ts": "",
        "tests/suites.yaml": SUITE + RUNNER,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def prepare(project: Path, text: str) -> PrepareSpec:
    (project / "stacks/shop/stack.yaml").write_text(f"{STACK}{text}\n")
    found = catalog.load(project).stacks["shop"].prepare
    assert found is not None
    return found


def test_npm_is_one_word_and_wants_the_node_of_package_json(project: Path) -> None:
    found = prepare(project, "prepare: npm")
    assert found.command[:2] == ("npm", "ci")
    assert "--ignore-scripts" in found.command
    assert found.files == ("package.json", "package-lock.json")
    assert found.needs == {"node": (20, 10), "npm": ()}


def test_an_engine_in_other_words_is_left_to_npm(project: Path) -> None:
    (project / "stacks/shop/package.json").write_text('{"engines": {"node": "^20 || ^22"}}')
    assert prepare(project, "prepare: npm").needs == {"node": (), "npm": ()}


def test_any_command_can_prepare(project: Path) -> None:
    (project / "stacks/shop/go.mod").touch()
    found = prepare(project, 'prepare: {command: [go, build], files: [go.mod], needs: {go: "1.22", cc: ""}}')
    assert found == PrepareSpec(command=("go", "build"), files=("go.mod",), needs={"go": (1, 22), "cc": ()})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prepare: yarn", "the one word that is known is npm"),
        ("prepare: {files: [package.json]}", "lacks 'command'"),
        ("prepare: {command: [make]}", "lacks 'files'"),
        ("prepare: {command: [make], files: [Makefile]}", "'Makefile', and there is no such file in shop/"),
        ("prepare: {command: [make], files: [../../tests/suites.yaml]}", "no such file in shop/"),
        ("prepare: {command: [make], files: [package.json], needs: {make: new}}", "'new' is no version"),
    ],
)
def test_what_cannot_be_prepared_is_refused_with_its_line(project: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        prepare(project, text)
    assert "stacks/shop/stack.yaml:4" in caught.value.message
    assert said in f"{caught.value.message} {caught.value.hint}"


def test_npm_needs_a_lock_file(project: Path) -> None:
    (project / "stacks/shop/package-lock.json").unlink()
    with pytest.raises(UsageError, match=r"names 'package-lock\.json', and there is no such file"):
        prepare(project, "prepare: npm")


def test_a_suite_has_a_runner(project: Path) -> None:
    assert catalog.load(project).suites["ts"].runner == RunnerSpec(
        name="vitest", folder=project / "tests/ts", shown="tests/ts", command=("vitest", "{junit}")
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("'{junit}'", "run", "must say where the report goes: {junit}"),
        ("folder: tests/ts", "folder: tests/js", "'tests/js', which is no folder of the project"),
        ("folder: tests/ts", "folder: ..", "which is no folder of the project"),
        ("name: vitest", "options: {verbose: [-v]}", "unknown key 'verbose'"),
        ("name: vitest", "options: {pattern: [-t]}", "lacks 'name'"),
    ],
)
def test_a_runner_that_is_incomplete_is_refused(project: Path, old: str, new: str, said: str) -> None:
    (project / "tests/suites.yaml").write_text(SUITE + RUNNER.replace(old, new))
    with pytest.raises(UsageError) as caught:
        catalog.load(project)
    assert said in caught.value.message
    assert "tests/suites.yaml:" in caught.value.message
