"""What stack.yaml says of the stack's Python, of its names for models, and of its warnings."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof.catalog.records import ModelRole, StackSpec
from stackproof.catalog.stacks import load_stack
from stackproof.errors import UsageError


def load(tmp_path: Path, more: str) -> StackSpec:
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / "requirements.txt").write_text("desk==1\n")
    (folder / "stack.yaml").write_text(f'description: d\nmodes: [server]\ncommand: ["x"]\n{more}\n')
    return load_stack(folder / "stack.yaml", shown="stacks/desk/stack.yaml")


def test_a_python_has_bounds_and_requirements(tmp_path: Path) -> None:
    spec = load(tmp_path, 'python: {version: ">=3.12, <3.14", requirements: requirements.txt}').python
    assert spec is not None
    assert (spec.at_least, spec.below, spec.tests) == ((3, 12), (3, 14), None)
    assert spec.requirements == tmp_path / "desk" / "requirements.txt"


def test_without_it_the_run_decides(tmp_path: Path) -> None:
    spec = load(tmp_path, "")
    assert (spec.python, spec.models, spec.warnings) == (None, {}, ())


def test_models_have_names_of_the_stack(tmp_path: Path) -> None:
    spec = load(tmp_path, 'models: {embedding: "{name}-embeddings"}\nwarnings: ["default::DeprecationWarning"]')
    assert spec.models == {ModelRole.EMBEDDING: "{name}-embeddings"}
    assert spec.warnings == ("default::DeprecationWarning",)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ('python: {version: "3.12"}', "says '3.12'"),
        ('python: {version: ">=3"}', "says '>=3'"),
        ("python: {requirements: nowhere.txt}", "names 'nowhere.txt', which does not exist"),
        ("python: {versions: x}", "unknown key 'versions'"),
        ("models: {embeddings: x}", "unknown role 'embeddings' in 'models' of stack 'desk', did you mean 'embedding'?"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, more: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(tmp_path, more)
    assert caught.value.message.startswith("stacks/desk/stack.yaml:4: ")
    assert sentence in caught.value.message
