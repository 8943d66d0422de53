"""A wrong file is one sentence with file, line and, where there is one, the spelling that was meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof.catalog import yaml_source
from stackproof.catalog.catalog import builtin_folder
from stackproof.catalog.setups import load_setups
from stackproof.errors import UsageError

CASES = [
    pytest.param(
        "ollama:\n  description: x\n  moddels: {text: a/b}\n",
        "stacks/setups.yaml:3: unknown key 'moddels' in setup 'ollama', did you mean 'models'?",
        id="misspelt key",
    ),
    pytest.param(
        "a:\n  description: x\nb:\n  description: y\na:\n  description: z\n",
        "stacks/setups.yaml:5: duplicate key 'a'",
        id="duplicate setup",
    ),
    pytest.param(
        "a:\n  description: x\n  env:\n    URL: one\n    URL: two\n",
        "stacks/setups.yaml:5: duplicate key 'URL'",
        id="duplicate variable",
    ),
    pytest.param(
        "a:\n  description: x\n  env:\n    PORT: 5432\n",
        "stacks/setups.yaml:4: 'PORT' in 'env' of setup 'a' must be text, not the number 5432",
        id="number where text belongs",
    ),
    pytest.param(
        "a:\n  description: x\n  secrets: [no]\n",
        "stacks/setups.yaml:3: 'secrets' in setup 'a' must be text, not the truth value false",
        id="a word that YAML reads as false",
    ),
    pytest.param(
        "a:\n  description: x\n  secrets: KEY\n",
        "stacks/setups.yaml:3: 'secrets' in setup 'a' must be a list of texts, not the text 'KEY'",
        id="text where a list belongs",
    ),
    pytest.param(
        "a:\n  description: x\n  models: {txt: a/b}\n",
        "stacks/setups.yaml:3: unknown model role 'txt' in setup 'a', did you mean 'text'?",
        id="misspelt role",
    ),
    pytest.param(
        "a:\n  description: x\n  models: {text: gpt-4o}\n",
        "stacks/setups.yaml:3: model 'gpt-4o' in setup 'a' must be written provider/model",
        id="model without provider",
    ),
    pytest.param(
        "a:\n  description: x\n  embedding_dimension: true\n",
        "stacks/setups.yaml:3: 'embedding_dimension' in setup 'a' must be a whole number of at least 1, "
        "not the truth value true",
        id="true is no number",
    ),
    pytest.param("a:\n  env: {}\n", "stacks/setups.yaml:2: setup 'a' lacks 'description'", id="lacking key"),
    pytest.param("a:\n", "stacks/setups.yaml:1: setup 'a' is empty", id="empty setup"),
    pytest.param(
        "setups:\n  a:\n    description: x\n",
        "stacks/setups.yaml:1: setups stand in this file by their names, without 'setups:' above them",
        id="a level too many",
    ),
    pytest.param("- a\n", "stacks/setups.yaml:1: the file of setups must be a mapping, not a list", id="list"),
    pytest.param("1: {}\n", "stacks/setups.yaml:1: key 1 must be text, write it in quotes", id="key that is no text"),
    pytest.param("../up: {}\n", "stacks/setups.yaml:1: setup name '../up' may hold letters", id="name with a path"),
    pytest.param(
        "a: [\n", "stacks/setups.yaml:2: cannot be read as YAML: expected the node content, but found", id="no YAML"
    ),
    pytest.param(
        "a:\n  description: x\n  providers:\n    p: {variable: U, prefixes: [api.example.com]}\n",
        "stacks/setups.yaml:4: prefix 'api.example.com' of provider 'p' must start with http://, https:// or "
        "{VARIABLE}",
        id="prefix without scheme",
    ),
    pytest.param(
        "a:\n  description: x\n  providers:\n    p: {variable: U, speaks: [chat, respones]}\n",
        "stacks/setups.yaml:4: provider 'p' speaks 'respones', which is not known, did you mean 'responses'?",
        id="protocol that nobody knows",
    ),
    pytest.param(
        "a:\n  description: x\n  env: {U: http://x}\n  providers:\n    p: {variable: U, prefixes: ['{U}/{TENANT}']}\n",
        "stacks/setups.yaml:5: prefix '{U}/{TENANT}' of provider 'p' names TENANT, which is not in 'env' of the setup",
        id="prefix of an unknown variable",
    ),
    pytest.param(
        "a:\n  description: x\n  providers:\n    p: {origin: true}\n",
        "stacks/setups.yaml:4: provider 'p' needs a 'variable' or 'prefixes'",
        id="provider without address",
    ),
]


@pytest.mark.parametrize(("text", "sentence"), CASES)
def test_complaint_names_file_line_and_fault(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "setups.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load_setups(path, shown="stacks/setups.yaml")
    assert caught.value.message.startswith(sentence)
    assert "\n" not in caught.value.message


def test_hint_lists_the_known_keys(tmp_path: Path) -> None:
    path = tmp_path / "setups.yaml"
    path.write_text("a:\n  description: x\n  zzz: 1\n", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load_setups(path, shown="s.yaml")
    assert caught.value.message == "s.yaml:3: unknown key 'zzz' in setup 'a'"
    assert caught.value.hint is not None
    assert "embedding_dimension" in caught.value.hint


@pytest.mark.parametrize(
    "content",
    [b"a: \xff\xfe", b"a: {b: 2024-99-99}", b"[" * 5000],
    ids=["not UTF-8", "impossible date", "depth"],
)
def test_unreadable_file_is_an_expected_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "setups.yaml"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"^s\.yaml"):
        load_setups(path, shown="s.yaml")


def test_tags_build_nothing(tmp_path: Path) -> None:
    path = tmp_path / "setups.yaml"
    path.write_text("a: !!python/object/apply:os.system ['true']\n", encoding="utf-8")
    with pytest.raises(UsageError, match="could not determine a constructor"):
        load_setups(path, shown="s.yaml")


def test_files_read_the_same_where_there_is_no_libyaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = tmp_path / "odd.yaml"
    odd.write_text("\ufeffbase: &b {ü: [1, yes, 'x\U0001f600', http://x:1/a]}\r\nmore: |\n  a\n  b\nnext: *b\nz: ~\n")
    files = [odd, *sorted(builtin_folder().glob("*.yaml")), *sorted(builtin_folder().glob("*/*.yaml"))]
    assert len(files) > 5

    def all_of_them() -> list[object]:
        return [_with_lines(yaml_source.read(file, what="a file", shown=file.name).data) for file in files]

    quick = all_of_them()
    monkeypatch.setattr(yaml_source, "_Quick", yaml_source._Loader)
    assert all_of_them() == quick


def _with_lines(value: object) -> object:
    if isinstance(value, yaml_source.LinedDict):
        return value.line, value.lines, {key: _with_lines(item) for key, item in value.items()}
    return [_with_lines(item) for item in value] if isinstance(value, list) else value
